"""What belongs together: episodes of a task, with a planted text in common, or nearly the same."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from vepa.corpus.episode import Episode
from vepa.corpus.settled import SettledLabel
from vepa.release.duplicates import Sets, near_duplicates, own_words, shingles
from vepa.release.source import CorpusSource

__all__ = ["Group", "Outline", "groups_of", "outline_of"]


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
class Group:
    """Episodes that stand in one split.

    Attributes
    ----------
    name
        The first of its tasks.
    episodes
        Their ids, sorted.
    steps, refuse
        Judged steps, and those whose label is `refuse`.
    triggers
        Triggers that occur in it.
    """

    name: str
    episodes: tuple[str, ...]
    steps: int
    refuse: int
    triggers: frozenset[str]


def outline_of(
    episode: Episode, source: CorpusSource, settled: Mapping[tuple[str, int], SettledLabel]
) -> Outline:
    """The outline of an episode.

    Parameters
    ----------
    episode
        What happened.
    source
        Knows what was planted for its task.
    settled
        What stands, by trajectory and step.
    """
    trajectory = episode.trajectory
    found = [settled.get((trajectory.id, step.index)) for step in trajectory.steps]
    judged = [label.judgement for label in found if label is not None]
    return Outline(
        id=episode.id,
        task=episode.task,
        words=own_words(trajectory.steps),
        planted=tuple(source.planted_hashes(episode.task)),
        steps=len(judged),
        refuse=sum(each.decision == "refuse" for each in judged),
        triggers=tuple(sorted({key for each in judged for key in each.triggers})),
    )


def groups_of(outlines: Sequence[Outline]) -> list[Group]:
    """The groups, sorted by name; the order of the outlines plays no part.

    Two episodes are in one group when a chain of shared tasks, shared planted texts and
    near-duplicates leads from one to the other.

    Parameters
    ----------
    outlines
        One an episode.
    """
    ordered = sorted(outlines, key=lambda outline: outline.id)
    sets = Sets(len(ordered))
    first: dict[Hashable, int] = {}
    for at, outline in enumerate(ordered):
        for shared in (("task", outline.task), *(("planted", text) for text in outline.planted)):
            sets.join(first.setdefault(shared, at), at)
    near_duplicates([shingles(outline.words) for outline in ordered], sets, join=True)
    members: dict[int, list[Outline]] = {}
    for at, outline in enumerate(ordered):
        members.setdefault(sets.of(at), []).append(outline)
    return sorted(map(_group, members.values()), key=lambda group: group.name)


def _group(members: Sequence[Outline]) -> Group:
    return Group(
        name=min(outline.task for outline in members),
        episodes=tuple(outline.id for outline in members),
        steps=sum(outline.steps for outline in members),
        refuse=sum(outline.refuse for outline in members),
        triggers=frozenset(key for outline in members for key in outline.triggers),
    )
