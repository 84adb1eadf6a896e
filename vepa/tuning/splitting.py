"""Splits of benchmark traces: no task, no trace and no template stands in two of them.

Two traces are in one group when a chain of shared texts leads from one to the other: what the
operator told the agent, what was asked, or all that user and agent wrote, each as near-duplicates.
Operators' texts are templates too: benchmarks make a hundred tasks of one. Groups are divided as
those of a release are: by the hash of their name, until a split holds its share.
"""

from __future__ import annotations

from collections.abc import Sequence

from vepa.corpus.trajectory import Trajectory
from vepa.release.duplicates import Sets, near_duplicates, own_words, requested, shingles
from vepa.release.grouping import Group
from vepa.release.records import Split
from vepa.release.splits import place_groups
from vepa.tuning.sources import Case

__all__ = ["divide", "template_groups"]


def template_groups(trajectories: Sequence[Trajectory]) -> list[str]:
    """The group of every trace: the first id in it; their order plays no part.

    Parameters
    ----------
    trajectories
        With distinct ids.
    """
    order = sorted(range(len(trajectories)), key=lambda at: trajectories[at].id)
    sets = Sets(len(order))
    first: dict[tuple[str, str], int] = {}
    for position, at in enumerate(order):
        each = trajectories[at]
        for shared in (("trace", each.content_hash), ("task", each.task or f"of {each.id}")):
            sets.join(first.setdefault(shared, position), position)
    for text_of in (_operator, _request, _words):
        texts = [shingles(text_of(trajectories[at])) for at in order]
        near_duplicates(texts, sets, join=True)
    names = [""] * len(order)
    for position, at in enumerate(order):
        names[at] = trajectories[order[sets.of(position)]].id
    return names


def divide(cases: Sequence[Case]) -> list[tuple[Case, str, Split]]:
    """Every case with its group and its split.

    Cases of a release keep theirs. A group with a trace that may only be scored on stands in the
    test split, whole.

    Parameters
    ----------
    cases
        All of a data set, in any order.
    """
    free = [case for case in cases if case.split is None]
    groups = dict(
        zip(
            (case.id for case in free),
            template_groups([case.trajectory for case in free]),
            strict=True,
        )
    )
    held = {groups[case.id] for case in free if case.held_out}
    members: dict[str, list[Case]] = {}
    for case in free:
        members.setdefault(groups[case.id], []).append(case)
    placed = place_groups(_group(name, each) for name, each in members.items() if name not in held)
    found: list[tuple[Case, str, Split]] = []
    for case in cases:
        if case.split is not None:
            found.append((case, case.group or case.id, case.split))
            continue
        group = groups[case.id]
        found.append((case, group, "test" if group in held else placed[group]))
    return found


def _operator(trajectory: Trajectory) -> str:
    return trajectory.system or ""


def _request(trajectory: Trajectory) -> str:
    return requested(trajectory.steps)


def _words(trajectory: Trajectory) -> str:
    return own_words(trajectory.steps)


def _group(name: str, cases: Sequence[Case]) -> Group:
    return Group(
        name=name,
        episodes=tuple(sorted(case.id for case in cases)),
        steps=len(cases),
        refuse=sum(case.decision == "refuse" for case in cases),
        triggers=frozenset(),
    )
