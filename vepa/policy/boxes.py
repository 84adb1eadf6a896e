"""Boxes: the events that a conjunction matches, one admissible set a field.

A box is a tuple of bit sets, as in `Rule.masks`; it is empty when one of them is. Unions of boxes
are handled exactly, by splitting, within a budget of work.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from vepa.policy.bitsets import RuleIndex
from vepa.policy.schema import bits

__all__ = ["Box", "Budget", "ExhaustedError", "intersect", "remainder", "subtract", "volume"]

Box = tuple[int, ...]


class ExhaustedError(Exception):
    """The budget of work is spent; what was asked is not known."""


@dataclass(slots=True)
class Budget:
    """Work that may still be done, in boxes looked at.

    Attributes
    ----------
    left
        What is left of it.
    spent
        What was used.
    """

    left: int
    spent: int = field(default=0)

    def spend(self) -> None:
        """Account for one box; raises `ExhaustedError` when nothing is left."""
        if self.left <= 0:
            raise ExhaustedError
        self.left -= 1
        self.spent += 1


def volume(box: Sequence[int]) -> int:
    """Number of events in a box."""
    return math.prod(mask.bit_count() for mask in box)


def intersect(one: Sequence[int], other: Sequence[int]) -> Box | None:
    """The events in both boxes, or None when there is none."""
    common = tuple(a & b for a, b in zip(one, other, strict=True))
    return common if all(common) else None


def subtract(box: Box, other: Sequence[int]) -> Iterator[Box]:
    """Disjoint boxes that hold the events of `box` outside `other`."""
    rest = list(box)
    for at, mask in enumerate(box):
        outside = mask & ~other[at]
        if outside:
            yield (*rest[:at], outside, *rest[at + 1 :])
        rest[at] = mask & other[at]
        if not rest[at]:
            return


def remainder(
    index: RuleIndex, box: Box, among: int, budget: Budget, used: set[int] | None = None
) -> Iterator[Box]:
    """Disjoint boxes that hold the events of `box` which no rule in `among` matches.

    Parameters
    ----------
    index
        Bit sets of the rules.
    box
        Where to look.
    among
        Bit set of the rules that count.
    budget
        Work that may be done.
    used
        Collects the rules that were needed to take something away.

    Raises
    ------
    ExhaustedError
        When the budget ends before the next box is found.
    """
    # A stack and not recursion: the depth is the number of rules at worst.
    stack = [box]
    while stack:
        here = stack.pop()
        budget.spend()
        touching = index.overlapping(here) & among
        if not touching:
            yield here
            continue
        whole = index.containing(here) & touching
        if whole:
            if used is not None:
                used.add((whole & -whole).bit_length() - 1)
            continue
        at = _widest(index, here, touching)
        if used is not None:
            used.add(at)
        stack.extend(subtract(here, index.rules[at].masks))


def uncovered(index: RuleIndex, box: Box, among: int) -> tuple[int, ...] | None:
    """Codes of an event in `box` that no rule in `among` matches, by a greedy look.

    None says nothing: such an event may still exist.
    """
    codes = [(mask & -mask).bit_length() - 1 for mask in box]
    left = among
    for at in index.used:
        column = index.admitting[at]
        codes[at] = min(bits(box[at]), key=lambda code: (left & column[code]).bit_count())
        left &= column[codes[at]]
        if not left:
            return tuple(codes)
    return None


#: Rules compared before one is chosen to split by.
_LOOKED_AT = 32


def _widest(index: RuleIndex, box: Box, among: int) -> int:
    """The rule that leaves the least of the box, of the first few."""
    best, most = -1, -1.0
    left = among
    for _ in range(_LOOKED_AT):
        if not left:
            break
        low = left & -left
        left ^= low
        at = low.bit_length() - 1
        share = 1.0
        for mask, other in zip(box, index.rules[at].masks, strict=True):
            if mask & ~other:
                share *= (mask & other).bit_count() / mask.bit_count()
        if share > most:
            best, most = at, share
    return best
