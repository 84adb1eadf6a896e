"""The hidden policy of a synthetic stream: rules of both decisions, free of conflicts.

The space of events is cut into boxes, one a rule and some for no rule. Then each box is widened
field by field as long as it meets no box of another kind. What is left are conjunctions of a few
predicates that overlap in all manners but those which a policy forbids, and regions that no rule
covers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vepa.bench.synth.draws import Dice
from vepa.errors import SettingError, Where
from vepa.policy.policy import Policy
from vepa.policy.rule import Rule, RuleDecision
from vepa.policy.schema import Schema, bits
from vepa.policy.verifier import verify

__all__ = ["Truth", "hidden_truth"]

Masks = tuple[int, ...]
#: A box for no rule stands beside this many rules.
_RULES_AN_OUTSIDE = 8
#: A rule keeps so many predicates: one alone would decide a whole field.
_PREDICATES = 2
_DECISIONS: tuple[RuleDecision, RuleDecision] = ("refuse", "allow")


@dataclass(frozen=True)
class Truth:
    """What a synthetic stream follows.

    Attributes
    ----------
    policy
        The hidden policy, verified; every rule is active.
    outside
        Boxes that no rule meets, one bit set of admitted codes a field.
    """

    policy: Policy
    outside: tuple[Masks, ...]


def hidden_truth(schema: Schema, rules: int, dice: Dice) -> Truth:
    """Draw a policy of `rules` rules.

    Raises
    ------
    SettingError
        When the schema has too few values for so many rules.
    """
    free = max(1, rules // _RULES_AN_OUTSIDE)
    boxes = dice.mixed(_boxes(schema, rules + free, rules, dice))
    outside = boxes[:free]
    kinds = [_DECISIONS[at % 2] for at in range(rules)]
    found = _widened(schema, boxes[free:], kinds, outside, dice)
    made = tuple(
        Rule.from_masks(schema, f"true-{at + 1}", kind, masks)
        for at, (kind, masks) in enumerate(zip(kinds, found, strict=True))
    )
    return Truth(verify(Policy(schema, made)).unwrap(), tuple(outside))


def _boxes(schema: Schema, count: int, rules: int, dice: Dice) -> list[Masks]:
    """The space cut into boxes; each still has values to tell apart, or is cut no further."""
    boxes: list[Masks] = [schema.full]
    while len(boxes) < count:
        usable = [at for at, box in enumerate(boxes) if _fields(box)]
        if not usable:
            raise SettingError(
                f"{rules} rules cannot be drawn over this schema",
                where=Where(field="rules"),
                remedy="ask for fewer rules, or take a schema with more fields and values",
            )
        # The larger of two: neither all alike, nor one side cut to pieces.
        at = max(dice.pick(usable), dice.pick(usable), key=lambda place: _size(boxes[place]))
        box = boxes.pop(at)
        field = dice.pick(_fields(box))
        known = dice.mixed(_known(box[field]))
        one = sum(1 << code for code in known[: 1 + dice.below(len(known) - 1)])
        boxes += [_with(box, field, one), _with(box, field, box[field] & ~one)]
    return boxes


def _widened(
    schema: Schema,
    boxes: Sequence[Masks],
    kinds: Sequence[RuleDecision],
    outside: Sequence[Masks],
    dice: Dice,
) -> list[Masks]:
    """Each box without the predicates that it can do without."""
    found = list(boxes)
    for at in dice.mixed(range(len(found))):
        rivals = [box for kind, box in zip(kinds, found, strict=True) if kind != kinds[at]]
        rivals += outside
        others = [
            box for place, box in enumerate(found) if kinds[place] == kinds[at] and place != at
        ]
        for field in dice.mixed(_predicates(schema, found[at])):
            if len(_predicates(schema, found[at])) <= _PREDICATES:
                break
            wider = _with(found[at], field, schema.full[field])
            if not any(_meet(wider, box) for box in rivals) and not any(
                _within(box, wider) or _within(wider, box) for box in others
            ):
                found[at] = wider
    return found


def _known(mask: int) -> list[int]:
    return bits(mask & ~1)


def _fields(box: Masks) -> list[int]:
    """The fields that a box can be cut along: two values beside `unknown`."""
    return [at for at, mask in enumerate(box) if (mask & ~1).bit_count() > 1]


def _predicates(schema: Schema, box: Masks) -> list[int]:
    return [at for at, whole in enumerate(schema.full) if box[at] != whole]


def _size(box: Masks) -> int:
    size = 1
    for mask in box:
        size *= mask.bit_count()
    return size


def _with(box: Masks, field: int, mask: int) -> Masks:
    return (*box[:field], mask, *box[field + 1 :])


def _meet(one: Masks, other: Masks) -> bool:
    return all(a & b for a, b in zip(one, other, strict=True))


def _within(one: Masks, other: Masks) -> bool:
    return all(not a & ~b for a, b in zip(one, other, strict=True))
