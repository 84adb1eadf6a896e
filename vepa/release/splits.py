"""Which split an episode stands in: never one that knows its task, its bait or its twin already.

Episodes that share a task, a planted text or nearly all of their words are one group, and a group
stands in one split whole. Where a group stands follows from the hash of its name, from what it
holds and from the other groups; there is no seed, and the order of episodes plays no part. So a
corpus that grows keeps most groups where they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vepa.release.grouping import Group, Outline, groups_of, outline_of
from vepa.release.records import SPLITS, Split

__all__ = ["ENOUGH", "SHARES", "Outline", "Placement", "outline_of", "place", "place_groups"]

#: Share of the judged steps that each split is meant to hold.
SHARES: Mapping[Split, float] = {"train": 0.8, "validation": 0.1, "test": 0.1}
#: What occurs in so many groups occurs in every split.
ENOUGH = 3
#: Upper ends of a group's share of refused steps: groups alike in it are divided alike.
_STRATA = (0.0, 0.2, 0.4, 1.0)


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


def place(outlines: Sequence[Outline]) -> dict[str, Placement]:
    """Id of every episode -> where it stands.

    Parameters
    ----------
    outlines
        One an episode, in any order.
    """
    groups = groups_of(outlines)
    splits = place_groups(groups)
    return {
        episode: Placement(splits[group.name], group.name)
        for group in groups
        for episode in group.episodes
    }


def place_groups(groups: Iterable[Group]) -> dict[str, Split]:
    """Name of every group -> its split.

    First, every trigger (and `refuse`, and `allow`) that occurs in `ENOUGH` groups gets one in
    every split; in a small corpus that may take more than the shares. Then the rest is divided
    within strata of like shares of refused steps, in the order of the hashes of names, until test
    and validation hold their shares of steps. A group that alone is more than such a share stands
    in train unless a trigger needs it elsewhere.

    Parameters
    ----------
    groups
        In any order.
    """
    ordered = sorted(groups, key=lambda group: (_hash(group.name), group.name))
    largest = SHARES["test"] * sum(map(_weight, ordered))
    placed = _pin(ordered, largest)
    over = dict.fromkeys(SPLITS, 0.0)
    for stratum in range(len(_STRATA)):
        members = [group for group in ordered if _stratum(group) == stratum]
        whole = sum(map(_weight, members))
        room = {split: SHARES[split] * whole + over[split] for split in SPLITS}
        for group in members:
            if group.name in placed:
                room[placed[group.name]] -= _weight(group)
        _fill([g for g in members if g.name not in placed], room, placed, largest)
        # What a stratum leaves over or takes too much, the next one makes up for.
        over = room
    return placed


def _fill(
    groups: Sequence[Group], room: dict[Split, float], placed: dict[str, Split], largest: float
) -> None:
    """Divide groups in their order; takes from `room`, adds to `placed`.

    A small split is full at the first group that would not bring it nearer to its share. Looking
    further for one that still fits would make a new group move several others.
    """
    small: list[Split] = ["test", "validation"]
    for group in groups:
        weight = _weight(group)
        split: Split = "train"
        while small and weight <= largest:
            if abs(room[small[0]] - weight) < abs(room[small[0]]):
                split = small[0]
                break
            small.pop(0)
        placed[group.name] = split
        room[split] -= weight


def _pin(ordered: Sequence[Group], largest: float) -> dict[str, Split]:
    """Groups that stand where they do so that everything frequent enough occurs in every split.

    What is rarest chooses first. It chooses the groups that the order of hashes would bring there
    anyway (the lowest for test, the next for validation, the highest for train), so that a new
    group seldom moves others.
    """
    holders: dict[str, list[Group]] = {}
    for group in ordered:
        for mark in _marks(group):
            holders.setdefault(mark, []).append(group)
    frequent = {mark: groups for mark, groups in holders.items() if len(groups) >= ENOUGH}
    pinned: dict[str, Split] = {}
    for _, mark in sorted((len(groups), mark) for mark, groups in frequent.items()):
        for split in ("test", "validation", "train"):
            if any(pinned.get(group.name) == split for group in frequent[mark]):
                continue
            chosen = _choose(split, frequent[mark], frequent, pinned, largest)
            if chosen is not None:
                pinned[chosen.name] = split
    return pinned


def _choose(
    split: Split,
    groups: Sequence[Group],
    frequent: Mapping[str, Sequence[Group]],
    pinned: Mapping[str, Split],
    largest: float,
) -> Group | None:
    """The group that is to stand in a split; None when all are needed where they are."""
    free = [group for group in groups if group.name not in pinned]
    if not free:
        return next((group for group in groups if _spare(group, frequent, pinned)), None)
    # A group that alone is more than a small split is meant to hold stands in train, if it can.
    heavy = [group for group in free if _weight(group) > largest]
    light = [group for group in free if _weight(group) <= largest]
    if split == "train":
        return (heavy or light)[-1]
    return light[0] if light else min(heavy, key=_weight)


def _spare(
    group: Group, frequent: Mapping[str, Sequence[Group]], pinned: Mapping[str, Split]
) -> bool:
    """Whether a pinned group can leave its split without taking anything out of it."""
    return all(
        any(
            other.name != group.name and pinned.get(other.name) == pinned[group.name]
            for other in frequent[mark]
        )
        for mark in _marks(group)
        if mark in frequent
    )


def _marks(group: Group) -> set[str]:
    """What is to occur in every split; decisions are marked apart from triggers."""
    decisions = {"=refuse": group.refuse > 0, "=allow": group.refuse < group.steps}
    return {*group.triggers, *(mark for mark, there in decisions.items() if there)}


def _stratum(group: Group) -> int:
    share = group.refuse / group.steps if group.steps else 0.0
    return next(at for at, end in enumerate(_STRATA) if share <= end)


def _weight(group: Group) -> int:
    """Judged steps; a group without any counts its episodes, so that it is divided too."""
    return group.steps or len(group.episodes)


def _hash(name: str) -> bytes:
    """Where a group stands among others: the same in every corpus that holds it."""
    return hashlib.sha256(f"vepa split {name}".encode()).digest()
