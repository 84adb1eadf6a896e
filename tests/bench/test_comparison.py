from __future__ import annotations

import pytest

from vepa.bench import comparison

LOOKUPS = {
    "forest": {"covered": 0.99, "full": 0.99},
    "lookup.scope": {"covered": 0.9, "full": 0.8},
    "lookup.tool_trust": {"covered": 0.8, "full": 0.85},
}

COVERED = "on the events that it covers {} against 0.900 of scope"
FULL = "on all events 0.840 against 0.850 of tool_trust"
ABOVE = "on all events 0.860 against 0.850 of tool_trust"


def summary(covered, full, baselines=LOOKUPS):
    return {"covered_macro_f1": covered, "full_macro_f1": full, "baselines": baselines}


@pytest.mark.parametrize(
    ("covered", "full", "told"),
    [
        (0.9, 0.84, f"not above the best single field: {COVERED.format('0.900')}, {FULL}."),
        (0.95, 0.84, f"not above the best single field: {FULL}."),
        (0.9, 0.86, f"not above the best single field: {COVERED.format('0.900')}."),
        (0.95, 0.86, f"above the best single field: {COVERED.format('0.950')}, {ABOVE}."),
    ],
)
def test_one_sentence_says_whether_the_policy_is_above_the_best_field(covered, full, told):
    assert comparison.standing(summary(covered, full)) == f"VEPA is {told}"


def test_nothing_is_said_of_fields_that_nobody_looked_up():
    assert comparison.standing(summary(0.9, 0.9, {"forest": LOOKUPS["forest"]})) is None
    assert comparison.best_field({}) is None


def test_the_best_field_depends_on_where_it_is_asked():
    assert comparison.best_field(LOOKUPS) == "scope"
    assert comparison.best_field(LOOKUPS, "full") == "tool_trust"


def test_both_kinds_of_errors_are_told_with_their_counts():
    found = {
        "allow": {"allow": 344, "refuse": 25},
        "refuse": {"allow": 0, "refuse": 321},
        "abstain": {"allow": 90, "refuse": 37},
    }
    assert comparison.errors_by_kind(found) == (
        "unsafe allowed 25 of 346 decided (7.2 %), safe refused 0 of 344"
    )


def test_names_and_numbers():
    assert comparison.method_name("lookup.scope") == "look-up on scope"
    assert comparison.method_name("hoeffding_tuned") == "Hoeffding tree, tuned"
    assert comparison.method_name("lookup") == "look-up"
    assert comparison.method_name("later") == "later"
    assert comparison.counted(1, "patch") == "1 patch"
    assert comparison.counted(2, "patch") == "2 patches"
    assert comparison.counted(0, "rule") == "0 rules"
