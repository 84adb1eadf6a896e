"""Krippendorff's α, of sets of triggers with MASI distance and of any key (nominal).

MASI is R. Passonneau's distance of sets (Measuring Agreement on Set-valued Items for Semantic and
Pragmatic Annotation, LREC 2006): 1 - J·M, where J is the share of common members and M is 1 for
equal sets, 2/3 where one holds the other, 1/3 where they overlap, 0 where they do not. NLTK's
`masi_distance` is the same with 0.67 and 0.33. Two empty sets are equal: distance 0; an empty set
and another share nothing: distance 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vepa.annotate.agreement.figures import Estimate
from vepa.annotate.agreement.sampling import Floats, Resampling, estimate
from vepa.errors import MissingExtraError

__all__ = ["alpha", "alphas", "counts_of", "masi_distance", "masi_distances", "nominal_distances"]

#: The package builds four arrays of items × values × values; beyond, memory would run out, and our
#: own sums, which are the same, are taken.
_MOST_CELLS = 12_000_000


def masi_distance(a: frozenset[str], b: frozenset[str]) -> float:
    """Distance of two sets, from 0 (equal) to 1 (nothing in common)."""
    if a == b:
        return 0.0
    common = len(a & b)
    if not common:
        return 1.0
    monotone = 2 / 3 if a < b or b < a else 1 / 3
    return 1 - common / len(a | b) * monotone


def masi_distances(values: Sequence[frozenset[str]]) -> Floats:
    """Distances of all pairs, shape (values, values)."""
    return np.array([[masi_distance(a, b) for b in values] for a in values], dtype=np.float64)


def nominal_distances(count: int) -> Floats:
    """1 for any two that differ, shape (count, count)."""
    return 1.0 - np.eye(count)


def counts_of(codes: Sequence[Sequence[int]], size: int) -> npt.NDArray[np.int64]:
    """How often each value was given to an item.

    Parameters
    ----------
    codes
        One sequence an item: the value that each of its annotators gave.
    size
        Number of values.

    Returns
    -------
    Shape (items, size).
    """
    counts = np.zeros((len(codes), size), dtype=np.int64)
    for at, given in enumerate(codes):
        np.add.at(counts[at], list(given), 1)
    return counts


def alpha(
    counts: npt.NDArray[np.int64],
    distances: Floats,
    position: npt.NDArray[np.intp] | None = None,
    resampling: Resampling | None = None,
) -> Estimate:
    """α with its interval.

    Parameters
    ----------
    counts
        As of `counts_of`.
    distances
        Of values, shape (values, values).
    position, resampling
        As for κ; without them there is no interval.
    """
    given = counts.sum(axis=0) > 0
    used, apart = counts[:, given], distances[np.ix_(given, given)]
    several = used.sum(axis=1) >= 2
    if not several.any():
        return Estimate(value=None, reason="no item with two judgements")
    observed, values = _parts(used, apart)
    sample = float(alphas(observed.sum(), values.sum(axis=0), apart))
    if not np.isfinite(sample):
        return Estimate(value=None, reason="everybody always says the same")
    if used.shape[0] * used.shape[1] ** 2 <= _MOST_CELLS:
        sample = _by_package(used, apart)
    if resampling is None or position is None:
        return Estimate(value=sample)
    drawn = alphas(resampling.sums(observed, position), resampling.sums(values, position), apart)
    return estimate(sample, drawn)


def alphas(observed: Any, values: npt.NDArray[Any], distances: Floats) -> Floats:
    """α from sums over items.

    Parameters
    ----------
    observed
        Disagreement within items, shape (…,).
    values
        How often each value was given to an item that others judged, shape (…, values).
    distances
        Shape (values, values).

    Returns
    -------
    Shape (…,); not a number where nobody can disagree.
    """
    total = values.sum(axis=-1)
    expected = ((values @ distances) * values).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = 1 - observed * (total - 1) / expected
    return np.where(expected > 0, found, np.nan)


def _parts(counts: npt.NDArray[np.int64], distances: Floats) -> tuple[Floats, Floats]:
    """What each item adds to the sums of `alphas`: shapes (items,) and (items, values)."""
    given = counts.sum(axis=1)
    values = np.where((given >= 2)[:, None], counts, 0).astype(np.float64)
    within = ((values @ distances) * values).sum(axis=1)
    return within / np.maximum(given - 1, 1), values


def _by_package(counts: npt.NDArray[np.int64], distances: Floats) -> float:
    try:
        import krippendorff
    except ImportError:
        raise MissingExtraError("krippendorff", "pipeline") from None

    def distance(v1: npt.NDArray[np.intp], v2: npt.NDArray[np.intp], **_: Any) -> Any:
        return distances[v1, v2]

    metric: Any = distance
    return float(
        krippendorff.alpha(
            value_counts=counts,
            value_domain=np.arange(counts.shape[1]),
            level_of_measurement=metric,
        )
    )
