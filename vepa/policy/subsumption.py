"""Rules that change nothing: subsumed by another rule or by several, or equivalent to another.

Reported, never rejected. One rule is found by bit sets; a union of rules by taking them away from
the rule's box until nothing is left, within a budget of work that says when it is spent.
"""

from __future__ import annotations

from collections.abc import Iterator

from vepa.policy.bitsets import RuleIndex
from vepa.policy.boxes import Budget, ExhaustedError, remainder, uncovered
from vepa.policy.feedback import Feedback
from vepa.policy.policy import Policy
from vepa.policy.rule import Rule
from vepa.policy.schema import bits

__all__ = ["BUDGET", "subsumption"]

#: Boxes looked at for the whole report, and for one rule.
BUDGET = 200_000
BUDGET_PER_RULE = 5_000
#: Subsuming rules named in a message; `rules` of the finding names them all.
_NAMED = 6


def subsumption(
    policy: Policy,
    *,
    budget: int = BUDGET,
    per_rule: int = BUDGET_PER_RULE,
    index: RuleIndex | None = None,
) -> Iterator[Feedback]:
    """Report subsumed and equivalent rules, active and inactive ones alike.

    Parameters
    ----------
    policy
        A verified policy.
    budget, per_rule
        Boxes that may be looked at for unions of rules, altogether and for one rule.
    index
        Bit sets of the policy's rules, where the caller has them already.

    Yields
    ------
    Feedback
        `subsumed` (`rules`: the rule, then those that subsume it), `equivalent` (`rules`: all that
        behave alike), and one `budget_exhausted` with the rules that remain undecided.
    """
    index = index or RuleIndex(policy.schema, policy.rules)
    alike: dict[object, int] = {}
    for at, rule in enumerate(index.rules):
        alike[rule.key] = alike.get(rule.key, 0) | 1 << at
    work = Budget(budget)
    undecided: list[str] = []
    for group in alike.values():
        members = [index.rules[at] for at in bits(group)]
        if len(members) > 1:
            yield _equivalent(members)
        same = index.allow if members[0].decision == "allow" else index.refuse
        try:
            found = _subsuming(index, members[0], same & ~group, work, per_rule)
        except ExhaustedError:
            undecided += [rule.id for rule in members]
            continue
        if found:
            for rule in members:
                yield _subsumed(rule, found)
    if undecided:
        yield Feedback(
            "budget_exhausted",
            f"for {len(undecided)} rules it is not known whether a union of others subsumes them",
            rules=tuple(undecided),
            remedy="nothing is wrong; the search was stopped",
        )


def _subsuming(
    index: RuleIndex, rule: Rule, others: int, work: Budget, per_rule: int
) -> list[Rule]:
    """Rules among `others` that together match all that `rule` matches; none when they do not."""
    single = index.containing(rule.masks) & others
    if single:
        return [index.rules[at] for at in bits(single & index.active or single)[:1]]
    others &= index.overlapping(rule.masks)
    if others.bit_count() < 2 or uncovered(index, rule.masks, others) is not None:
        return []
    budget = Budget(min(per_rule, work.left))
    used: set[int] = set()
    try:
        left = next(remainder(index, rule.masks, others, budget, used), None)
    finally:
        work.left -= budget.spent
    return [] if left is not None else [index.rules[at] for at in sorted(used)]


def _equivalent(members: list[Rule]) -> Feedback:
    ids = tuple(rule.id for rule in members)
    return Feedback(
        "equivalent",
        f"the rules {_named(ids)} match the same events and decide alike",
        rules=ids,
        remedy="keep one of them",
    )


def _subsumed(rule: Rule, by: list[Rule]) -> Feedback:
    ids = tuple(other.id for other in by)
    who = f"rule {ids[0]!r}" if len(ids) == 1 else f"the rules {_named(ids)} together"
    silent = [other.id for other in by if not other.active]
    return Feedback(
        "subsumed",
        f"all that rule {rule.id!r} matches, {who} {'match' if len(ids) > 1 else 'matches'} too",
        rules=(rule.id, *ids),
        remedy=f"keep it while inactive: {_named(tuple(silent))}"
        if rule.active and silent
        else "delete it: no decision changes",
    )


def _named(ids: tuple[str, ...]) -> str:
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return ", ".join(map(repr, ids[:_NAMED])) + more
