"""A bounded archive: fewer examples with weights that keep what rules have shown.

1. Examples that nothing tells apart become one, with their weights together.
2. Where that is not enough, examples are put into strata by which standing rules they count for, by
   label and by whether they are failures. A stratum keeps its share of the archive by weight, at
   least one example, and its weight in whole numbers: the evidence of every standing rule, the
   labels and the failures stay as they were, exactly.

Of the context only what a search would look at stays, equal events as one.

Which examples of a stratum are kept follows from the numbers of their units (the smallest ones), as
does what a search looks at. So the units that are looked at are the same as without a bound.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from vepa.evolution.archive import Archive
from vepa.evolution.sampling import ALL, Numbers, Rows
from vepa.evolution.standing import born_of
from vepa.policy.authority import Authority
from vepa.policy.bitsets import unpack
from vepa.policy.matching import REFUSE
from vepa.policy.policy import Policy
from vepa.policy.rule import Rule

__all__ = ["bounded"]

#: Keeps shares positive where nothing is left to share out.
TINY = 1e-9
Bytes = npt.NDArray[np.uint8]


def bounded(archive: Archive, most: int, policy: Policy, authority: Authority) -> Archive:
    """The archive with `most` examples and `most` events of context at most.

    Parameters
    ----------
    archive
        Left as it is; returned when it is small enough.
    most
        Where there are more strata than that, each keeps one example.
    policy
        Whose rules must keep their evidence.
    authority
        By which examples count.

    Notes
    -----
    With `most` above `SAMPLE` by a few hundred, what a search looks at does not change. Below it
    less is looked at: the examples that could not be kept are no longer there to look at.
    """
    found = archive
    if len(found) > most:
        found = _merged(found, _marks(found, policy.rules, authority))
    if len(found) > most:
        found = _thinned(found, most, _marks(found, policy.rules, authority))
    return _with_less_context(found, most) if len(found.context) > most else found


def _marks(archive: Archive, rules: Sequence[Rule], authority: Authority) -> Bytes:
    """What must not be mixed of each example: label, outcome, and the rules it counts for."""
    size = len(archive)
    columns = [archive.table.labels == REFUSE, archive.failed]
    if authority.parts:
        columns.append(archive.sides)
    counting: dict[int, int] = {}
    for rule in rules:
        born = born_of(rule)
        if born not in counting:
            counting[born] = archive.counted(authority, born)
            columns.append(unpack(counting[born], size))
        columns.append(unpack(archive.index.covered(rule.masks) & counting[born], size))
    return np.packbits(np.stack(columns, axis=1), axis=1)


def _merged(archive: Archive, marks: Bytes) -> Archive:
    """Examples of the same event and the same marks as one, where the first of them was."""
    alike = np.concatenate([archive.table.codes.view(np.uint8), marks], axis=1)
    first, group = _groups(alike)
    rows = np.sort(first)
    places = np.argsort(np.argsort(first))[group]
    weights = np.bincount(places, archive.known_weights, len(rows))
    numbers = np.full(len(rows), ALL, dtype=np.uint64)
    np.minimum.at(numbers, places, archive.numbers)
    return archive.reduced(rows, np.rint(weights).astype(np.int64), numbers, places)


def _thinned(archive: Archive, most: int, marks: Bytes) -> Archive:
    """A share of each stratum, with the weight of all of it."""
    first, stratum = _groups(marks)
    units = archive.units
    looked_at = np.unique(units.rows)
    room = max(most - len(first), 0)
    if len(looked_at) > room:  # less than a search would look at can be kept
        units = units.below(int(np.sort(archive.numbers[looked_at])[room]))
        looked_at = np.unique(units.rows)
    weights = archive.known_weights
    total = np.rint(np.bincount(stratum, weights)).astype(np.int64)
    sizes = np.bincount(stratum)
    least = np.maximum(np.bincount(stratum[looked_at], minlength=len(first)), 1)
    quota = _quotas(total, least, sizes, most)
    order = np.lexsort((archive.numbers, stratum))
    ends = np.cumsum(sizes)
    made = np.zeros(len(archive), dtype=np.int64)
    for at, end in enumerate(ends.tolist()):
        rows = order[end - sizes[at] : end]
        made[rows[: quota[at]]] = _reweighed(
            weights[rows], archive.numbers[rows], int(quota[at]), int(total[at])
        )
    rows = np.flatnonzero(made)
    places = np.cumsum(made > 0) - 1
    return archive.with_units(units).reduced(rows, made[rows], archive.numbers[rows], places)


def _with_less_context(archive: Archive, most: int) -> Archive:
    """Only the context that a search would look at; events that agree in every field are one."""
    units, codes = archive.context_units, archive.context.codes.view(np.uint8)
    _, group = _groups(codes[units.rows])
    smallest = np.full(int(group.max(initial=-1)) + 1, ALL, dtype=np.uint64)
    np.minimum.at(smallest, group, units.numbers)
    if len(smallest) > most:
        units = units.below(int(np.sort(smallest)[most]))
    first, group = _groups(codes[units.rows])
    rows = np.sort(units.rows[first])
    places = np.searchsorted(rows, units.rows[first])
    return archive.with_context(rows, units.moved(places[group]))


def _groups(rows: Bytes) -> tuple[Rows, Rows]:
    """Equal rows: the first of each group, and the group of each row."""
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1]))).ravel()
    _, first, group = np.unique(whole, return_index=True, return_inverse=True)
    return first, group.ravel()


def _quotas(total: Rows, least: Rows, sizes: Rows, most: int) -> Rows:
    """How many examples each stratum keeps: by weight, at least `least`, at most `sizes`."""
    low, high = 0.0, 1.0
    for _ in range(60):  # the largest share of the weight that fits
        share = (low + high) / 2.0
        if np.clip(np.floor(share * total), least, sizes).sum() <= most:
            low = share
        else:
            high = share
    quota: Rows = np.clip(np.floor(low * total), least, sizes).astype(np.int64)
    left = max(most - int(quota.sum()), 0)
    nearest = np.argsort(-np.where(quota < sizes, low * total - quota, -np.inf), kind="stable")
    more = nearest[: min(left, int((quota < sizes).sum()))]
    quota[more] += 1
    return quota


def _reweighed(weights: Rows, numbers: Numbers, kept: int, total: int) -> Rows:
    """Weights of the first `kept` examples of a stratum that add up to all of it.

    An example of weight w was left over with a chance of about w * t, t being the first number
    that is gone, as a share of all; so it stands for max(w, 1 / t).
    """
    if kept == len(weights):
        return weights
    chance = (float(numbers[kept]) + 1.0) / float(ALL)
    above = np.maximum(weights[:kept], 1.0 / chance) - 1.0 + TINY
    steps = np.rint(np.cumsum(above) * ((total - kept) / above.sum())).astype(np.int64)
    steps[-1] = total - kept
    return np.asarray(1 + np.diff(steps, prepend=0), dtype=np.int64)
