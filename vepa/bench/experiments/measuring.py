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

__all__ = ["Measure", "Resamples", "cell", "difference"]

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


def cell(
    measure: Measure,
    plays: Sequence[Answered],
    references: Sequence[Answered],
    resamples: Resamples,
) -> Cell | None:
    """The measure over seeds, with its interval; None where the method has none."""
    values = _values(measure, plays, references)
    if values is None:
        return None
    drawn = None if measure.direct else _drawn(measure, plays, references, resamples)
    return _told(values, drawn)


def difference(
    measure: Measure,
    one: tuple[Sequence[Answered], Sequence[Answered]],
    other: tuple[Sequence[Answered], Sequence[Answered]],
    resamples: Resamples | None,
) -> Cell | None:
    """The measure of one method less that of another, paired by seed and by event.

    Parameters
    ----------
    measure
        What is compared.
    one, other
        Plays and references of each, seed by seed.
    resamples
        Of the data set; None where the two were not asked about the same events.
    """
    values, less = _values(measure, *one), _values(measure, *other)
    if values is None or less is None:
        return None
    drawn = None
    if not measure.direct and resamples is not None:
        drawn = _drawn(measure, *one, resamples) - _drawn(measure, *other, resamples)
    return _told(values - less, drawn)


def _values(
    measure: Measure, plays: Sequence[Answered], references: Sequence[Answered]
) -> Floats | None:
    found = [measure.of(*pair) for pair in zip(plays, references, strict=True)]
    known = [value for value in found if value is not None]
    return np.array(known) if len(known) == len(found) else None


def _drawn(
    measure: Measure,
    plays: Sequence[Answered],
    references: Sequence[Answered],
    resamples: Resamples,
) -> Floats:
    pairs = zip(plays, references, strict=True)
    return np.asarray(np.mean([resamples.of(measure, *pair) for pair in pairs], axis=0))


def _told(values: Floats, drawn: Floats | None) -> Cell:
    low = high = None
    if drawn is not None:
        outside = 50.0 * (1.0 - WITHIN)
        low, high = (float(x) for x in np.percentile(drawn, [outside, 100.0 - outside]))
    return Cell(
        mean=float(values.mean()),
        sd=float(values.std()),
        low=low,
        high=high,
        by_seed=tuple(float(value) for value in values),
    )
