"""Beam search for conjunctions over bit sets of examples.

A conjunction is a list of admissible sets, one a field. It grows by intersecting one field with a
*prefix*: the field's values sorted by their smoothed share of wrong examples, the best ones first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vepa.policy.bitsets import ExampleIndex
from vepa.policy.schema import bits

__all__ = ["Aim", "Found", "Weights", "beam", "constrained", "overlaps", "refinements", "repaired"]

Masks = tuple[int, ...]

#: Utility that one predicate must be worth.
PREDICATE_COST = 0.25


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of examples as binary planes: an example weighs the sum of the planes it is in.

    Attributes
    ----------
    planes
        (weight, bit set of examples), heaviest first.
    """

    planes: tuple[tuple[float, int], ...]

    def of(self, members: int) -> float:
        """Total weight of a set of examples."""
        return sum([weight * (members & plane).bit_count() for weight, plane in self.planes])

    def within(self, members: int) -> Weights:
        """The same weights, zero outside `members`."""
        return Weights(tuple([(weight, plane & members) for weight, plane in self.planes]))


@dataclass(frozen=True, slots=True)
class Aim:
    """What a conjunction should cover.

    Attributes
    ----------
    wanted, unwanted
        Weights of examples.
    cost
        Weight of `wanted` that a unit of `unwanted` outweighs (lambda).
    """

    wanted: Weights
    unwanted: Weights
    cost: float

    def utility(self, covered: int, predicates: int) -> float:
        """Wanted weight less the cost of the unwanted and of the predicates."""
        gain = self.wanted.of(covered)
        return gain - self.cost * self.unwanted.of(covered) - PREDICATE_COST * predicates

    def within(self, members: int) -> Aim:
        """The same aim over fewer examples."""
        return Aim(self.wanted.within(members), self.unwanted.within(members), self.cost)


@dataclass(frozen=True, slots=True)
class Found:
    """A conjunction with the examples that it covers and its utility."""

    masks: Masks
    covered: int
    utility: float


@dataclass(frozen=True, slots=True)
class _Step:
    foil: float
    utility: float
    masks: Masks
    covered: int


def constrained(index: ExampleIndex, masks: Sequence[int]) -> list[int]:
    """Positions of the fields that a conjunction restricts."""
    return [at for at, full in enumerate(index.schema.full) if masks[at] != full]


def overlaps(one: Sequence[int], other: Sequence[int]) -> bool:
    """True when some event satisfies both conjunctions."""
    return all(a & b for a, b in zip(one, other, strict=True))


def refinements(index: ExampleIndex, masks: Masks, covered: int, aim: Aim) -> Iterator[_Step]:
    """Every refinement of a conjunction by one prefix of one field that sheds unwanted examples."""
    local = aim.within(covered)
    total, wrong = local.wanted.of(covered), local.unwanted.of(covered)
    if not total or not wrong:
        return
    prior = wrong / (total + wrong)
    before = math.log2((total + 0.1) / (total + wrong + 0.2))
    predicates = len(constrained(index, masks)) + 1
    for at, having in enumerate(index.having):
        ranked = []
        for code in bits(masks[at]):
            good = local.wanted.of(having[code])
            bad = local.unwanted.of(having[code])
            if good or bad:
                ranked.append(((bad + prior) / (good + bad + 1.0), code, good, bad))
        ranked.sort()
        kept = 0
        good_sum = bad_sum = 0.0
        for _, code, good, bad in ranked[:-1]:
            kept |= 1 << code
            good_sum += good
            bad_sum += bad
            if good_sum and bad_sum < wrong - 1e-9:
                after = math.log2((good_sum + 0.1) / (good_sum + bad_sum + 0.2))
                yield _Step(
                    good_sum * (after - before),
                    good_sum - aim.cost * bad_sum - PREDICATE_COST * predicates,
                    (*masks[:at], kept, *masks[at + 1 :]),
                    covered & index.with_values(at, kept),
                )


def beam(
    index: ExampleIndex,
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
    start
        Conjunction to refine; everything when left out.
    depth
        Predicates added, at most.
    pool
        Conjunctions kept a level.
    """
    first = start or index.schema.full
    edge = [(first, index.covered(first))]
    seen: set[Masks] = {first}
    found: list[Found] = []
    for _ in range(depth):
        steps: list[_Step] = []
        for masks, covered in edge:
            for step in refinements(index, masks, covered, aim):
                if step.masks not in seen:
                    seen.add(step.masks)
                    steps.append(step)
        if not steps:
            break
        by_utility = sorted(steps, key=lambda step: (-step.utility, step.masks))
        by_gain = sorted(steps, key=lambda step: (-step.foil, step.masks))
        chosen = {step.masks: step for step in by_utility[:width] + by_gain[: width // 2]}
        edge = [(step.masks, step.covered) for step in chosen.values()]
        found += [Found(step.masks, step.covered, step.utility) for step in by_utility[:pool]]
    found.sort(key=lambda item: (-item.utility, item.masks))
    return found


def repaired(
    index: ExampleIndex, masks: Masks, rivals: Sequence[Sequence[int]], aim: Aim
) -> Masks | None:
    """The conjunction cut free of every rival, each on the field where that costs least.

    None when a cut would leave nothing.
    """
    for rival in rivals:
        if not overlaps(masks, rival):
            continue
        best: tuple[float, Masks] | None = None
        for at in constrained(index, rival):
            rest = masks[at] & ~rival[at]
            if not rest:
                continue
            cut = (*masks[:at], rest, *masks[at + 1 :])
            value = aim.utility(index.covered(cut), len(constrained(index, cut)))
            if best is None or value > best[0]:
                best = (value, cut)
        if best is None:
            return None
        masks = best[1]
    return masks
