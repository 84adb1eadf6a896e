"""Canonical text: a second time changes nothing, decisions stay, comments are seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from making import policies

from vepa.policy import Policy, bundled_schema, load_policy
from vepa.policy.formatting import canonical_text, comment_line, is_json

SCHEMA = bundled_schema()


@pytest.mark.property
@given(policies())
def test_canonical_text_is_a_fixed_point_that_decides_alike(policy: Policy) -> None:
    for text in (policy.to_yaml(), policy.to_json()):
        once = canonical_text(text, "p", policy.schema)
        assert canonical_text(once, "p", policy.schema) == once
        assert is_json(once) is is_json(text)
        again = load_policy(once, schema=policy.schema)
        assert again.policy_hash == policy.policy_hash
        assert again == policy.canonical()
        assert comment_line(once) is None


def test_a_hand_written_file_gets_schema_unit_status_and_canonical_predicates() -> None:
    text = canonical_text(
        "rules: [{id: r, decision: refuse, when: {recipient: {not_in: [unknown, none, self]},"
        " injection: {in: [followed, followed]}}}]\npolicy: 1\n",
        "p",
        SCHEMA,
    )
    assert text == (
        "policy: 1\n"
        f"schema: {{version: 1, sha256: {SCHEMA.sha256}}}\n"
        "unit: trajectory\n"
        "rules:\n"
        "- id: r\n"
        "  decision: refuse\n"
        "  when:\n"
        "    injection: {in: [followed]}\n"
        "    recipient: {not_in: [none, self, unknown]}\n"
        "  status: active\n"
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\n", None),
        ("# x\na: 1\n", 1),
        ("a: 1 # x\n", 1),
        ("a: 1\n# x\n", 2),
        ("a:\n# x\n- 1\n", 2),
        ("a: [1, # x\n 2]\n", 1),
        ("a: 'x # y'\n", None),
        ('a: "x # y"\n', None),
        ("a: x#y\n", None),
        ("a: |\n  # not one\n  text\nb: 1\n", None),
        ("a: |  # one\n  # not one\nb: 1\n", 1),
        ("a: >-\n  # not one\nb: 1 # one\n", 3),
        ("a: |\n  text\n# one\nb: 1\n", 3),
        ('{"a": "# x"}', None),
        ("a: ü # ö\n", 1),
        ("a: 1", None),
    ],
)
def test_comments_are_told_from_signs_in_text(text: str, line: int | None) -> None:
    assert comment_line(text) == line
