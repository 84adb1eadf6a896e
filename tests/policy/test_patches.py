"""Patches: what they make of a policy, their data form, and what cannot be applied."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import Maker

from vepa.errors import PolicyError
from vepa.policy import Edit, Patch, Policy, Rule, apply, bundled_schema, check_patch, edit_size

SCHEMA = bundled_schema()


def rule(name: str, value: str = "none", decision: Any = "allow") -> Rule:
    return Rule.build(SCHEMA, name, decision, {"recipient": {"in": [value]}})


PARENT = Policy(SCHEMA, (rule("a", "none"), rule("b", "self"), rule("c", "internal")))


def ids(policy: Policy) -> list[str]:
    return [rule.id for rule in policy.rules]


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (Edit("add", (), (rule("n", "public"),)), ["a", "b", "c", "n"]),
        (Edit("delete", ("b",)), ["a", "c"]),
        (Edit("rewrite", ("b",), (rule("n", "public"),)), ["a", "n", "c"]),
        (Edit("split", ("a",), (rule("m", "public"), rule("n", "external"))), ["m", "n", "b", "c"]),
        (Edit("merge", ("c", "a"), (rule("n", "public"),)), ["n", "b"]),
        (Edit("merge", ("b", "c"), (rule("n", "public"),)), ["a", "n"]),
    ],
)
def test_new_rules_stand_where_their_first_target_stood(edit: Edit, expected: list[str]) -> None:
    assert ids(apply(PARENT, Patch((edit,)))) == expected
    assert ids(PARENT) == ["a", "b", "c"]


def test_edits_apply_in_order_and_may_build_on_each_other() -> None:
    patch = Patch(
        (
            Edit("add", (), (rule("n", "public"),)),
            Edit("rewrite", ("n",), (rule("m", "public"),)),
            Edit("delete", ("a",)),
        )
    )
    assert ids(apply(PARENT, patch)) == ["b", "c", "m"]
    assert patch.operations == ("add", "rewrite", "delete")


@pytest.mark.parametrize(
    "edit",
    [
        Edit("add", (), ()),
        Edit("add", ("a",), (rule("n"),)),
        Edit("add", (), (rule("n"), rule("m"))),
        Edit("delete", ()),
        Edit("delete", ("a", "b")),
        Edit("delete", ("a",), (rule("n"),)),
        Edit("rewrite", ("a",), ()),
        Edit("rewrite", ("a", "b"), (rule("n"),)),
        Edit("split", ("a",), (rule("n"),)),
        Edit("split", (), (rule("n"), rule("m"))),
        Edit("merge", ("a",), (rule("n"),)),
        Edit("merge", ("a", "b"), ()),
    ],
)
def test_wrong_numbers_of_targets_or_rules_are_errors(edit: Edit) -> None:
    with pytest.raises(PolicyError, match=f"{edit.operation}: {len(edit.targets)} targets"):
        apply(PARENT, Patch((edit,)))
    found = check_patch(PARENT, Patch((edit,)))
    assert [item.code for item in found.feedback] == ["malformed"]
    with pytest.raises(PolicyError):
        Patch.from_dict(Patch((edit,)).to_dict(), SCHEMA)


def test_a_target_that_is_not_there_is_a_finding() -> None:
    patch = Patch((Edit("delete", ("ghost",)),))
    with pytest.raises(PolicyError, match="no such rule 'ghost'"):
        apply(PARENT, patch)
    (item,) = check_patch(PARENT, patch).feedback
    assert (item.code, "a, b, c" in str(item.remedy)) == ("unknown_id", True)


def test_a_target_named_twice_is_a_finding() -> None:
    patch = Patch((Edit("merge", ("a", "a"), (rule("n"),)),))
    assert [item.code for item in check_patch(PARENT, patch).feedback] == ["malformed"]


def test_a_candidate_in_conflict_is_a_finding_and_the_parent_stays() -> None:
    found = check_patch(PARENT, Patch((Edit("add", (), (rule("n", "self", "refuse"),)),)))
    assert [(item.code, item.rules) for item in found.feedback] == [("conflict", ("b", "n"))]
    twice = check_patch(PARENT, Patch((Edit("add", (), (rule("b", "public"),)),)))
    assert [item.code for item in twice.feedback] == ["duplicate_id"]


@pytest.mark.property
@given(st.integers(0, 2**32))
def test_patches_survive_json(seed: int) -> None:
    maker = Maker(SCHEMA, seed)
    edits = (
        Edit("add", (), (maker.rule(),)),
        Edit("delete", ("x",)),
        Edit("rewrite", ("x",), (maker.rule(),)),
        Edit("split", ("x",), (maker.rule(), maker.rule())),
        Edit("merge", ("x", "y"), (maker.rule(),)),
    )
    patch = Patch(edits, "why it is so – ü")
    again = Patch.from_dict(json.loads(json.dumps(patch.to_dict())), SCHEMA)
    assert again == patch


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "not a patch"),
        ({"edits": None}, "not a patch"),
        ({"edits": [1]}, "not a patch"),
        ({"edits": [{"operation": "explode"}]}, "'explode' is no operation"),
        ({"edits": [{"operation": ["add"]}]}, "patch"),
        ({"edits": [{"operation": "delete", "targets": "abc"}]}, "a list is expected"),
        ({"edits": [{"operation": "add", "rules": [{"id": "x"}]}]}, "missing"),
        (
            {
                "edits": [
                    {
                        "operation": "add",
                        "rules": [
                            {"id": "x", "decision": "allow", "when": {"moon": {"in": ["full"]}}}
                        ],
                    }
                ]
            },
            "no field 'moon'",
        ),
        (
            {
                "edits": [
                    {
                        "operation": "add",
                        "rules": [
                            {
                                "id": "x",
                                "decision": "allow",
                                "when": {"injection": {"in": ["maybe"]}},
                            }
                        ],
                    }
                ]
            },
            "'maybe' is not in the domain",
        ),
    ],
)
def test_data_that_is_no_patch_is_an_error(data: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Patch.from_dict(data, SCHEMA)


def test_edit_size_counts_rules_and_predicates_by_behaviour() -> None:
    assert edit_size(PARENT, PARENT) == 0
    renamed = PARENT.with_rules([rule("z", "none"), *PARENT.rules[1:]])
    assert edit_size(PARENT, renamed) == 0
    added = PARENT.with_rules([*PARENT.rules, rule("n", "public")])
    assert edit_size(PARENT, added) == edit_size(added, PARENT) == 2
    rewritten = PARENT.with_rules([rule("a", "public"), *PARENT.rules[1:]])
    assert edit_size(PARENT, rewritten) == 4
