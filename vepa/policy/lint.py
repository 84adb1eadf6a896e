"""Warnings about policies that are admitted and yet may not say what their author means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from vepa.policy.authority import Authority, authority
from vepa.policy.boxes import volume
from vepa.policy.document import parse_document
from vepa.policy.explain import evidence_words
from vepa.policy.policy import Policy
from vepa.policy.reading import load_policy
from vepa.policy.rule import Evidence, Rule
from vepa.policy.schema import UNKNOWN, Schema
from vepa.policy.subsumption import subsumption

__all__ = ["LintWarning", "lint", "lint_text"]

Code = Literal[
    "always_abstains",
    "subsumed",
    "equivalent",
    "budget_exhausted",
    "not_in_admits_unknown",
    "only_not_in",
    "allow_admits_unknown",
    "broad",
    "duplicate_value",
    "not_canonical",
    "missing_status",
    "status_disagrees",
]

#: A rule that matches more than this share of all events is called broad.
BROAD = 0.5
#: An allow rule that admits `unknown` on so many of its own predicates is pointed out.
MANY_UNKNOWN = 3


@dataclass(frozen=True, slots=True)
class LintWarning:
    """One warning.

    Attributes
    ----------
    code
        What kind of warning.
    message
        One sentence for people.
    rules
        Ids of the rules concerned; none when it is about the whole policy.
    field
        The schema field, where one is concerned.
    line
        Line in the policy file, from 1, where known.
    remedy
        What can be done.
    """

    code: Code
    message: str
    rules: tuple[str, ...] = ()
    field: str | None = None
    line: int | None = None
    remedy: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The warning as JSON data."""
        return {
            "code": self.code,
            "rules": list(self.rules),
            "field": self.field,
            "message": self.message,
            "line": self.line,
            "remedy": self.remedy,
        }


def lint(
    policy: Policy,
    *,
    without_status: Sequence[str] = (),
    gate: Authority | None = None,
) -> Iterator[LintWarning]:
    """Warnings about a verified policy, the policy's first, then rule by rule.

    Parameters
    ----------
    policy
        A verified policy.
    without_status
        Ids of the rules that say no status in their file (a `Rule` always has one).
    gate
        The authority that standings are held against; `paper` when left out. A probability that
        evidence carries is held against its confidence, whatever the counts.
    """
    if not policy.active:
        yield LintWarning(
            "always_abstains",
            "no rule is active, so the policy abstains on every event",
            remedy="activate a rule, or let evidence do it",
        )
    for item in subsumption(policy):
        # The verifier's reports and these warnings share code, message and remedy.
        if item.code in ("subsumed", "equivalent", "budget_exhausted"):
            yield LintWarning(item.code, item.message, item.rules, remedy=item.remedy)
    judge = gate or authority("paper")
    carries_evidence = any(rule.evidence is not None for rule in policy.rules)
    silent = frozenset(without_status)
    for rule in policy.rules:
        yield from _spelling(policy.schema, rule)
        yield from _unknown(policy.schema, rule)
        yield from _breadth(policy.schema, rule)
        if carries_evidence and rule.id in silent:
            yield LintWarning(
                "missing_status",
                f"rule {rule.id!r} says no status in a file with evidence, so it is inactive",
                (rule.id,),
                remedy="write `status: active` or `status: inactive`",
            )
        yield from _standing(rule, judge)


def lint_text(
    text: str, file: str, schema: Schema, *, gate: Authority | None = None
) -> list[LintWarning]:
    """Warnings about the text of a policy file, each with its line where it has one.

    Raises
    ------
    PolicyError
        When the text is no policy, or the verifier rejects it.
    """
    policy = load_policy(text, file, schema)
    document = parse_document(text, file)
    places = {rule.id: at for at, rule in enumerate(policy.rules)}
    silent = [rule["id"] for rule in document.data["rules"] if rule.get("status") is None]
    found = []
    for warning in lint(policy, without_status=silent, gate=gate):
        line = None
        if warning.rules:
            path: tuple[str | int, ...] = ("rules", places[warning.rules[0]])
            line = document.line((*path, "when", warning.field) if warning.field else path)
        found.append(replace(warning, line=line))
    return found


