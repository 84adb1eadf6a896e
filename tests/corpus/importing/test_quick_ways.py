"""The quick ways through a large file give what the exact ones give, or leave it to them."""

from __future__ import annotations

import json
import random
import re

import pytest
from pydantic import ValidationError

from vepa.corpus.importing.draft import Draft
from vepa.corpus.importing.formats import actions
from vepa.corpus.importing.formats.openai_chat_records import Asked
from vepa.corpus.importing.grouping import Gathered
from vepa.corpus.importing.record import record_of
from vepa.corpus.importing.report import Foreign, Notes
from vepa.corpus.trajectory import Call, Result, Step, Trajectory
from vepa.errors import InputError
from vepa.files import canonical_json, plainly_json

NUMBERS = [
    "-0", "-0.0", "1e5", "1E-7", "0.1", "1e999", "4.9e-324", "9007199254740993.0",
    "18446744073709551616", "-9223372036854775809", "1" * 400, "123456789012345678901.5e-10",
]  # fmt: skip


# -- records ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_are_read_as_json_reads_them(text):
    found = record_of(text.encode(), "a")
    assert (type(found), repr(found)) == (type(json.loads(text)), repr(json.loads(text)))


def test_floats_are_read_to_the_last_digit():
    pick = random.Random(5)
    texts = [f"{pick.uniform(-1, 1):.{pick.randint(1, 30)}f}e{pick.randint(-320, 300)}"
             for _ in range(2000)]  # fmt: skip
    assert record_of(f"[{','.join(texts)}]".encode(), "a") == list(map(float, texts))


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'{"a": 1, "b": 2, "a": 3}', {"a": 3, "b": 2}),
        (rb'"\ud83d\ude00 \u0000"', "\U0001f600 \0"),
        (rb'"cut \ud83d"', "cut \ufffd"),
        (b'\xef\xbb\xbf["a"]\r\n', ["a"]),
        (b"[" * 300 + b"]" * 300, None),
    ],
)
def test_what_the_quick_reader_refuses_is_read_by_the_exact_one(raw, value):
    assert record_of(raw, "a") == (json.loads(raw) if value is None else value)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"[1,]", "malformed JSON: Expecting value (column"),
        (b"[NaN]", "NaN is no JSON"),
        (b"[-Infinity]", "-Infinity is no JSON"),
        (b'"\xff"', "not UTF-8"),
        (b'"\x00"', "binary"),
        (b"[" * 100_000, "nested too deep"),
    ],
)
def test_what_both_refuse_is_told_by_the_exact_one(raw, says):
    with pytest.raises(InputError, match=re.escape(says)):
        record_of(raw, "a", 2)


# -- arguments -------------------------------------------------------------------------------------


def _nested(depth, leaf):
    return leaf if depth == 0 else {"a": [_nested(depth - 1, leaf)]}


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -1,
        1.5,
        "ü",
        [],
        {},
        {"a": [{"b": None}]},
        _nested(10, "x"),
        _nested(90, 1),
    ],
)
def test_arguments_that_are_json_are_taken(value):
    canonical_json({"x": value})
    assert Call(id="1", tool="t", arguments={"x": value}).arguments == {"x": value}


