from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vepa.evolution.proposers.plan import moves
from vepa.policy.patches import OPERATIONS

sides = st.lists(st.tuples(st.sampled_from(["allow", "refuse"]), st.integers(0, 255)), max_size=7)


@pytest.mark.property
@given(sides, sides)
def test_every_rule_takes_part_in_exactly_one_edit_of_legal_size(old, new):
    found = moves(old, new)
    assert Counter(at for move in found for at in move.old) == Counter(range(len(old)))
    assert Counter(at for move in found for at in move.new) == Counter(range(len(new)))
    for move in found:
        least, most, few, many = OPERATIONS[move.operation]
        assert least <= len(move.old) <= most
        assert few <= len(move.new) <= many


@pytest.mark.property
@given(sides, sides)
def test_only_rules_that_decide_alike_are_versions_of_one_another(old, new):
    for move in moves(old, new):
        assert len({old[at][0] for at in move.old} | {new[at][0] for at in move.new}) == 1


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([], [("allow", 0b11)], [("add", (), (0,))]),
        ([("allow", 0b11)], [], [("delete", (0,), ())]),
        ([("allow", 0b1110)], [("allow", 0b0110)], [("rewrite", (0,), (0,))]),
        ([("allow", 0b11), ("allow", 0b1100)], [("allow", 0b1111)], [("merge", (0, 1), (0,))]),
        ([("allow", 0b1111)], [("allow", 0b11), ("allow", 0b1100)], [("split", (0,), (0, 1))]),
        ([("allow", 0b11)], [("refuse", 0b11)], [("delete", (0,), ()), ("add", (), (0,))]),
        ([("allow", 0b1)], [("allow", 0b10)], [("delete", (0,), ()), ("add", (), (0,))]),
        ([("allow", 0b111)], [("allow", 0b11100)], [("delete", (0,), ()), ("add", (), (0,))]),
        ([("allow", 0)], [("allow", 0)], [("delete", (0,), ()), ("add", (), (0,))]),
        (
            [("allow", 0b0011), ("allow", 0b1110)],
            [("allow", 0b1111), ("allow", 0b0110)],
            [("rewrite", (1,), (0,)), ("rewrite", (0,), (1,))],
        ),
        (
            [("allow", 0b0011), ("allow", 0b1100), ("allow", 0b0110)],
            [("allow", 0b1111), ("allow", 0b0110)],
            [("rewrite", (0,), (0,)), ("rewrite", (2,), (1,)), ("delete", (1,), ())],
        ),
    ],
)
def test_edits_by_what_is_covered_in_common(old, new, expected):
    found = [(move.operation, move.old, move.new) for move in moves(old, new)]
    assert sorted(found) == sorted(expected)