def _spelling(schema: Schema, rule: Rule) -> Iterator[LintWarning]:
    for name, predicate in rule.when.items():
        twice = sorted({v for v in predicate.values if predicate.values.count(v) > 1})
        if twice:
            yield LintWarning(
                "duplicate_value",
                f"rule {rule.id!r} lists {', '.join(map(repr, twice))} twice for {name!r}",
                (rule.id,),
                name,
                remedy="drop the repetition; is another value meant?",
            )
    canonical = rule.canonical(schema)
    if list(rule.when.items()) != list(canonical.when.items()):
        yield LintWarning(
            "not_canonical",
            f"rule {rule.id!r} is spelled otherwise than in canonical form: {canonical.describe()}",
            (rule.id,),
            remedy="`vepa policy fmt --write`",
        )


def _unknown(schema: Schema, rule: Rule) -> Iterator[LintWarning]:
    for name, predicate in rule.when.items():
        if predicate.operator == "not_in" and UNKNOWN not in predicate.values:
            yield LintWarning(
                "not_in_admits_unknown",
                f"rule {rule.id!r} {_verb(rule)} when {name!r} is unknown too",
                (rule.id,),
                name,
                remedy="list `unknown` in `not_in`, or name the values that are meant with `in`",
            )
    if rule.when and all(predicate.operator == "not_in" for predicate in rule.when.values()):
        yield LintWarning(
            "only_not_in",
            f"rule {rule.id!r} says only what must not be; new values of a schema would match",
            (rule.id,),
            remedy="name with `in` what the rule is about",
        )
    loose = [name for name in rule.when if rule.masks[schema.index[name]] & 1]
    if rule.decision == "allow" and loose:
        if len(loose) == len(rule.when):
            what = "an event about which nothing is known"
        elif len(loose) >= MANY_UNKNOWN:
            what = f"events of which {', '.join(map(repr, loose))} are unknown"
        else:
            return
        yield LintWarning(
            "allow_admits_unknown",
            f"rule {rule.id!r} allows {what}",
            (rule.id,),
            remedy="leave `unknown` out of what an allow rule admits",
        )


def _breadth(schema: Schema, rule: Rule) -> Iterator[LintWarning]:
    share = volume(rule.masks) / volume(schema.full)
    if share > BROAD:
        yield LintWarning(
            "broad",
            f"rule {rule.id!r} {_verb(rule)} {share:.0%} of all possible events",
            (rule.id,),
            remedy="add a predicate",
        )


def _standing(rule: Rule, judge: Authority) -> Iterator[LintWarning]:
    if rule.evidence is None or rule.held:
        return
    earned = judge.active(rule.decision, rule.evidence)
    if earned != rule.active:
        yield LintWarning(
            "status_disagrees",
            f"rule {rule.id!r} is {rule.status}; its evidence ({evidence_words(rule.evidence)}) "
            f"makes it {'active' if earned else 'inactive'} {_asked(rule, judge)}",
            (rule.id,),
            remedy="correct the status, or the evidence",
        )


def _asked(rule: Rule, judge: Authority) -> str:
    """By what the rule was judged: the probability that its run gave, or the counts."""
    found = rule.evidence or Evidence()
    if found.probability is not None:
        asked = judge.thresholds[rule.decision].confidence
        return f"by that probability, which has to be {asked:g} at least"
    needed = judge.needed(rule.decision, found.contradictions)
    if needed is None:
        return f"under {judge.name!r}"
    against = found.contradictions
    return f"under {judge.name!r}, which asks for {needed} for with {against} against"


def _verb(rule: Rule) -> str:
    return "allows" if rule.decision == "allow" else "refuses"
