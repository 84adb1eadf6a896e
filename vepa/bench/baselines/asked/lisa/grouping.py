"""Reports in groups: average linkage over cosines."""

from __future__ import annotations

import numpy as np

from vepa.bench.baselines.base import Floats

__all__ = ["average_linkage"]


def average_linkage(vectors: Floats, least: float) -> list[list[int]]:
    """Join the two groups that are most alike on average, as long as they are alike enough.

    Parameters
    ----------
    vectors
        Rows of length 1, shape (items, dimensions).
    least
        Mean cosine between the items of two groups that joins them.

    Returns
    -------
    list of list of int
        The groups, each ascending, by their first item. Between equals the first pair is joined.
    """
    size = len(vectors)
    if not size:
        return []
    groups: list[list[int]] = [[at] for at in range(size)]
    # Rounded: sums in another order must not decide between pairs that are equally alike.
    alike = np.round(vectors @ vectors.T, 12)
    np.fill_diagonal(alike, -np.inf)
    while True:
        first, second = sorted(divmod(int(np.argmax(alike)), size))
        if not alike[first, second] >= least:
            return sorted(group for group in groups if group)
        one, other = len(groups[first]), len(groups[second])
        joined = np.round((one * alike[first] + other * alike[second]) / (one + other), 12)
        joined[first] = -np.inf
        alike[first], alike[:, first] = joined, joined
        alike[second], alike[:, second] = -np.inf, -np.inf
        groups[first] = sorted(groups[first] + groups[second])
        groups[second] = []
