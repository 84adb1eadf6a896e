"""From a parent and the rules one would rather have to the edits that lead there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vepa.policy.patches import Operation

__all__ = ["Move", "moves"]

#: Share of the smaller cover that two rules must have in common to be versions of one another.
KINSHIP = 0.5


@dataclass(frozen=True, slots=True)
class Move:
    """One edit in terms of positions: which of the parent's rules go, which wanted ones come."""

    operation: Operation
    old: tuple[int, ...]
    new: tuple[int, ...]


def moves(old: Sequence[tuple[str, int]], new: Sequence[tuple[str, int]]) -> list[Move]:
    """The edits that turn the old rules into the new ones.

    Old and new rules that decide alike and cover much the same examples are versions of one
    another: one and one is a rewrite, several and one a merge, one and several a split. What has
    no counterpart is deleted or added.

    Parameters
    ----------
    old, new
        (decision, bit set of covered examples) of each rule that only one side has.
    """
    links = [
        (i, j)
        for i, (decision, covered) in enumerate(old)
        for j, (wanted, target) in enumerate(new)
        if decision == wanted and _kin(covered, target)
    ]
    found: list[Move] = []
    for olds, news in _groups(links, len(old), len(new)):
        found += _group(olds, news, old, new)
    return found


def _kin(one: int, two: int) -> bool:
    smaller = min(one.bit_count(), two.bit_count())
    return smaller > 0 and (one & two).bit_count() >= KINSHIP * smaller


def _groups(
    links: Sequence[tuple[int, int]], olds: int, news: int
) -> list[tuple[list[int], list[int]]]:
    """Connected groups of the links, the lonely ones included."""
    group_of = list(range(olds + news))

    def root(node: int) -> int:
        while group_of[node] != node:
            node = group_of[node]
        return node

    for i, j in links:
        group_of[root(i)] = root(olds + j)
    groups: dict[int, tuple[list[int], list[int]]] = {}
    for node in range(olds + news):
        members = groups.setdefault(root(node), ([], []))
        if node < olds:
            members[0].append(node)
        else:
            members[1].append(node - olds)
    return sorted(groups.values())


def _group(
    olds: list[int],
    news: list[int],
    old: Sequence[tuple[str, int]],
    new: Sequence[tuple[str, int]],
) -> list[Move]:
    if not olds:
        return [Move("add", (), (j,)) for j in news]
    if not news:
        return [Move("delete", (i,), ()) for i in olds]
    if len(news) == 1:
        operation: Operation = "rewrite" if len(olds) == 1 else "merge"
        return [Move(operation, tuple(olds), tuple(news))]
    if len(olds) == 1:
        return [Move("split", tuple(olds), tuple(news))]
    # Many and many: the closest pairs are rewrites, the rest has no counterpart.
    pairs = sorted(
        ((i, j) for i in olds for j in news),
        key=lambda pair: (-(old[pair[0]][1] & new[pair[1]][1]).bit_count(), pair),
    )
    found: list[Move] = []
    for i, j in pairs:
        if i in olds and j in news:
            olds, news = [k for k in olds if k != i], [k for k in news if k != j]
            found.append(Move("rewrite", (i,), (j,)))
    return found + _group(olds, [], old, new) + _group([], news, old, new)
