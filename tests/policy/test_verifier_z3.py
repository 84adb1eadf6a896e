"""Overlap of rule pairs of the real schema against an SMT solver."""

from __future__ import annotations

import pytest
import z3
from making import Maker
from naive import matches

from vepa.policy import Policy, Rule, bundled_schema, conflicts, witness

SCHEMA = bundled_schema()
#: In every run of the tests, and in the long one.
FEW, MANY = 500, 10_000


def variables() -> list[z3.BitVecRef]:
    """One small bit vector a field; its value is the code."""
    return [z3.BitVec(field.name, 5) for field in SCHEMA.fields]


def satisfied(rule: Rule, event: list[z3.BitVecRef]) -> list[z3.BoolRef]:
    """The rule's own words as constraints, field by field, `in` and `not_in` as they stand."""
    clauses = []
    for name, predicate in rule.when.items():
        at = SCHEMA.index[name]
        listed = z3.Or([event[at] == SCHEMA[name].codes[value] for value in predicate.values])
        clauses.append(listed if predicate.operator == "in" else z3.Not(listed))
    return clauses


def pairs(maker: Maker, number: int) -> list[tuple[Rule, Rule, bool]]:
    """Pairs of an allow and a refuse rule; every other one is disjoint by exactly one field."""
    made = []
    while len(made) < number:
        one, other = maker.rule("allow", 6), maker.rule("refuse", 6)
        masks = list(other.masks)
        for at, mask in enumerate(one.masks):
            if not masks[at] & mask:  # no other field may part them
                masks[at] |= mask
        apart = len(made) % 2 == 0
        if apart:
            at = maker.random.choice(
                [at for at, full in enumerate(SCHEMA.full) if one.masks[at] != full]
            )
            outside = SCHEMA.full[at] & ~one.masks[at]
            masks[at] = masks[at] & outside or outside
        parted = sum(not mask & rival for mask, rival in zip(one.masks, masks, strict=True))
        assert parted == apart
        made.append((one, Rule.from_masks(SCHEMA, other.id, "refuse", masks), not apart))
    return made


@pytest.mark.parametrize("number", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_pairs_overlap_exactly_when_z3_says_so(number: int) -> None:
    maker = Maker(SCHEMA, 20_240)
    event = variables()
    solver = z3.SolverFor("QF_BV")
    for at, field in enumerate(SCHEMA.fields):
        solver.add(z3.ULT(event[at], len(field.values)))
    overlapping = 0
    for one, other, meant in pairs(maker, number):
        solver.push()
        solver.add(*satisfied(one, event), *satisfied(other, event))
        overlaps = solver.check() == z3.sat
        solver.pop()
        found = list(conflicts(SCHEMA, (one, other)))
        assert bool(found) is overlaps is meant
        common = witness(SCHEMA, one.masks, other.masks)
        assert (common is not None) is overlaps
        if common is not None:
            overlapping += 1
            assert found[0].witness == common
            assert all(matches(rule.to_dict(), common) for rule in (one, other))
    assert overlapping == number // 2


def test_two_sides_of_a_policy_are_compared_and_one_side_is_not() -> None:
    maker = Maker(SCHEMA, 3)
    one = maker.rule("allow")
    twin = Rule.from_masks(SCHEMA, "twin", "allow", one.masks)
    assert not list(conflicts(SCHEMA, Policy(SCHEMA, (one, twin)).rules))
