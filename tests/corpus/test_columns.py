"""Events as int8 columns on disk: the same events, and every fault with file, field and remedy."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import polars
import pytest

from vepa.corpus import EventTable, read_events
from vepa.corpus.columns import read_columns, read_notes, write_columns, write_events
from vepa.corpus.events import stream_events
from vepa.errors import EventError, InputError, SettingError
from vepa.policy import Schema, bundled_schema
from vepa.project import package_content

BUNDLED = package_content() / "data" / "rjudge_dev.events.jsonl"
SMALL = Schema(1, {"id": ["red", "green"], "label": ["small", "large", "huge"]})


def table(size: int = 50, schema: Schema = SMALL, unit: str = "step") -> EventTable:
    """Every code and every label; one event has an annotation."""
    rng = np.random.default_rng(1)
    codes = np.stack([rng.integers(0, len(f.values), size) for f in schema.fields], axis=1)
    labels = rng.integers(-1, 2, size).astype(np.int8)
    meta = tuple({"task": "tä"} if at == 3 else {} for at in range(size))
    return EventTable(
        schema, tuple(f"é/{at}" for at in range(size)), codes.astype(np.int8), labels, unit, meta
    )


def same(one: EventTable, other: EventTable) -> bool:
    return one.sha256 == other.sha256 and one.meta == other.meta


@pytest.mark.parametrize("name", ["events.parquet", "events.jsonl"])
def test_what_is_written_is_read_again(tmp_path, name):
    events, path = table(), tmp_path / name
    write_events(events, path)
    assert same(read_events(path, SMALL), events)
    records = list(stream_events(path, SMALL, unit="step"))
    assert same(EventTable.from_records(records, SMALL), events)


def test_bundled_events_in_both_forms(tmp_path):
    events = read_events(BUNDLED)
    for name in ("a.parquet", "a.jsonl"):
        write_events(events, tmp_path / name)
        assert same(read_events(tmp_path / name), events)


def test_a_column_a_field_and_no_meta_where_there_is_none(tmp_path):
    path = tmp_path / "e.parquet"
    write_columns(replace(table(), meta=()), path, {"seed": 3})
    frame = polars.read_parquet(path)
    assert frame.columns == ["id", "label", "event.id", "event.label"]
    assert set(frame.dtypes[1:]) == {polars.Int8}
    assert read_columns(path, SMALL).meta == ()
    assert read_notes(path) == {"seed": 3}
    again = path.read_bytes()
    write_columns(replace(table(), meta=()), path, {"seed": 3})
    assert path.read_bytes() == again


def rewritten(path: Path, change=lambda frame: frame, head=lambda head: head) -> Path:
    """The file as somebody else might have left it."""
    known = json.loads(polars.read_parquet_metadata(path)["vepa.events"])
    buffer = io.BytesIO()
    change(polars.read_parquet(path)).write_parquet(
        buffer, metadata={"vepa.events": json.dumps(head(known))}
    )
    path.write_bytes(buffer.getvalue())
    return path


def set_at(name: str, value: object):
    def change(frame: polars.DataFrame) -> polars.DataFrame:
        values = frame[name].to_list()
        values[7] = value
        return frame.with_columns(polars.Series(name, values, dtype=frame[name].dtype))

    return change


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        (lambda f: f.drop("event.label"), "event.label", "missing"),
        (lambda f: f.drop("id"), "id", "missing"),
        (lambda f: f.with_columns(more=1), "more", "does not have"),
        (lambda f: f.cast({"event.id": polars.Int64}), "event.id", "Int8 is expected"),
        (lambda f: f.head(0), None, "no events"),
        (lambda f: f.reverse(), None, "another hash"),
        (set_at("event.label", 4), "event.label", "é/7' has the code 4"),
        (set_at("event.id", -1), "event.id", "code -1"),
        (set_at("label", 2), "label", "code 2"),
        (set_at("label", None), "label", "gaps"),
        (set_at("id", "é/3"), "id", "'é/3' occurs twice"),
        (set_at("meta", "[1]"), "meta", "no JSON object"),
        (set_at("event.id", 0), None, "another hash"),
    ],
)
def test_a_changed_column_is_named(tmp_path, change, field, words):
    events = table()
    events.codes[7] = 1
    write_columns(events, tmp_path / "e.parquet")
    path = rewritten(tmp_path / "e.parquet", change)
    with pytest.raises(EventError, match=words) as caught:
        read_events(path, SMALL)
    assert (caught.value.where.file, caught.value.where.field) == (str(path), field)
    assert caught.value.remedy


def test_another_schema_and_another_order_of_values(tmp_path):
    path = tmp_path / "e.parquet"
    write_columns(table(), path)
    with pytest.raises(EventError, match=r"knows no field 'id'") as caught:
        read_events(path)
    assert caught.value.where.field == "vepa.events.schema"
    assert "--schema" in str(caught.value)
    turned = Schema(1, {"id": ["green", "red"], "label": ["small", "large", "huge"]})
    assert turned.sha256 == SMALL.sha256
    with pytest.raises(EventError, match="another order") as caught:
        read_events(path, turned)
    assert caught.value.where.field == "event.id"
    rewritten(path, head=lambda head: {**head, "unit": "day"})
    with pytest.raises(EventError, match="head is none of events") as caught:
        read_events(path, SMALL)
    assert caught.value.where.field == "vepa.events.unit"


@pytest.mark.slow
def test_whatever_bytes_change_it_is_the_same_table_or_an_error(tmp_path):
    path, events, random = tmp_path / "e.parquet", table(300), Random(0)
    write_columns(events, path)
    data, refused = path.read_bytes(), 0
    for _ in range(600):
        changed = bytearray(data)
        for _ in range(random.choice([1, 1, 3, 20])):
            changed[random.randrange(len(data))] = random.randrange(256)
        path.write_bytes(changed)
        try:
            assert read_events(path, SMALL).sha256 == events.sha256
        except InputError:
            refused += 1
    assert refused > 300


@pytest.mark.parametrize("where", ["begin", "middle", "end", "all"])
def test_a_damaged_file_is_no_traceback(tmp_path, where):
    path = tmp_path / "e.parquet"
    write_columns(table(2_000), path)
    data = path.read_bytes()
    half = len(data) // 2
    path.write_bytes(
        {
            "begin": data[:half],
            "middle": data[:half] + b"\xff" * 64 + data[half + 64 :],
            "end": data[:-40] + b"\x00" * 40,
            "all": b"no parquet at all",
        }[where]
    )
    with pytest.raises(EventError) as caught:
        read_events(path, SMALL)
    assert caught.value.where.file == str(path)
    assert caught.value.remedy


def test_files_that_are_not_there_or_of_others(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_events(tmp_path / "none.parquet")
    (tmp_path / "d.parquet").mkdir()
    with pytest.raises(InputError, match="folder"):
        read_events(tmp_path / "d.parquet")
    polars.DataFrame({"a": [1]}).write_parquet(tmp_path / "o.parquet")
    with pytest.raises(EventError, match="without a head"):
        read_events(tmp_path / "o.parquet")
    with pytest.raises(SettingError, match=r"ends with \.parquet"):
        write_columns(table(), tmp_path / "e.jsonl")
    with pytest.raises(SettingError, match="cannot be written"):
        write_events(table(), tmp_path / "d.parquet")


def test_a_failed_write_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "e.parquet"
    write_columns(table(), path)
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "no room")))
    with pytest.raises(SettingError, match="no room"):
        write_columns(table(20), path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["e.parquet"]


def test_the_schema_of_the_project_is_the_default(tmp_path):
    events = table(schema=bundled_schema(), unit="trajectory")
    write_columns(events, tmp_path / "e.parquet")
    assert same(read_events(tmp_path / "e.parquet"), events)
