"""Schemas are data: any schema file works, and a wrong one is told apart with its line."""

from __future__ import annotations

import pytest

from vepa.errors import EventError, SchemaError
from vepa.policy import CompiledPolicy, Schema, bundled_schema, load_policy, verify
from vepa.policy.schema import MAX_VALUES, UNKNOWN

THREE = """\
version: 7
fields:
  colour: [red, green]
  size:
    small: less than a hand
    large: more than a hand
  weight: [light, unknown, heavy]
"""


def test_the_bundled_schema_has_seventeen_fields() -> None:
    schema = bundled_schema()
    assert (len(schema), schema.version) == (17, 1)
    assert all(field.values[0] == UNKNOWN for field in schema.fields)
    assert schema["harm_domain"].descriptions["privacy"] == "privacy and confidentiality"


def test_another_schema_works_without_code() -> None:
    schema = Schema.parse(THREE, "three.yaml")
    assert schema.names == ("colour", "size", "weight")
    assert schema["weight"].values == ("unknown", "light", "heavy")
    assert schema["size"].descriptions["large"] == "more than a hand"
    policy = load_policy(
        "policy: 1\n"
        "rules:\n"
        "- {id: r, decision: refuse, when: {colour: {in: [red]}, size: {not_in: [small]}}}\n",
        schema=schema,
    )
    assert verify(policy).ok
    compiled = CompiledPolicy(policy)
    assert compiled.decide_fields({"colour": "red"}).verdict == "refuse"
    assert compiled.decide_fields({"colour": "red", "size": "small"}).verdict == "abstain"


def test_encode_and_decode_are_inverse_and_left_out_is_unknown() -> None:
    schema = Schema.parse(THREE)
    assert schema.encode({}) == (0, 0, 0)
    codes = schema.encode({"weight": "heavy", "colour": "red"})
    assert schema.decode(codes) == {"colour": "red", "size": "unknown", "weight": "heavy"}
    assert schema.encode(schema.decode(codes)) == codes


def test_the_hash_ignores_order_and_descriptions_and_nothing_else() -> None:
    one = Schema(1, {"a": ["x", "y"], "b": ["z"]})
    same = Schema(1, {"b": {"z": "last"}, "a": {"y": "", "x": "first", "unknown": ""}})
    assert one.sha256 == same.sha256
    assert one != same  # the codes differ
    assert one.sha256 != Schema(2, {"a": ["x", "y"], "b": ["z"]}).sha256
    assert one.sha256 != Schema(1, {"a": ["x"], "b": ["z"]}).sha256
    assert one.sha256 != Schema(1, {"a": ["x", "y"], "c": ["z"]}).sha256
    assert one.sha256 != Schema(1, {"a": ["x", "y"]}).sha256


@pytest.mark.parametrize(
    ("event", "field", "hint"),
    [
        ({"color": "red"}, "event.color", "did you mean 'colour'"),
        ({"colour": "rad"}, "event.colour", "did you mean 'red'"),
        ({"colour": 1}, "event.colour", "one of: unknown, red, green"),
        ({"colour": None}, "event.colour", "one of"),
        ({"colour": ["red"]}, "event.colour", "one of"),
        ({"colour": True}, "event.colour", "one of"),
        ({"colour": "red", "size": "small", "weight": "light", "x": "y"}, "event.x", "fields:"),
        ({"": "red"}, "event.", "fields:"),
    ],
)
def test_events_outside_the_schema_are_errors(
    event: dict[str, object], field: str, hint: str
) -> None:
    with pytest.raises(EventError) as caught:
        Schema.parse(THREE).encode(event)
    assert caught.value.where.field == field
    assert hint in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("version: 1\n", "missing", 1),
        ("fields: {a: [x]}\n", "missing", 1),
        ("version: 1\nfields: {}\n", "at least one belongs here", 2),
        ("version: 0\nfields: {a: [x]}\n", "greater than or equal to 1", 1),
        ("version: one\nfields: {a: [x]}\n", "whole number", 1),
        ("version: 1\nfields:\n  a: [x]\n  b: []\n", "1 to 125 values", 4),
        ("version: 1\nfields:\n  a: [unknown]\n", "1 to 125 values", 3),
        ("version: 1\nfields:\n  a: [x]\n  a: [y]\n", "duplicate key 'a'", 4),
        ("version: 1\nfields:\n  a: {x: '', x: ''}\n", "duplicate key 'x'", 3),
        ("version: 1\nfields:\n  a: [x, y, x]\n", "'x' is listed twice", 3),
        ("version: 1\nfields:\n  a: [no, x]\n", "a word belongs here, not false", 3),
        ("version: 1\nfields:\n  a: 5\n", "mapping", 3),
        ("version: 1\nfields:\n  a: {1: one}\n", "not a word", 3),
        ("version: 1\nfields:\n  '': [x]\n", "needs a name", 3),
        ("version: 1\nfields: {a: [x]}\nmore: 1\n", "not known here", 3),
        ("- version\n", "a mapping belongs here", 1),
        ("", "empty", 1),
        ("# nothing\n", "only comments", 1),
    ],
)
def test_wrong_schema_files_name_line_and_remedy(text: str, message: str, line: int) -> None:
    with pytest.raises(SchemaError, match=message) as caught:
        Schema.parse(text, "s.yaml")
    assert (caught.value.where.file, caught.value.where.line) == ("s.yaml", line)
    assert caught.value.remedy


def test_domains_are_bounded() -> None:
    Schema(1, {"a": [f"v{at}" for at in range(MAX_VALUES - 1)]})
    with pytest.raises(SchemaError):
        Schema(1, {"a": [f"v{at}" for at in range(MAX_VALUES)]})
