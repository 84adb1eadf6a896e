"""Reading and encoding events: held against the schema, every fault with its place."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from vepa.corpus import EventTable, read_events
from vepa.corpus.events import stream_events
from vepa.errors import EventError, InputError, UnitMismatchError
from vepa.policy import ABSTAIN, ALLOW, REFUSE, bundled_schema

SCHEMA = bundled_schema()


def write(path: Path, *lines: object) -> Path:
    path.write_text(
        "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    )
    return path


def test_a_file_becomes_a_table(tmp_path):
    path = write(
        tmp_path / "events.jsonl",
        {"id": "a", "label": "refuse", "event": {"injection": "followed", "domain": "legal"}},
        "",
        {"id": "b", "label": "allow", "event": {}, "meta": {"risk": 3}},
        {"injection": "none"},
    )
    table = read_events(path)
    assert table.ids == ("a", "b", "line-4")
    assert table.labels.tolist() == [REFUSE, ALLOW, ABSTAIN]
    assert table.meta == ({}, {"risk": 3}, {})
    assert table.codes.dtype == np.int8
    spelled = SCHEMA.decode(table.codes[0].tolist())
    assert {name: value for name, value in spelled.items() if value != "unknown"} == {
        "injection": "followed",
        "domain": "legal",
    }
    assert not table.codes[1].any()
    assert [record.id for record in stream_events(path)] == list(table.ids)


def test_records_and_file_give_the_same_table(tmp_path):
    event = {name: SCHEMA[name].values[-1] for name in reversed(SCHEMA.names)}
    path = write(tmp_path / "events.jsonl", {"id": "a", "event": event}, {"id": "b", "event": {}})
    table = read_events(path)
    assert table.sha256 == EventTable.from_records(stream_events(path), SCHEMA).sha256
    assert table.codes[0].tolist() == [len(field.values) - 1 for field in SCHEMA.fields]


@pytest.mark.parametrize(
    ("line", "field", "words"),
    [
        ('{"id": "a", "event": {"injection": "none", "injection": "none"}}', None, "duplicate key"),
        ({"id": "a", "event": {"injektion": "none"}}, "event.injektion", "no field"),
        ({"id": "a", "event": {"injection": "nun"}}, "event.injection", "not in the domain"),
        ({"id": "a", "event": {"injection": 3}}, "event.injection", "a word belongs here"),
        ({"id": "a", "event": {"injection": ["none"]}}, "event.injection", "a word belongs here"),
        ({"id": 1, "event": {}}, "id", "a word belongs here"),
        ({"id": "a", "event": {}, "labels": "allow"}, "labels", "not known here"),
        ("[1]", None, "not an object"),
        ('{"id": "a"', None, "malformed JSON"),
        ("[" * 100_000, None, "nested too deep"),
    ],
)
def test_a_faulty_line_is_named(tmp_path, line, field, words):
    path = write(tmp_path / "events.jsonl", {"id": "good", "event": {}}, line)
    with pytest.raises(EventError, match=words) as caught:
        read_events(path)
    assert caught.value.where.file == str(path)
    assert caught.value.where.line == 2
    assert caught.value.where.field == field
    assert caught.value.remedy


def test_ids_and_units_are_held_together(tmp_path):
    twice = write(tmp_path / "twice.jsonl", {"id": "a", "event": {}}, {"id": "a", "event": {}})
    with pytest.raises(EventError, match="occurs twice"):
        read_events(twice)
    units = write(
        tmp_path / "units.jsonl",
        {"id": "a", "event": {}},
        {"id": "b", "event": {}, "unit": "call"},
    )
    with pytest.raises(UnitMismatchError):
        read_events(units)
    with pytest.raises(InputError, match="no events"):
        read_events(write(tmp_path / "blank.jsonl", " "))


@pytest.mark.parametrize(
    "event",
    [{"injection": "nun"}, {"no_field": "none"}, {"injection": None}, {"injection": []}, {3: "x"}],
)
def test_an_event_outside_the_schema_is_refused(event):
    with pytest.raises(EventError):
        SCHEMA.encode(event)
