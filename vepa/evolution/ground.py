"""Beam search for conjunctions over weighted examples.

A conjunction is a tuple of admissible sets, one a field. It grows by intersecting one field with a
*prefix*: the field's values sorted by their smoothed share of wrong examples, the best ones first.
Weights are multiples of a power of two, so their sums are exact in any order on any machine.
Events that agree in every field are one, with their weights together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import and_
from typing import Any

import numpy as np
import numpy.typing as npt

from vepa.policy.bitsets import ExampleIndex, unpack
from vepa.policy.schema import Schema

__all__ = ["Aim", "Found", "Ground", "Masks", "Weights", "constrained", "overlaps"]

Masks = tuple[int, ...]
Weights = npt.NDArray[np.float64]

#: Utility that one predicate must be worth.
PREDICATE_COST = 0.25
#: Share of the events that may weigh something before it no longer pays to look at these alone.
LIVELY = 0.6


@dataclass(frozen=True, slots=True)
class Aim:
    """What a conjunction should cover.

    Attributes
    ----------
    wanted, unwanted
        Weight of each distinct event, shape (size,).
    cost
        Weight of `wanted` that a unit of `unwanted` outweighs (lambda).
    """

    wanted: Weights
    unwanted: Weights
    cost: float

    def within(self, members: npt.NDArray[np.bool_]) -> Aim:
        """The same aim over fewer examples."""
        return Aim(self.wanted * members, self.unwanted * members, self.cost)


@dataclass(frozen=True, slots=True)
class Found:
    """A conjunction and its utility."""

    masks: Masks
    utility: float


@dataclass(frozen=True, slots=True)
class _Ahead:
    """What a beam looks at: positions of events, their cells and both weights, the cost."""

    live: npt.NDArray[np.intp]
    cells: Weights
    weights: Weights
    cost: float


@dataclass(frozen=True, slots=True)
class _Steps:
    """Refinements of several conjunctions, one for each of their cells: (conjunctions, cells)."""

    edge: Sequence[Masks]
    order: npt.NDArray[np.intp]
    field: npt.NDArray[np.intp]
    starts: Sequence[int]
    utility: Weights
    gain: Weights

    def best(self, measure: Weights, count: int, seen: set[Masks]) -> list[Found]:
        """The best that are not in `seen`, which grows by them; ties: in the order of the cells."""
        found: list[Found] = []
        flat = measure.ravel()
        for at in np.argsort(-flat, kind="stable").tolist():
            if len(found) == count or flat[at] == -math.inf:
                break
            row, cell = divmod(at, measure.shape[1])
            masks = self._masks(row, cell)
            if masks not in seen:
                seen.add(masks)
                found.append(Found(masks, float(self.utility[row, cell])))
        return found

    def _masks(self, row: int, cell: int) -> Masks:
        field = int(self.field[cell])
        start = self.starts[field]
        kept = 0
        for code in (self.order[row, start : cell + 1] - start).tolist():
            kept |= 1 << code
        masks = self.edge[row]
        return (*masks[:field], kept, *masks[field + 1 :])


def constrained(schema: Schema, masks: Sequence[int]) -> list[int]:
    """Positions of the fields that a conjunction restricts."""
    return [at for at, full in enumerate(schema.full) if masks[at] != full]


def overlaps(one: Sequence[int], other: Sequence[int]) -> bool:
    """True when some event satisfies both conjunctions."""
    return all(map(and_, one, other))


class Ground:
    """The distinct events that a search runs on.

    Parameters
    ----------
    schema
        Schema of the codes.
    codes
        Shape (events, fields), int8; events may repeat.

    Attributes
    ----------
    place
        Position of each event among the distinct ones, shape (events,).
    size
        Number of distinct events.
    """

    def __init__(self, schema: Schema, codes: npt.NDArray[np.int8]):
        self.schema = schema
        codes, place = np.unique(codes, axis=0, return_inverse=True)
        self.place = place.ravel()
        self.index = ExampleIndex(schema, codes)
        self.size = len(codes)
        # `unknown` is left to a rule by a cut only where some example has it.
        self._usable = [
            full if (codes[:, at] == 0).any() else full & ~1 for at, full in enumerate(schema.full)
        ]
        sizes = [len(field.values) for field in schema.fields]
        self._begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self._starts: list[int] = self._begins.tolist()
        self._field = np.repeat(np.arange(len(sizes)), sizes)
        self._cells = np.zeros((sum(sizes), self.size))
        for at, start in enumerate(self._starts):
            self._cells[start + codes[:, at].astype(np.int64), np.arange(self.size)] = 1.0

    def gathered(self, weights: npt.NDArray[Any]) -> Weights:
        """Weights of events, shape (events,), as weights of the distinct ones, shape (size,)."""
        return np.asarray(np.bincount(self.place, weights, self.size), dtype=np.float64)

    def members(self, masks: Sequence[int]) -> npt.NDArray[np.bool_]:
        """The distinct events that a conjunction covers, as booleans."""
        return unpack(self.index.covered(masks), self.size)

    def utility(self, masks: Masks, aim: Aim) -> float:
        """Wanted weight less the cost of the unwanted and of the predicates."""
        members = self.members(masks).astype(np.float64)
        gain = float(aim.wanted @ members) - aim.cost * float(aim.unwanted @ members)
        return gain - PREDICATE_COST * len(constrained(self.schema, masks))

    def beam(
        self,
        aim: Aim,
        start: Masks | None = None,
        *,
        width: int = 6,
        depth: int = 4,
        pool: int = 8,
    ) -> list[Found]:
        """The most useful conjunctions, best first.

        Each level keeps `width` refinements by utility and half as many by information gain, which
        finds conjunctions whose single predicates look useless.

        Parameters
        ----------
        aim
            What to cover.
        start
            Conjunction to refine; everything when left out.
        width
            Refinements that go on, a level.
        depth
            Predicates added, at most.
        pool
            Conjunctions kept, a level.
        """
        edge = [start or self.schema.full]
        seen: set[Masks] = set(edge)
        found: list[Found] = []
        ahead = self._ahead(aim)
        for _ in range(depth):
            steps = self._refinements(edge, ahead)
            taken = set(seen)
            by_utility = steps.best(steps.utility, max(width, pool), taken)
            by_gain = steps.best(steps.gain, width // 2, set(seen))
            if not by_utility:
                break
            chosen = by_utility[:width] + by_gain
            seen.update(item.masks for item in (*by_utility, *by_gain))
            edge = list(dict.fromkeys(item.masks for item in chosen))
            found += by_utility[:pool]
        found.sort(key=lambda item: (-item.utility, item.masks))
        return found

    def _ahead(self, aim: Aim) -> _Ahead:
        """The events that weigh anything, alone where they are few: the rest adds nothing."""
        live = np.flatnonzero(aim.wanted + aim.unwanted)
        if len(live) > LIVELY * self.size:
            live = np.arange(self.size)
        cells = self._cells if len(live) == self.size else self._cells[:, live]
        weights = np.stack([aim.wanted[live], aim.unwanted[live]], axis=1)
        return _Ahead(live, cells, weights, aim.cost)

    def _refinements(self, edge: Sequence[Masks], ahead: _Ahead) -> _Steps:
        """Every refinement by one prefix of one field that sheds unwanted examples."""
        members = np.stack([self.members(masks)[ahead.live] for masks in edge], axis=1)
        weights = members[:, :, None] * ahead.weights[:, None, :]
        sums = ahead.cells @ weights.reshape(len(ahead.live), 2 * len(edge))
        right, wrong = np.ascontiguousarray(sums.T.reshape(len(edge), 2, -1).swapaxes(0, 1))
        first = len(self.schema.fields[0].values)
        total, missed = right[:, :first].sum(axis=1), wrong[:, :first].sum(axis=1)
        prior = missed / np.maximum(total + missed, 1e-9)
        present = right + wrong > 0.0
        share = np.where(present, (wrong + prior[:, None]) / (right + wrong + 1.0), 2.0)
        # Fields one after the other, in each the values from the best to the worst, then those
        # that no event has.
        order = np.argsort(share + 4.0 * self._field, axis=1, kind="stable")
        covered, shed = self._running(right, order), self._running(wrong, order)
        last = np.take_along_axis(present, order, axis=1)
        last[:, :-1] &= ~(last[:, 1:] & (self._field[1:] == self._field[:-1]))
        allowed = np.take_along_axis(present, order, axis=1) & ~last
        allowed &= (covered > 0.0) & (shed < missed[:, None]) & (total > 0.0)[:, None]
        open_ = np.array([[mask == full for mask, full in zip(masks, self.schema.full, strict=True)]
                          for masks in edge])  # fmt: skip
        price = PREDICATE_COST * ((~open_).sum(axis=1)[:, None] + open_[:, self._field])
        before = np.log2((total + 0.1) / (total + missed + 0.2))[:, None]
        after = np.log2((covered + 0.1) / (covered + shed + 0.2))
        utility = covered - ahead.cost * shed - price
        return _Steps(
            edge,
            order,
            self._field,
            self._starts,
            np.where(allowed, utility, -np.inf),
            np.where(allowed, covered * (after - before), -np.inf),
        )

    def _running(self, values: Weights, order: npt.NDArray[np.intp]) -> Weights:
        """Sums of the values of each field so far, in the given order."""
        sums = np.cumsum(np.take_along_axis(values, order, axis=1), axis=1)
        starts = self._begins[self._field]
        before = np.where(starts > 0, sums[:, starts - 1], 0.0)
        return np.asarray(sums - before)

    def repaired(self, masks: Masks, rivals: Sequence[Sequence[int]], aim: Aim) -> Masks | None:
        """The conjunction cut free of every rival, each on the field where that costs least.

        None when a cut would leave nothing.
        """
        for rival in rivals:
            if not overlaps(masks, rival):
                continue
            best: tuple[float, Masks] | None = None
            for at in constrained(self.schema, rival):
                rest = masks[at] & ~rival[at] & self._usable[at]
                if not rest:
                    continue
                cut = (*masks[:at], rest, *masks[at + 1 :])
                value = self.utility(cut, aim)
                if best is None or value > best[0]:
                    best = (value, cut)
            if best is None:
                return None
            masks = best[1]
        return masks
