"""Random draws out of whole numbers alone: the same on every machine and in every version.

numpy promises the bits of its generators, but not what its methods make of them. Here a draw is a
number of 64 bits that follows from the seed, what it is for, and which event it belongs to; so
events can be drawn in any order and in pieces of any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["Dice", "Words", "chance", "words"]

Words = npt.NDArray[np.uint64]
Item = TypeVar("Item")

_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_ALL = (1 << 64) - 1


def _finish(x: int) -> int:
    """The finaliser of splitmix64: a number of 64 bits from each, no two alike."""
    x = (x ^ x >> 30) * _FIRST & _ALL
    x = (x ^ x >> 27) * _SECOND & _ALL
    return x ^ x >> 31


def _start(seed: int, purpose: int) -> int:
    return _finish(_finish(seed * _GOLDEN & _ALL) + purpose * _GOLDEN & _ALL)


def words(seed: int, purpose: int, places: Words) -> Words:
    """A random word of 64 bits a place.

    Parameters
    ----------
    seed
        Of everything.
    purpose
        Draws for different purposes have nothing to do with each other.
    places
        Numbers of the events, uint64, shape (events,).
    """
    x = places * np.uint64(_GOLDEN) + np.uint64(_start(seed, purpose))
    x ^= x >> np.uint64(30)
    x *= np.uint64(_FIRST)
    x ^= x >> np.uint64(27)
    x *= np.uint64(_SECOND)
    x ^= x >> np.uint64(31)
    return x


def chance(share: float) -> int:
    """A probability as a number of chances among 2**32."""
    return round(share * 2**32)  # exact: a power of two moves no bit of the fraction


class Dice:
    """Draws one after the other, for what is made once.

    Parameters
    ----------
    seed, purpose
        As in `words`.
    """

    def __init__(self, seed: int, purpose: int):
        self._start = _start(seed, purpose)
        self._drawn = 0

    def below(self, count: int) -> int:
        """A number from 0 to `count` - 1."""
        word = _finish(self._start + self._drawn * _GOLDEN & _ALL)
        self._drawn += 1
        return word * count >> 64

    def pick(self, items: Sequence[Item]) -> Item:
        """One of several."""
        return items[self.below(len(items))]

    def mixed(self, items: Sequence[Item]) -> list[Item]:
        """All of them in a random order."""
        left = list(items)
        for at in range(len(left) - 1, 0, -1):
            other = self.below(at + 1)
            left[at], left[other] = left[other], left[at]
        return left

    def skewed(self, items: Sequence[Item]) -> Item:
        """One of several, each half as likely as the one before."""
        for item in items[:-1]:
            if self.below(2):
                return item
        return items[-1]
