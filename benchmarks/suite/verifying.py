"""Verifying a large policy: well-formed and free of conflicts, with and without planted ones."""

from __future__ import annotations

import random
import re
from functools import partial
from typing import Any

from benchmarks.suite import pairwise
from benchmarks.suite.section import Goal, Section, Settings
from benchmarks.suite.timing import best
from vepa.policy import Policy, Rule, RuleIndex, Verification, verify
from vepa.policy.schema import bits
from vepa.policy.subsumption import subsumption

__all__ = ["run"]

PLANTED = 25
_MORE = re.compile(r"(\d+) more pairs")


def run(policy: Policy, settings: Settings) -> Section:
    """Verify `policy`, then a copy with planted conflicts; the pairwise peers on a sample."""
    size = len(policy)
    section = Section("verifying", f"Verifying {size:,} rules")
    broken = _planted(policy)
    clashes, done, spent = pairwise.plain(broken, settings.peer_seconds)
    truth = _clashes(broken)
    assert clashes == _within(truth, broken, done)
    for what, subject, count in (("no conflict", policy, 0), ("planted", broken, len(truth))):
        assert _conflict_count(verify(subject)) == count, what
        seconds, median = best(partial(verify, subject), settings.repeats)
        pairs = _pairs(subject)
        section.rows.append(_row(f"VEPA, {what}", subject, pairs, seconds, median, count))
    section.rows.append(_row("plain Python, planted", broken, done, spent, None, len(clashes)))
    section.rows.append(_subsumption(policy))
    rows, ratio = _sampled(broken, settings)
    section.rows += rows
    full = section.rows[0]["seconds"]
    section.goals = [
        Goal(f"verifying {size:,} rules", "< 1 s", f"{full:.3f} s", full < 1.0),
        Goal(
            "verifying, against pairwise z3 on the same pairs",
            "≥ 100 ×",
            f"{ratio:,.0f} ×",
            ratio >= 100,
        ),
    ]
    z3_seconds = min(row["us_per_pair"] for row in rows[2:]) * _pairs(policy) / 1e6
    section.notes = [
        (
            "VEPA checks that the rules are well-formed, and all pairs of an allow and a refuse "
            "rule; the first 200 conflicts are listed with a witness, the rest is counted."
        ),
        (
            f"Planted: {PLANTED} refuse rules stand a second time, as allow rules, before the "
            "others. The conflicts are those of the plain pairwise loop on all pairs that it "
            "reached."
        ),
        (
            f"The sample: {rows[0]['rules']} rules of the policy with planted conflicts, the same "
            "pairs for all; the engines agreed on every pair."
        ),
        (
            "z3, a check a pair: the conditions of both rules (an enumeration sort a field) "
            "pushed, checked, popped. z3, one solver: all rules asserted behind literals, a check "
            "under two assumptions a pair. The faster one counts. Seconds of z3 and of plain "
            "Python are processor time."
        ),
        (
            f"Extrapolated, z3's best cost a pair × all pairs: {z3_seconds:,.0f} s for {size:,} "
            f"rules ({z3_seconds / full:,.0f} × VEPA)."
        ),
    ]
    return section


def _sampled(policy: Policy, settings: Settings) -> tuple[list[dict[str, Any]], float]:
    """The engines on all pairs of a sample of rules; how many times VEPA beats the faster z3."""
    sample = _sample(policy, settings.sample)
    pairs = _pairs(sample)
    truth = _clashes(sample)
    assert _conflict_count(verify(sample)) == len(truth)
    seconds, median = best(lambda: verify(sample), max(settings.repeats, 21))
    rows = [_row("sample: VEPA", sample, pairs, seconds, median, len(truth))]
    for name, call in (
        ("sample: plain Python", pairwise.plain),
        ("sample: z3, a check a pair", pairwise.z3_checks),
        ("sample: z3, one solver", pairwise.z3_one_solver),
    ):
        found, done, spent = call(sample, settings.peer_seconds)
        assert found == truth if done == pairs else found <= truth, name
        rows.append(_row(name, sample, done, spent, None, len(found)))
    return rows, min(row["us_per_pair"] for row in rows[2:]) / rows[0]["us_per_pair"]


def _sample(policy: Policy, size: int) -> Policy:
    rng = random.Random(11)
    planted = [rule for rule in policy.rules if rule.id.startswith("planted")][:3]
    allow = [rule for rule in policy.rules if rule.decision == "allow" and rule not in planted]
    refuse = [rule for rule in policy.rules if rule.decision == "refuse"]
    chosen = rng.sample(allow, min(size, len(allow))) + rng.sample(refuse, min(size, len(refuse)))
    return policy.with_rules([*chosen, *planted])


def _clashes(policy: Policy) -> set[tuple[str, str]]:
    index = RuleIndex(policy.schema, policy.rules)
    return {
        (rule.id, index.rules[at].id)
        for rule in policy.rules
        if rule.decision == "allow"
        for at in bits(index.overlapping(rule.masks) & index.refuse)
    }


def _within(pairs: set[tuple[str, str]], policy: Policy, done: int) -> set[tuple[str, str]]:
    """Those of `pairs` that a loop over the allow rules met in its first `done` steps."""
    allow = [rule.id for rule in policy.rules if rule.decision == "allow"]
    reached = set(allow[: done // (len(policy) - len(allow))])
    return {pair for pair in pairs if pair[0] in reached}


def _planted(policy: Policy) -> Policy:
    refuse = [rule for rule in policy.rules if rule.decision == "refuse"]
    chosen = random.Random(7).sample(refuse, min(PLANTED, len(refuse)))
    copies = [
        Rule.from_masks(policy.schema, f"planted{i}", "allow", rule.masks)
        for i, rule in enumerate(chosen)
    ]
    return policy.with_rules([*copies, *policy.rules])


def _conflict_count(verification: Verification) -> int:
    count = 0
    for item in verification.feedback:
        more = _MORE.match(item.message)
        assert more or item.code == "conflict", item
        count += int(more.group(1)) if more else 1
    return count


def _subsumption(policy: Policy) -> dict[str, Any]:
    found: list[str] = []

    def report() -> None:
        found[:] = [item.code for item in subsumption(policy)]

    seconds, _ = best(report, 1)
    spent = "budget_exhausted" in found
    what = f"VEPA, subsumption report{' (work budget exhausted)' if spent else ''}"
    row = _row(what, policy, 0, seconds, None, len(found) - spent)
    return row | {"pairs_done": None, "us_per_pair": None, "stopped": spent}


def _pairs(policy: Policy) -> int:
    allow = sum(rule.decision == "allow" for rule in policy.rules)
    return allow * (len(policy) - allow)


def _row(
    what: str, policy: Policy, done: int, seconds: float, median: float | None, found: int
) -> dict[str, Any]:
    return {
        "what": what,
        "rules": len(policy),
        "pairs": _pairs(policy),
        "pairs_done": done,
        "seconds": round(seconds, 6),
        "median_s": None if median is None else round(median, 6),
        "us_per_pair": round(seconds / max(1, done) * 1e6, 6),
        "found": found,
        "stopped": done < _pairs(policy),
    }
