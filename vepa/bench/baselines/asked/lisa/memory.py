"""What the LiSA-style baseline remembers, and what of it decides an event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from vepa.bench.baselines.asked.lisa.constants import GATE, NEAR, PERCENTILE
from vepa.bench.baselines.asked.rows import Row
from vepa.bench.baselines.base import Codes, Floats
from vepa.policy.authority import posterior
from vepa.policy.matching import ALLOW, REFUSE

__all__ = ["Broad", "Found", "Group", "Local", "Memory", "Report", "Written", "lower_bound"]

_NAMES = {ALLOW: "allow", REFUSE: "refuse"}
_ROUNDING = 1e-9


class Report(NamedTuple):
    """A failure: what was seen, and what feedback said instead of the standing decision."""

    row: Row
    label: int


class Found(NamedTuple):
    """What the memory says about an event: a decision, how sure, and which entry says it."""

    label: int
    confidence: float
    by: str


class Written(NamedTuple):
    """What a model wrote about a group; without a title nothing usable, and `outcome` says why."""

    title: str
    description: str
    outcome: Literal["written", "declined", "malformed"] = "written"


@lru_cache(maxsize=100_000)
def lower_bound(support: int, contradictions: int) -> float:
    """The 5th percentile of Beta(1 + support, 1 + contradictions), to nine digits.

    Examples
    --------
    >>> round(lower_bound(0, 0), 6), round(lower_bound(4, 0), 4)
    (0.05, 0.5493)
    """
    low, high = 0.0, 1.0
    for _ in range(34):
        middle = (low + high) / 2
        if posterior(support, contradictions, middle) >= 1.0 - PERCENTILE:
            low = middle
        else:
            high = middle
    return round((low + high) / 2, 9)


@dataclass
class _Entry:
    """Something that decides like `label`, with the feedback for and against it."""

    id: str
    label: int
    support: int = 0
    contradictions: int = 0

    @property
    def lower(self) -> float:
        """What it can be relied on for, at least."""
        return lower_bound(self.support, self.contradictions)

    @property
    def confidence(self) -> float:
        """Posterior mean."""
        return (1 + self.support) / (2 + self.support + self.contradictions)

    def count(self, labels: Codes, weights: Floats) -> None:
        """Evidence anew, from the feedback that falls to it."""
        self.support = int(weights[labels == self.label].sum())
        self.contradictions = int(weights[labels != self.label].sum())


@dataclass
class Broad(_Entry):
    """A policy for whatever is like the words that the model wrote.

    Attributes
    ----------
    title, description
        The model's words.
    key
        Their embedding.
    reach
        Cosine with the key from which an event falls to it.
    """

    title: str = ""
    description: str = ""
    key: Floats = field(default_factory=lambda: np.zeros(0))
    reach: float = 1.0

    @property
    def active(self) -> bool:
        """Whether it may decide."""
        return self.lower >= GATE


@dataclass
class Local(_Entry):
    """One side of a group in which labels are mixed.

    Attributes
    ----------
    group
        Number of the group.
    rows, cases
        The side's distinct events, and their embeddings, shape (events, dimensions).
    """

    group: int = 0
    rows: tuple[Row, ...] = ()
    cases: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def active(self) -> bool:
        """Whether it may decide."""
        return self.support > self.contradictions


@dataclass
class Group:
    """Reports that are alike.

    Attributes
    ----------
    reports
        Their places among all reports, ascending.
    kind
        `lone` (one report), `one-label` or `mixed`.
    """

    reports: tuple[int, ...]
    kind: Literal["lone", "one-label", "mixed"]


@dataclass
class Memory:
    """All that is remembered beside the feedback itself.

    Attributes
    ----------
    reports
        Failures in the order in which feedback told of them.
    groups, broad, local
        As of the last refresh, with evidence up to now.
    refreshes
        How often the memory was made anew.
    written
        What the model was asked to write, by what it was shown: one label and the reports' events.
    """

    reports: list[Report] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    broad: list[Broad] = field(default_factory=list)
    local: list[Local] = field(default_factory=list)
    refreshes: int = 0
    written: dict[tuple[int, tuple[Row, ...]], Written] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether nothing in it could decide."""
        return not self.broad and not self.local

    def find(self, vectors: Floats) -> list[Found | None]:
        """What it says about events, shape (events, dimensions); None where it says nothing."""
        broad, local = self._falls_to_broad(vectors), self._falls_to_local(vectors)
        return [
            _best(self.local, local[:, at]) or _best(self.broad, broad[:, at])
            for at in range(len(vectors))
        ]

    def count(self, vectors: Floats, labels: Codes, weights: Floats) -> None:
        """Evidence anew, from all feedback.

        Parameters
        ----------
        vectors
            Embeddings of the distinct pairs of event and label, shape (pairs, dimensions).
        labels, weights
            The label of each pair, and how often it was told, shape (pairs,).
        """
        for entries, alike in (
            (self.local, self._falls_to_local(vectors)),
            (self.broad, self._falls_to_broad(vectors)),
        ):
            for entry, row in zip(entries, alike, strict=True):
                falls = ~np.isnan(row)
                entry.count(labels[falls], weights[falls])

    def _falls_to_broad(self, vectors: Floats) -> Floats:
        """How like each policy's key the events are, shape (policies, events); NaN out of reach."""
        found = np.full((len(self.broad), len(vectors)), np.nan)
        for row, policy in zip(found, self.broad, strict=True):
            alike = vectors @ policy.key
            within = alike >= policy.reach - _ROUNDING
            row[within] = alike[within]
        return found

    def _falls_to_local(self, vectors: Floats) -> Floats:
        """How near each rule's nearest case is, shape (rules, events); NaN where not its side."""
        found = np.full((len(self.local), len(vectors)), np.nan)
        for row, rule in zip(found, self.local, strict=True):
            row[:] = (vectors @ rule.cases.T).max(axis=1)
        groups = np.array([rule.group for rule in self.local])
        for group in np.unique(groups):
            sides = np.flatnonzero(groups == group)
            nearest = found[sides].max(axis=0)
            for side in sides:
                away = (found[side] < nearest - _ROUNDING) | (found[side] < NEAR - _ROUNDING)
                found[side, away] = np.nan
        return found

    def to_dict(self, events: Sequence[dict[str, str]], shown: dict[Row, int]) -> dict[str, Any]:
        """The memory as JSON data.

        Parameters
        ----------
        events
            Distinct events of the reports.
        shown
            Visible codes -> place among `events`.
        """
        return {
            "reports": [
                {"event": events[shown[each.row]], "label": _NAMES[each.label]}
                for each in self.reports
            ],
            "groups": [{"reports": list(g.reports), "kind": g.kind} for g in self.groups],
            "broad": [
                {
                    **_evidence(policy),
                    "title": policy.title,
                    "description": policy.description,
                    "reach": round(policy.reach, 9),
                }
                for policy in self.broad
            ],
            "local": [
                {
                    **_evidence(rule),
                    "group": rule.group,
                    "cases": [events[shown[row]] for row in rule.rows],
                }
                for rule in self.local
            ],
            "refreshes": self.refreshes,
            "unwritten": [
                {"label": _NAMES[label], "events": len(rows), "outcome": said.outcome}
                for (label, rows), said in self.written.items()
                if not said.title
            ],
        }


def _evidence(entry: Broad | Local) -> dict[str, Any]:
    return {
        "id": entry.id,
        "decision": _NAMES[entry.label],
        "support": entry.support,
        "contradictions": entry.contradictions,
        "lower": entry.lower,
        "active": entry.active,
    }


def _best(entries: Sequence[Broad | Local], alike: Floats) -> Found | None:
    """The active entry that is most alike; between equals the surer, then the one that refuses."""
    found = [
        (round(float(near), 9), entry.lower, entry.label == REFUSE, entry)
        for entry, near in zip(entries, alike, strict=True)
        if entry.active and not np.isnan(near)
    ]
    if not found:
        return None
    entry = max(found, key=lambda each: each[:3])[3]
    return Found(entry.label, entry.confidence, entry.id)
