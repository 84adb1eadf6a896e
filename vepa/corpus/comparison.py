"""Two policies on the same events: how many decisions change, how, and which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vepa.corpus.events import LABELS, EventTable, Label
from vepa.errors import UnitMismatchError
from vepa.policy.diff import DANGER
from vepa.policy.matching import ABSTAIN, ALLOW, REFUSE, CompiledPolicy, Verdict
from vepa.policy.policy import Policy

__all__ = ["Comparison", "compare"]

_CODES: dict[Verdict, int] = {"allow": ALLOW, "refuse": REFUSE, "abstain": ABSTAIN}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Decisions of two policies on the same events.

    Attributes
    ----------
    transitions
        (decision before, decision after) -> ids of the events, only for those that occur: changed
        decisions first, the most dangerous ones leading.
    labels
        (decision before, decision after) -> label -> number of its events with that label.
    """

    transitions: Mapping[tuple[Verdict, Verdict], tuple[str, ...]]
    labels: Mapping[tuple[Verdict, Verdict], Mapping[Label, int]]

    @property
    def labelled(self) -> bool:
        """Whether any event has a label."""
        return any(sum(counts.values()) for counts in self.labels.values())

    @property
    def changed(self) -> int:
        """Number of events that are decided differently."""
        return sum(len(ids) for (one, other), ids in self.transitions.items() if one != other)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON data; ids are listed for changed decisions."""
        return {
            "total": sum(len(ids) for ids in self.transitions.values()),
            "changed": self.changed,
            "transitions": [
                {
                    "from": one,
                    "to": other,
                    "count": len(ids),
                    "labelled": dict(self.labels[one, other]),
                }
                | ({"ids": list(ids)} if one != other else {})
                for (one, other), ids in self.transitions.items()
            ],
        }


def compare(before: Policy, after: Policy, table: EventTable) -> Comparison:
    """Let both policies decide a table of events.

    Raises
    ------
    UnitMismatchError
        When the events are of another unit than the policies.
    """
    for policy in (before, after):
        if policy.unit != table.unit:
            raise UnitMismatchError(
                f"the events are of unit {table.unit!r}, the policy was made for {policy.unit!r}",
                remedy=f"use events of unit {policy.unit!r}",
            )
    columns = table.columns
    old = CompiledPolicy(before).decide_columns(columns)
    new = CompiledPolicy(after).decide_columns(columns)
    transitions: dict[tuple[Verdict, Verdict], tuple[str, ...]] = {}
    labels: dict[tuple[Verdict, Verdict], dict[Label, int]] = {}
    for pair in (*DANGER, *((verdict, verdict) for verdict in _CODES)):
        rows = ((old == _CODES[pair[0]]) & (new == _CODES[pair[1]])).nonzero()[0]
        if len(rows):
            transitions[pair] = tuple(table.ids[at] for at in rows)
            given = table.labels[rows]
            labels[pair] = {label: int((given == code).sum()) for label, code in LABELS.items()}
    return Comparison(transitions, labels)
