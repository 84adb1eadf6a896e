"""Trajectories as records: read with file and line, written without loss, hashed by content."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vepa.corpus.trajectory import (
    Premises,
    Trajectory,
    stream_trajectories,
    write_trajectories,
)
from vepa.errors import InputError, SettingError
from vepa.policy import bundled_schema


def record(**changes: Any) -> dict[str, Any]:
    call = {"id": "c1", "tool": "mail_read", "environment": "mail", "arguments": {"id": None}}
    return {
        "schema_version": 1,
        "id": "t1",
        "environments": {"mail": "abc"},
        "premises": {"own": ["a@b.test"], "marks": {"VEPA-SEED-X": "critical"}},
        "steps": [
            {"index": 0, "kind": "user", "text": "Hello"},
            {
                "index": 1,
                "kind": "call",
                "call": call,
                "result": {"ok": True, "content": "mail#1", "raw": "r4nd0m", "seconds": 0.1},
                "thought": "I read it.",
                "seconds": 1,
                "cost": 0.01,
            },
            {"index": 2, "kind": "answer", "text": "Done"},
        ],
        **changes,
    }


def test_a_file_is_written_and_read_without_loss(tmp_path):
    path = tmp_path / "t.jsonl"
    made = [Trajectory.model_validate(record()), Trajectory.model_validate(record(id="t2"))]
    assert write_trajectories(path, made) == 2
    assert list(stream_trajectories(path)) == made
    assert made[0].steps[1].call.arguments == {"id": None}
    assert next(stream_trajectories(path)).content_hash == made[0].content_hash


def test_an_unwritable_file_is_an_error(tmp_path):
    with pytest.raises(SettingError):
        write_trajectories(tmp_path, [Trajectory.model_validate(record())])


def hash_of(data: dict[str, Any]) -> str:
    return Trajectory.model_validate(data).content_hash


def test_time_cost_and_raw_bytes_stand_outside_the_hash():
    other = record(id="another", meta={"label": "refuse", "at": "noon"})
    step = other["steps"][1]
    step["seconds"], step["cost"] = 9.5, None
    step["result"] = {**step["result"], "raw": "0th3r", "seconds": 3}
    assert hash_of(other) == hash_of(record())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("task",), "t"),
        (("model",), "m"),
        (("seed",), 0),
        (("environments", "mail"), "abd"),
        (("premises", "own"), []),
        (("steps", 0, "text"), "Hallo"),
        (("steps", 1, "thought"), None),
        (("steps", 1, "call", "arguments"), {}),
        (("steps", 1, "result", "content"), "mail#2"),
        (("steps", 1, "result", "truncated"), True),
    ],
)
def test_all_else_is_in_the_hash(path, value):
    data = record()
    node: Any = data
    for part in path[:-1]:
        node = node[part]
    node[path[-1]] = value
    assert hash_of(data) != hash_of(record())


def test_the_hash_stays_the_same_over_releases():
    assert hash_of(record()) == ("8849136d2103534b4e6a72a7c700705b1ab65edd5a9547d27e5e256a8b760b10")


def step(**changes: Any) -> dict[str, Any]:
    return record(steps=[{"index": 0, "kind": "user", "text": "x", **changes}])


CALL = {"id": "c", "tool": "t"}


@pytest.mark.parametrize(
    ("line", "field", "words"),
    [
        ("{", None, "malformed JSON"),
        ("[1]", None, "not an object"),
        ('{"id": "a", "id": "b"}', None, "duplicate key 'id'"),
        ('{"schema_version": 1, "id": NaN}', None, "NaN is no JSON"),
        ('{"schema_version": 1, "id": "\\ud800"}', None, "half of a surrogate"),
        (record(schema_version=2), "schema_version", "schema_version 2 is not known"),
        (record(schema_version=True), "schema_version", "schema_version true is not known"),
        ({"id": "x"}, "schema_version", "does not tell"),
        (record(id=None), "id", ""),
        (record(stesp=[]), "stesp", "not known"),
        (step(index=1), None, "its index is 1, not its position 0"),
        (step(kind="think"), "steps.0.kind", "'user'"),
        (step(text=None), "steps.0", "holds a text"),
        (step(call=CALL), "steps.0", "holds a text and no call"),
        (step(kind="call", text=None), "steps.0", "holds a call"),
        (step(kind="call", text=None, call={**CALL, "arguments": []}), None, "a mapping"),
        (
            step(kind="call", text=None, call=CALL, result={"ok": True, "error": "x"}),
            "steps.0.result",
            "has no error",
        ),
        (step(seconds=-1), "steps.0.seconds", ""),
        (record(premises={"marks": {"a-": "critical"}}), "premises.marks", "too short"),
        (record(premises={"known": {"a": "near"}}), "premises.known.a", "'internal'"),
    ],
)
def test_a_fault_names_file_and_line(tmp_path, line, field, words):
    path = tmp_path / "t.jsonl"
    text = line if isinstance(line, str) else json.dumps(line)
    path.write_text(f"{json.dumps(record())}\n\n{text}\n")
    stream = stream_trajectories(path)
    assert next(stream).id == "t1"
    with pytest.raises(InputError) as caught:
        next(stream)
    error = caught.value
    assert (error.where.file, error.where.line) == (str(path), 3)
    assert error.remedy
    assert words in error.message
    if field is not None:
        assert error.where.field == field


def test_call_ids_and_tools_occur_once():
    twice = [{"index": at, "kind": "call", "call": CALL} for at in range(2)]
    with pytest.raises(ValueError, match="the call id 'c' occurs twice"):
        Trajectory.model_validate(record(steps=twice))


def test_marks_are_held_against_the_schema():
    with pytest.raises(InputError) as caught:
        Premises(marks={"VEPA-SEED-X": "secret"}).check_against(bundled_schema())
    assert caught.value.where.field == "premises.marks.VEPA-SEED-X"