@pytest.mark.parametrize(
    "value",
    [float("inf"), float("nan"), {1, 2}, b"x", object(), [{"a": float("-inf")}], {b"k": 1},
     10**5000, _nested(90, float("inf"))],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_arguments_that_are_no_json_are_refused_however_they_are_nested(value):
    assert not plainly_json({"x": [value]})
    with pytest.raises(ValidationError, match="the arguments are no JSON"):
        Call(id="1", tool="t", arguments={"x": [value]})


# -- drafts ----------------------------------------------------------------------------------------


def test_a_draft_is_what_its_parts_make_one_by_one():
    draft = Draft(Notes(), id="d")
    draft.offer("look", "d", {"type": "object"})
    draft.instruct("be kind")
    draft.user("hi", speaker="ann")
    draft.call("look", '{"a": [1, 2.5, null]}', id="c", thought="t", seconds=1)
    draft.result("none", id="c", ok=False, error="not_found", seconds=2)
    draft.answer("bye", cost=0.5)
    draft.label, draft.marked, draft.meta = "allow", 1, {"k": [1]}
    call = Call(id="c", tool="look", arguments={"a": [1, 2.5, None]})
    result = Result(ok=False, content="none", error="not_found", seconds=2)
    made = Trajectory(
        id="x/d",
        system="be kind",
        offered=[{"name": "look", "description": "d", "parameters": {"type": "object"}}],
        steps=[
            Step(index=0, kind="user", text="hi", speaker="ann"),
            Step(index=1, kind="call", call=call, result=result, thought="t", seconds=1),
            Step(index=2, kind="answer", text="bye", cost=0.5),
        ],
        label="allow",
        marked=1,
        format="openai-chat",
        meta={"k": [1]},
    )
    found = draft.finish("x/d", "openai-chat")
    assert found == made
    assert found.content_hash == made.content_hash
    assert found.model_dump_json(exclude_none=True) == made.model_dump_json(exclude_none=True)


def test_a_fault_of_a_draft_is_told_with_its_step():
    draft = Draft(Notes(), id="d")
    draft.user("hi")
    draft.call("look", {"n": float("inf")})
    with pytest.raises(ValidationError) as told:
        draft.finish("x/d", "openai-chat")
    assert told.value.errors()[0]["loc"] == ("steps", 1, "call", "arguments")


def test_trajectories_share_no_default():
    one, other = (Trajectory(id=name) for name in "ab")
    for name in ("environments", "tools", "offered", "steps", "meta", "premises"):
        assert getattr(one, name) is not getattr(other, name)
    assert one.premises.own is not other.premises.own


# -- unknown keys ----------------------------------------------------------------------------------


class _Leaf(Foreign):
    unused = frozenset({"type"})
    text: str = ""


class _Tree(Foreign):
    leaf: _Leaf | None = None
    either: str | list[_Leaf | str] | None = None
    rows: list[list[_Leaf]] | None = None
    anything: object = None


def test_unknown_keys_are_found_wherever_pieces_may_stand():
    leaf = {"type": "x", "odd": 1}
    tree = _Tree.model_validate(
        {"leaf": leaf, "either": [leaf, "a"], "rows": [[leaf], []], "anything": leaf, "own": 2},
        strict=False,
    )
    notes = Notes()
    notes.extras(tree, "at.")
    assert dict(notes.unknown) == {
        "at.own": 1, "at.leaf.odd": 1, "at.either[].odd": 1, "at.rows[][].odd": 1,
    }  # fmt: skip


def test_unknown_keys_of_a_request_are_counted_at_every_depth():
    call = {"id": "1", "function": {"name": "f", "arguments": "{}", "odd": 1}}
    asked = {"messages": [{"role": "assistant", "content": None, "tool_calls": [call], "new": 1}]}
    notes = Notes()
    notes.extras(Asked.model_validate(asked))
    assert dict(notes.unknown) == {
        "messages[].new": 1, "messages[].tool_calls[].function.odd": 1,
    }  # fmt: skip


# -- pieces and actions ----------------------------------------------------------------------------


def test_pieces_come_back_as_they_were_kept():
    deep = _nested(300, 1)
    pieces = [deep, "half \ud83d", {"a": [1e22, 10**30, 0.1, True, None, "ü\u2028"]}]
    with Gathered() as gathered:
        for number, each in enumerate(pieces):
            gathered.add("key", each, number)
        ((_, _, found),) = gathered.groups()
    assert found == pieces


def _exact(text):
    data = actions._literal(text)
    return data if isinstance(data, dict) and actions._is_json(data) else None


def test_plain_dictionaries_of_python_are_read_as_literals_are():
    pick = random.Random(3)
    leaves = ["1", "-0", "-0.0", "1e5", "1e999", "00", "True", "None", "true", "1_0", "''",
              "'a b'", "'é{'", "'}:'", "'#'", "'\n'", "'\x0b'", "b'x'", "'\ud83d'", "'a' 'b'",
              "('x')", "['a', 1]", "{'b': [2]}", "[1,]"]  # fmt: skip
    quick = 0
    for _ in range(3000):
        pairs = (
            f"'k{pick.randint(0, 2)}': {pick.choice(leaves)}" for _ in range(pick.randint(1, 3))
        )
        text = "{" + ", ".join(pairs) + "}"
        found = actions._plain_literal(text)
        if found is not None:
            quick += 1
            assert repr(found) == repr(_exact(text)), text
    assert quick > 300
