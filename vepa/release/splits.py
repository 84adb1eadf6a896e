"""Which split an episode stands in: never one that knows its task, its bait or its twin already.

Episodes that share a task, a planted text or nearly all of their words are one group, and a group
stands in one split whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vepa.corpus.episode import Episode
from vepa.corpus.settled import SettledLabel
from vepa.release.records import Split
from vepa.release.source import CorpusSource

__all__ = ["Outline", "Placement", "outline_of", "place"]


@dataclass(frozen=True)
class Outline:
    """What of an episode decides where it stands.

    Attributes
    ----------
    id, task
        Of the episode.
    words
        What was asked, and all that the agent wrote: the part that is its own.
    planted
        Hashes of planted texts.
    steps, refuse
        Judged steps, and those whose label is `refuse`.
    triggers
        Triggers that occur, sorted.
    """

    id: str
    task: str
    words: str
    planted: tuple[str, ...]
    steps: int
    refuse: int
    triggers: tuple[str, ...]


@dataclass(frozen=True)
class Placement:
    """Where an episode stands.

    Attributes
    ----------
    split
        One of the three.
    group
        Name of its group: the first of its tasks.
    """

    split: Split
    group: str


def outline_of(
    episode: Episode, source: CorpusSource, settled: Mapping[tuple[str, int], SettledLabel]
) -> Outline:
    """The outline of an episode."""
    raise NotImplementedError


def place(outlines: Sequence[Outline]) -> dict[str, Placement]:
    """Id of every episode -> where it stands."""
    raise NotImplementedError
