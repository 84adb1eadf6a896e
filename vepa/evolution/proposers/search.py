"""Beam search for conjunctions over weighted examples.

A conjunction is a tuple of admissible sets, one a field. It grows by intersecting one field with a
*prefix*: the field's values sorted by their smoothed share of wrong examples, the best ones first.
Weights are multiples of a power of two, so their sums are exact in any order on any machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vepa.policy.bitsets import ExampleIndex, unpack
from vepa.policy.schema import Schema, bits

__all__ = ["Aim", "Found", "Ground", "Masks", "constrained", "overlaps"]

Masks = tuple[int, ...]
Weights = npt.NDArray[np.float32]

#: Utility that one predicate must be worth.
PREDICATE_COST = 0.25


@dataclass(frozen=True, slots=True)
class Aim:
    """What a conjunction should cover.

    Attributes
    ----------
    wanted, unwanted
        Weight of each example, shape (examples,).
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
class _Step:
    gain: float
    utility: float
    masks: Masks


def constrained(schema: Schema, masks: Sequence[int]) -> list[int]:
    """Positions of the fields that a conjunction restricts."""
    return [at for at, full in enumerate(schema.full) if masks[at] != full]


def overlaps(one: Sequence[int], other: Sequence[int]) -> bool:
    """True when some event satisfies both conjunctions."""
    return all(a & b for a, b in zip(one, other, strict=True))


class Ground:
    """The examples that a search runs on.

    Parameters
    ----------
    schema
        Schema of the codes.
    codes
        Shape (examples, fields), int8.
    """

    def __init__(self, schema: Schema, codes: npt.NDArray[np.int8]):
        self.schema = schema
        self.index = ExampleIndex(schema, codes)
        self.size = len(codes)
        # `unknown` is left to a rule by a cut only where some example has it.
        self._usable = [
            full if (codes[:, at] == 0).any() else full & ~1 for at, full in enumerate(schema.full)
        ]
        sizes = [len(field.values) for field in schema.fields]
        self._starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).tolist()
        self._cells = np.zeros((sum(sizes), self.size), dtype=np.float32)
        for at, start in enumerate(self._starts):
            self._cells[start + codes[:, at].astype(np.int64), np.arange(self.size)] = 1.0

    def members(self, masks: Sequence[int]) -> npt.NDArray[np.bool_]:
        """The examples that a conjunction covers, as booleans."""
        return unpack(self.index.covered(masks), self.size)

    def utility(self, masks: Masks, aim: Aim) -> float:
        """Wanted weight less the cost of the unwanted and of the predicates."""
        members = self.members(masks)
        gain = float(aim.wanted[members].sum()) - aim.cost * float(aim.unwanted[members].sum())
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
        for _ in range(depth):
            steps = []
            for step in self._refinements(edge, aim):
                if step.masks not in seen:
                    seen.add(step.masks)
                    steps.append(step)
            if not steps:
                break
            by_utility = sorted(steps, key=lambda step: (-step.utility, step.masks))
            by_gain = sorted(steps, key=lambda step: (-step.gain, step.masks))
            chosen = by_utility[:width] + by_gain[: width // 2]
            edge = list(dict.fromkeys(step.masks for step in chosen))
            found += [Found(step.masks, step.utility) for step in by_utility[:pool]]
        found.sort(key=lambda item: (-item.utility, item.masks))
        return found

    def _refinements(self, edge: Sequence[Masks], aim: Aim) -> Iterator[_Step]:
        """Every refinement by one prefix of one field that sheds unwanted examples."""
        members = np.stack([self.members(masks) for masks in edge], axis=1).astype(np.float32)
        good = (self._cells @ (members * aim.wanted[:, None])).T.tolist()
        bad = (self._cells @ (members * aim.unwanted[:, None])).T.tolist()
        for masks, wanted, unwanted in zip(edge, good, bad, strict=True):
            yield from self._prefixes(masks, wanted, unwanted, aim.cost)

    def _prefixes(
        self, masks: Masks, wanted: list[float], unwanted: list[float], cost: float
    ) -> Iterator[_Step]:
        first = len(self.schema.fields[0].values)
        total, wrong = sum(wanted[:first]), sum(unwanted[:first])
        if not total or not wrong:
            return
        prior = wrong / (total + wrong)
        before = math.log2((total + 0.1) / (total + wrong + 0.2))
        restricted = set(constrained(self.schema, masks))
        for at, start in enumerate(self._starts):
            price = PREDICATE_COST * len(restricted | {at})
            ranked = []
            for code in bits(masks[at]):
                right, false = wanted[start + code], unwanted[start + code]
                if right or false:
                    ranked.append(((false + prior) / (right + false + 1.0), code, right, false))
            ranked.sort()
            kept = 0
            covered = missed = 0.0
            for _, code, right, false in ranked[:-1]:
                kept |= 1 << code
                covered += right
                missed += false
                if covered and missed < wrong:
                    after = math.log2((covered + 0.1) / (covered + missed + 0.2))
                    yield _Step(
                        covered * (after - before),
                        covered - cost * missed - price,
                        (*masks[:at], kept, *masks[at + 1 :]),
                    )

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
