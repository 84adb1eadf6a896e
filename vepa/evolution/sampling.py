"""Which units a search looks at where there are more than it needs.

Each unit (an event as it arrived) has a number that looks random and follows from when it arrived;
the `SAMPLE` units with the smallest numbers are looked at. So each unit has the same chance, the
same units come in every process, and from round to round few are replaced: a unit that is not
looked at never will be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

__all__ = ["ALL", "CONTEXT", "EXAMPLES", "SAMPLE", "Units", "numbers"]

#: Units that a search looks at, at most: of the labelled ones, and of those without a label. Up to
#: here nothing is left out; chosen by time and quality (docs/scale.md).
SAMPLE = 4096
#: Larger than any number of a unit.
ALL = (1 << 64) - 1
#: Labelled units and others are numbered apart.
EXAMPLES, CONTEXT = 1, 2

Rows = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.uint64]


def numbers(arrivals: Rows, kind: int) -> Numbers:
    """The numbers of units, all different (the finaliser of splitmix64).

    Parameters
    ----------
    arrivals
        How many units had arrived before each, shape (units,).
    kind
        `EXAMPLES` or `CONTEXT`.
    """
    x = (arrivals.astype(np.uint64) + np.uint64(kind << 56)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ x >> np.uint64(31), dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class Units:
    """The units that a search would look at, in the order of their arrival.

    Attributes
    ----------
    kind
        `EXAMPLES` or `CONTEXT`.
    arrivals
        How many units had arrived before each, shape (units,).
    rows
        Row of each in its table, shape (units,); several units may share a row.
    arrived
        Units that have arrived so far.
    cut
        Units with a number from here on are not looked at, however few others there are.
    """

    kind: int
    arrivals: Rows
    rows: Rows
    arrived: int = 0
    cut: int = ALL

    @classmethod
    def none(cls, kind: int) -> Units:
        """Before anything has arrived."""
        empty = np.zeros(0, dtype=np.int64)
        return cls(kind, empty, empty)

    @property
    def numbers(self) -> Numbers:
        """The number of each."""
        return numbers(self.arrivals, self.kind)

    def and_new(self, rows: Rows) -> Units:
        """What is looked at when a unit has arrived at each of `rows`, in that order."""
        coming = np.arange(self.arrived, self.arrived + len(rows), dtype=np.int64)
        seen = numbers(coming, self.kind) < np.uint64(self.cut)
        every = replace(
            self,
            arrivals=np.concatenate([self.arrivals, coming[seen]]),
            rows=np.concatenate([self.rows, rows[seen]]),
            arrived=self.arrived + len(rows),
        )
        return every.smallest(SAMPLE)

    def smallest(self, most: int) -> Units:
        """The `most` units with the smallest numbers."""
        if len(self.rows) <= most:
            return self
        if not most:
            return self.only(np.zeros(len(self.rows), dtype=np.bool_))
        kept = np.zeros(len(self.rows), dtype=np.bool_)
        kept[np.argpartition(self.numbers, most - 1)[:most]] = True
        return self.only(kept)

    def below(self, cut: int) -> Units:
        """The units with a number below `cut`, now and in future."""
        return replace(self.only(self.numbers < np.uint64(cut)), cut=min(cut, self.cut))

    def only(self, kept: npt.NDArray[np.bool_]) -> Units:
        """Some of the units."""
        return replace(self, arrivals=self.arrivals[kept], rows=self.rows[kept])

    def moved(self, rows: Rows) -> Units:
        """The same units in other rows."""
        return replace(self, rows=rows.astype(np.int64))
