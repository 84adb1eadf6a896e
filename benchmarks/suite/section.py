"""What a part of the benchmark hands back: rows to print and to keep, and goals with figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Goal", "Section", "Settings"]


@dataclass(frozen=True)
class Settings:
    """How large a run is.

    Attributes
    ----------
    sizes
        Numbers of rules of the generated policies.
    events
        Events timed one by one.
    peer_events
        Events timed one by one with a peer.
    batch
        Events in a batch.
    file_events
        Records that are encoded, and lines of the file that is read.
    verify_rules
        Rules of the policy that is verified and read.
    sample
        Rules of each decision in the sample for the pairwise peers.
    examples
        Sizes of the example archive for the updates.
    peer_seconds
        A peer is stopped after this time at each size.
    repeats
        Repetitions of what is ours and takes seconds.
    """

    sizes: tuple[int, ...] = (10, 100, 1000)
    events: int = 20_000
    peer_events: int = 5_000
    batch: int = 1_000_000
    file_events: int = 100_000
    verify_rules: int = 10_000
    sample: int = 150
    examples: tuple[int, ...] = (40, 400, 4000)
    peer_seconds: float = 300.0
    repeats: int = 5

    @classmethod
    def tiny(cls) -> Settings:
        """Seconds in all: checks that every part works and agrees, says nothing about speed."""
        return cls((10, 20), 200, 50, 2_000, 300, 60, 8, (40,), 2.0, 1)


@dataclass(frozen=True)
class Goal:
    """A figure that was asked for, and what was measured."""

    what: str
    goal: str
    measured: str
    met: bool


@dataclass
class Section:
    """One table.

    Attributes
    ----------
    name, title
        Key in the JSON, heading in the tables.
    rows
        Column -> value; every row has the columns of the first.
    notes
        Sentences below the table.
    goals
        Goals that the figures speak to.
    """

    name: str
    title: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The section as JSON data."""
        return asdict(self)
