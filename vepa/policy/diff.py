"""The semantic difference of two policies: which rules changed, and where decisions do.

Decisions are compared over the whole event space, not over samples: the events on which two
policies part are boxes cut out of boxes. Every kind of change comes with witnesses; the number of
events is exact while the budget of work lasts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from vepa.errors import PolicyError, UnitMismatchError
from vepa.policy.bitsets import RuleIndex
from vepa.policy.boxes import Box, Budget, ExhaustedError, intersect, remainder, uncovered, volume
from vepa.policy.changes import RuleChange, rule_changes
from vepa.policy.matching import Verdict
from vepa.policy.policy import Policy
from vepa.policy.rule import RuleDecision, canonical_when
from vepa.policy.schema import Schema, bits
from vepa.policy.verifier import witness

__all__ = ["BUDGET", "DANGER", "Change", "Difference", "Region", "diff"]

#: Boxes looked at for one kind of change.
BUDGET = 50_000
#: Kinds of changed decisions, the most dangerous first: what is newly allowed, then what is no
#: longer refused, then what only costs usefulness.
DANGER: tuple[tuple[Verdict, Verdict], ...] = (
    ("refuse", "allow"),
    ("abstain", "allow"),
    ("refuse", "abstain"),
    ("allow", "refuse"),
    ("allow", "abstain"),
    ("abstain", "refuse"),
)
#: Regions told for one kind of change; all are counted.
_TOLD = 20


@dataclass(frozen=True, slots=True)
class Region:
    """Events that two policies decide differently.

    Attributes
    ----------
    box
        The events, as admissible sets.
    before, after
        Ids of a deciding rule in either policy; None where it abstains.
    """

    box: Box
    before: str | None
    after: str | None

    def to_dict(self, schema: Schema) -> dict[str, Any]:
        """The region as JSON data, with a witness event."""
        when = canonical_when(schema, self.box)
        return {
            "when": {name: predicate.to_dict() for name, predicate in when.items()},
            "witness": witness(schema, self.box),
            "events": volume(self.box),
            "before": self.before,
            "after": self.after,
        }


@dataclass(slots=True)
class Change:
    """One kind of change, such as `abstain` to `allow`.

    Attributes
    ----------
    before, after
        Decisions of the two policies.
    events
        Events of the whole space that change so.
    exact
        False when the budget was spent: then there are at least so many.
    regions
        Disjoint regions with these events; the first few of them.
    """

    before: Verdict
    after: Verdict
    events: int = 0
    exact: bool = True
    regions: list[Region] = field(default_factory=list)

    def add(self, region: Region) -> None:
        """Count a region."""
        self.events += volume(region.box)
        if len(self.regions) < _TOLD:
            self.regions.append(region)


@dataclass(frozen=True, slots=True)
class Difference:
    """What two policies do not have in common.

    Attributes
    ----------
    rules
        Rules that were added, removed, changed, renamed or got another status.
    changes
        Kinds of changed decisions that occur, or that the budget could not rule out; in the order
        of `DANGER`.
    space
        Number of events of the schema.
    schema
        The schema of both policies.
    """

    rules: tuple[RuleChange, ...]
    changes: tuple[Change, ...]
    space: int
    schema: Schema

    @property
    def equivalent(self) -> bool | None:
        """Whether both decide every event alike; None when the budget was spent undecided."""
        if any(change.events for change in self.changes):
            return False
        return None if any(not change.exact for change in self.changes) else True

    def to_dict(self) -> dict[str, Any]:
        """The difference as JSON data."""
        return {
            "equivalent": self.equivalent,
            "space": self.space,
            "rules": [change.to_dict() for change in self.rules],
            "changes": [
                {
                    "from": change.before,
                    "to": change.after,
                    "events": change.events,
                    "exact": change.exact,
                    "regions": [region.to_dict(self.schema) for region in change.regions],
                }
                for change in self.changes
            ],
        }


def diff(before: Policy, after: Policy, *, budget: int = BUDGET) -> Difference:
    """Compare two verified policies of one schema and unit; their active rules decide.

    Parameters
    ----------
    before, after
        The policies.
    budget
        Boxes that may be looked at for one kind of change.

    Raises
    ------
    PolicyError, UnitMismatchError
        When the policies are not about the same events.
    """
    if before.schema != after.schema:
        raise PolicyError(
            "the policies are over different schemas",
            remedy="`vepa schema migrate OLD_SCHEMA NEW_SCHEMA POLICY` brings one to the other's "
            "schema",
        )
    if before.unit != after.unit:
        raise UnitMismatchError(
            f"one policy is for events of unit {before.unit!r}, the other of {after.unit!r}",
            remedy="compare policies of the same unit",
        )
    old, new = RuleIndex(before.schema, before.active), RuleIndex(after.schema, after.active)
    changes = [
        _flipped(old, new, "allow", "refuse", budget),
        _flipped(old, new, "refuse", "allow", budget),
        *(_lost(old, new, verdict, budget) for verdict in _DECISIONS),
        *(_gained(old, new, verdict, budget) for verdict in _DECISIONS),
    ]
    changes.sort(key=lambda change: DANGER.index((change.before, change.after)))
    return Difference(
        tuple(rule_changes(before, after)),
        tuple(change for change in changes if change.events or not change.exact),
        volume(before.schema.full),
        before.schema,
    )


_DECISIONS: tuple[RuleDecision, ...] = ("allow", "refuse")


def _deciding(index: RuleIndex, verdict: RuleDecision) -> int:
    return index.allow if verdict == "allow" else index.refuse


def _flipped(
    old: RuleIndex, new: RuleIndex, before: RuleDecision, after: RuleDecision, budget: int
) -> Change:
    """Events that a rule of `old` decides one way and a rule of `new` the other way."""
    change = Change(before, after)
    work = Budget(budget)
    theirs, ours = _deciding(new, after), _deciding(old, before)
    try:
        for at in bits(ours):
            rule = old.rules[at]
            for rival in bits(new.overlapping(rule.masks) & theirs):
                common = intersect(rule.masks, new.rules[rival].masks)
                assert common is not None
                # Regions are disjoint: what an earlier pair of rules decides is taken away.
                for part in remainder(new, common, theirs & _below(rival), work):
                    for box in remainder(old, part, ours & _below(at), work):
                        change.add(Region(box, rule.id, new.rules[rival].id))
    except ExhaustedError:
        change.exact = False
    return change


def _lost(old: RuleIndex, new: RuleIndex, before: RuleDecision, budget: int) -> Change:
    """Events that `old` decides and `new` does not."""
    change = Change(before, "abstain")
    _cut(old, new, before, budget, change, lambda box, rule: Region(box, rule, None))
    return change


def _gained(old: RuleIndex, new: RuleIndex, after: RuleDecision, budget: int) -> Change:
    """Events that `new` decides and `old` does not."""
    change = Change("abstain", after)
    _cut(new, old, after, budget, change, lambda box, rule: Region(box, None, rule))
    return change


def _cut(
    one: RuleIndex,
    other: RuleIndex,
    verdict: RuleDecision,
    budget: int,
    change: Change,
    region: Callable[[Box, str], Region],
) -> None:
    """Count the events that `one` decides with `verdict` and that no rule of `other` matches."""
    work = Budget(budget)
    ours = _deciding(one, verdict)
    try:
        for at in bits(ours):
            rule = one.rules[at]
            for part in remainder(other, rule.masks, other.all, work):
                for box in remainder(one, part, ours & _below(at), work):
                    change.add(region(box, rule.id))
    except ExhaustedError:
        change.exact = False
        if not change.events:
            _look_for_one(one, other, ours, change, region)


def _look_for_one(
    one: RuleIndex,
    other: RuleIndex,
    ours: int,
    change: Change,
    region: Callable[[Box, str], Region],
) -> None:
    """Without work left a single event still tells two policies apart."""
    for at in bits(ours):
        codes = uncovered(other, one.rules[at].masks, other.all)
        if codes is not None:
            change.add(region(tuple(1 << code for code in codes), one.rules[at].id))
            return


def _below(at: int) -> int:
    return (1 << at) - 1
