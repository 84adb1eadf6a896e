"""Scenarios: what events are drawn from, so that their fields hang together.

A scenario lies inside a rule of the hidden policy, or outside all of them. It prefers a value in
each field: some fields hardly ever have another one, some often do. Few scenarios are frequent and
many rare, so that events repeat and yet new ones keep coming.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vepa.bench.synth.draws import Dice
from vepa.bench.synth.truth import Masks, Truth
from vepa.policy.matching import ALLOW, REFUSE
from vepa.policy.schema import Schema, bits

__all__ = ["SLOTS", "Scenarios", "draw_scenarios"]

#: A value of a field is drawn as one of so many slots, by one byte.
SLOTS = 256
#: Slots of the preferred value of a field, by how settled the field is in the scenario.
_SETTLED = (254, 254, 254, 254, 252, 240, 192, 144)
#: Frequency of the scenario of rank r: as 1 / (r + this).
_FLAT = 1
_WHOLE = 1 << 40
#: Chances in `SLOTS` that an event outside all rules is to be refused: told by no field.
_UNSETTLED = (76, 180)

Weights = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Scenarios:
    """Scenarios of one kind: within rules, or outside of them.

    Attributes
    ----------
    values
        Code in each slot, int8, shape (fields, scenarios, `SLOTS`).
    refuse
        Slots (of `SLOTS`) in which the label is `refuse`, shape (scenarios,).
    early, late
        Cumulated frequencies, to draw a scenario at the begin and at the end, shape (scenarios,).
    """

    values: npt.NDArray[np.int8]
    refuse: npt.NDArray[np.int16]
    early: Weights
    late: Weights

    def __len__(self) -> int:
        return len(self.refuse)


def draw_scenarios(schema: Schema, truth: Truth, count: int, dice: Dice) -> tuple[Scenarios, ...]:
    """The scenarios within rules, and those outside of them.

    Parameters
    ----------
    schema, truth
        What events are to follow.
    count
        Scenarios within rules, at least; each rule has one.
    dice
        Source of the draws.
    """
    popular = [dice.mixed(range(1, len(field.values))) for field in schema.fields]
    homes = _homes(truth, count, dice)
    inside = [masks for masks, _ in homes]
    labels = [SLOTS * label for _, label in homes]
    low, high = _UNSETTLED
    beyond = [dice.pick(truth.outside) for _ in range(max(len(truth.outside), len(homes) // 8))]
    unsettled = [low + dice.below(high - low + 1) for _ in beyond]
    return (
        _scenarios(schema, inside, labels, popular, dice),
        _scenarios(schema, beyond, unsettled, popular, dice),
    )


def _homes(truth: Truth, count: int, dice: Dice) -> list[tuple[Masks, int]]:
    """The region and the label of each scenario, most frequent first; the decisions take turns."""
    sides = [
        [(rule.masks, code) for rule in dice.mixed(truth.policy.rules) if rule.decision == name]
        for name, code in (("refuse", REFUSE), ("allow", ALLOW))
    ]
    whole = max(count, 2 * max(map(len, sides)))
    return [sides[rank % 2][rank // 2 % len(sides[rank % 2])] for rank in range(whole)]


def _scenarios(
    schema: Schema, regions: list[Masks], refuse: list[int], popular: list[list[int]], dice: Dice
) -> Scenarios:
    values = np.empty((len(schema), len(regions), SLOTS), dtype=np.int8)
    for number, masks in enumerate(regions):
        for at, mask in enumerate(masks):
            values[at, number] = _slots(mask, popular[at], dice)
    ranks = list(range(len(regions)))
    return Scenarios(
        values, np.array(refuse, dtype=np.int16), _cumulated(ranks), _cumulated(dice.mixed(ranks))
    )


def _slots(mask: int, popular: list[int], dice: Dice) -> list[int]:
    """The codes of a field in one scenario: the preferred one, then others, ever fewer."""
    order = [code for code in popular if mask >> code & 1] or bits(mask)
    first = dice.skewed(order)
    rest = [code for code in dice.mixed(order) if code != first]
    if mask & 1 and first:
        rest.append(0)
    slots = [first] * (dice.pick(_SETTLED) if rest else SLOTS)
    for code in rest[:-1]:
        slots += [code] * ((SLOTS - len(slots) + 1) // 2)
    return slots + rest[-1:] * (SLOTS - len(slots))


def _cumulated(ranks: list[int]) -> Weights:
    return np.cumsum(np.array([_WHOLE // (rank + _FLAT) for rank in ranks], dtype=np.uint64))
