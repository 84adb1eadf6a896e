"""Sets of triggers as values: each distinct set has a number, each two a distance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vepa.annotate.agreement.alpha import alpha, counts_of, masi_distances, nominal_distances
from vepa.annotate.agreement.figures import Estimate
from vepa.annotate.agreement.ratings import Rated
from vepa.annotate.agreement.sampling import Floats, Resampling

__all__ = ["Spoken", "spoken"]

Positions = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Spoken:
    """What annotators said of items, counted.

    Attributes
    ----------
    sets, distances
        How often each set of triggers was given to an item, shape (items, sets), and how far two
        are apart.
    decisions
        How often an item was allowed and refused, shape (items, 2).
    """

    sets: npt.NDArray[np.int64]
    distances: Floats
    decisions: npt.NDArray[np.int64]

    def alpha_sets(
        self, at: Positions | slice, position: Positions, resampling: Resampling
    ) -> Estimate:
        """α with MASI distance of some of the items."""
        return alpha(self.sets[at], self.distances, position[at], resampling)

    def alpha_decision(self, position: Positions, resampling: Resampling) -> Estimate:
        """α of the decision."""
        return alpha(self.decisions, nominal_distances(2), position, resampling)

    def alpha_sets_repeated(self, times: npt.NDArray[np.int_]) -> Estimate:
        """α of sets when an item counts several times; without an interval."""
        return alpha(np.repeat(self.sets, times, axis=0), self.distances)


def spoken(rated: Sequence[Rated], names: Iterable[str]) -> Spoken:
    """What these annotators said of these items; an annotator may lack some."""
    chosen = list(names)
    said = [[each.said[name] for name in chosen if name in each.said] for each in rated]
    given = [[frozenset(judgement.triggers) for judgement in each] for each in said]
    values = sorted({one for each in given for one in each}, key=lambda one: sorted(one))
    code = {one: at for at, one in enumerate(values)}
    return Spoken(
        counts_of([[code[one] for one in each] for each in given], len(values)),
        masi_distances(values),
        counts_of([[int(one.decision == "refuse") for one in each] for each in said], 2),
    )
