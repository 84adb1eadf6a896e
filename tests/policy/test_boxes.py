"""Box algebra against sets of events."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vepa.policy import Rule, RuleIndex, Schema
from vepa.policy.boxes import (
    Budget,
    ExhaustedError,
    intersect,
    remainder,
    subtract,
    uncovered,
    volume,
)
from vepa.policy.schema import bits

SCHEMA = Schema(1, {"f": list("abc"), "g": list("ab"), "h": list("a")})
boxes = st.tuples(*(st.integers(1, full) for full in SCHEMA.full))


def points(box: tuple[int, ...]) -> set[tuple[int, ...]]:
    return set(itertools.product(*(bits(mask) for mask in box)))


@pytest.mark.property
@given(boxes, boxes)
def test_two_boxes(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    assert volume(one) == len(points(one))
    common = intersect(one, other)
    assert (points(common) if common else set()) == points(one) & points(other)
    parts = [points(part) for part in subtract(one, other)]
    assert set().union(*parts) == points(one) - points(other)
    assert sum(map(len, parts)) == len(set().union(*parts))


@pytest.mark.property
@given(boxes, st.lists(boxes, max_size=7), st.integers(0, 127))
def test_what_is_left_of_a_box(
    box: tuple[int, ...], others: list[tuple[int, ...]], among: int
) -> None:
    rules = [Rule.from_masks(SCHEMA, str(at), "allow", masks) for at, masks in enumerate(others)]
    index = RuleIndex(SCHEMA, rules)
    among &= index.all
    taken = set().union(*(points(others[at]) for at in bits(among)))
    used: set[int] = set()
    parts = [points(part) for part in remainder(index, box, among, Budget(10_000), used)]
    assert set().union(*parts) == points(box) - taken
    assert sum(map(len, parts)) == len(set().union(*parts))
    assert used <= set(bits(among))
    codes = uncovered(index, box, among)
    assert codes is None or codes in points(box) - taken


def test_a_budget_ends() -> None:
    rules = [Rule.from_masks(SCHEMA, "r", "allow", (1, 7, 3))]
    index = RuleIndex(SCHEMA, rules)
    budget = Budget(1)
    with pytest.raises(ExhaustedError):
        list(remainder(index, (15, 7, 3), 1, budget))
    assert (budget.left, budget.spent) == (0, 1)
