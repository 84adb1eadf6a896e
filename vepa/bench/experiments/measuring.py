"""What a measure is, and how sure one can be of its figures.

Most measures are functions of counts over events, so a bootstrap over events is one matrix product.
What is resampled are the events of the data set, the same ones for every seed and every method: the
seeds of a stream share their events, and two methods under one condition answered the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vepa.bench.experiments.document import Cell, Unit
from vepa.bench.experiments.plays import Answered

__all__ = ["Drawn", "Measure", "Resamples", "drawn"]

Floats = npt.NDArray[np.float64]
#: (a method's answers, those of the policy that it is compared with) -> counts, (events, k).
Counts = Callable[[Answered, Answered], Floats]

#: Resamples behind an interval, and the part of them within it.
RESAMPLES, WITHIN = 1000, 0.95


@dataclass(frozen=True)
class Measure:
    """A measure.

    Attributes
    ----------
    label, unit, help
        As in a column.
    counts, combined
        Counts of each event, and the measure of their sums, shape (..., k) -> (...).
    direct
        The measure of a play, where it is none of counts over events; it has no interval then.
    """

    label: str
    help: str
    unit: Unit = "score"
    counts: Counts | None = None
    combined: Callable[[Floats], Floats] = lambda sums: sums[..., 0]
    direct: Callable[[Answered], float | None] | None = None

    def of(self, play: Answered, reference: Answered) -> float | None:
        """The measure of a play; None where it has none."""
        if self.direct is not None:
            return self.direct(play)
        assert self.counts is not None
        return float(self.combined(self.counts(play, reference).sum(axis=0)))


class Resamples:
    """Resamples of the events of a data set, drawn once.

    Parameters
    ----------
    size
        Number of events.
    """

    def __init__(self, size: int):
        rng = np.random.default_rng([RESAMPLES, size])
        drawn = rng.multinomial(size, np.full(size, 1.0 / size), size=RESAMPLES)
        self.weights: Floats = drawn.astype(np.float64)

    def of(self, measure: Measure, play: Answered, reference: Answered) -> Floats:
        """The measure on every resample, shape (RESAMPLES,)."""
        assert measure.counts is not None
        counts = np.zeros((self.weights.shape[1], measure.counts(play, reference).shape[1]))
        counts[play.rows] = measure.counts(play, reference)
        return measure.combined(self.weights @ counts)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A measure of a method, seed by seed and resample by resample.

    Attributes
    ----------
    values
        Of each seed.
    resampled
        Of each resample, the mean over seeds; None where the measure is none of counts over events.
    """

    values: Floats
    resampled: Floats | None

    @property
    def cell(self) -> Cell:
        """Mean, deviation and interval."""
        low = high = None
        if self.resampled is not None:
            outside = 50.0 * (1.0 - WITHIN)
            ends = np.percentile(self.resampled, [outside, 100.0 - outside])
            low, high = (float(end) for end in ends)
        return Cell(
            mean=float(self.values.mean()),
            sd=float(self.values.std()),
            low=low,
            high=high,
            by_seed=tuple(float(value) for value in self.values),
        )

    def less(self, other: Drawn) -> Drawn:
        """The difference of two methods that answered the same events, paired by seed and event."""
        resampled = None
        if self.resampled is not None and other.resampled is not None:
            resampled = self.resampled - other.resampled
        return Drawn(self.values - other.values, resampled)


def drawn(
    measure: Measure,
    plays: Sequence[Answered],
    references: Sequence[Answered],
    resamples: Resamples,
) -> Drawn | None:
    """The measure over seeds; None where the method has none.

    Parameters
    ----------
    measure
        What is measured.
    plays, references
        Of the method, and of the policy that it is compared with, seed by seed.
    resamples
        Of the data set.
    """
    pairs = list(zip(plays, references, strict=True))
    found = [measure.of(*pair) for pair in pairs]
    known = [value for value in found if value is not None]
    if len(known) < len(found):
        return None
    if measure.direct is not None:
        return Drawn(np.array(known), None)
    each = [resamples.of(measure, *pair) for pair in pairs]
    return Drawn(np.array(known), np.asarray(np.mean(each, axis=0)))
