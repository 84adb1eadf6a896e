"""Whole files: which format they have, what becomes of each record, and what is told."""

from __future__ import annotations

import gc
import io
import json
import sys
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import pytest
from hand_written import told

from vepa.corpus.importing import AUTO, FORMATS, Import, format_of, read_traces
from vepa.errors import InputError, SettingError


def chat(text, **more):
    return {"messages": [{"role": "user", "content": text}], **more}


CLAUDE = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "a", "name": "ls", "input": {}}],
}
GOOD = [chat("one"), chat("two"), chat("three")]


def put(path: Path, rows, end="\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + end for r in rows))
    return path


def texts(source):
    return [told(step) for each in source for step in each.steps]


# -- which format ----------------------------------------------------------------------------------


def test_the_format_is_found_out_and_told(tmp_path):
    source = Import(put(tmp_path / "a.jsonl", GOOD))
    assert [each.format for each in source] == ["openai-chat"] * 3
    assert (source.report.format, source.report.records, source.report.trajectories) == (
        "openai-chat", 3, 3,
    )  # fmt: skip


def test_broken_and_strange_records_before_the_first_good_one_do_not_hide_the_format(tmp_path):
    source = Import(put(tmp_path / "a.jsonl", ['{"broken', {"x": 1}, *GOOD]))
    assert texts(source) == ["user: one", "user: two", "user: three"]
    assert (source.report.format, source.report.skipped) == ("openai-chat", 2)


def test_a_bare_array_is_told_by_any_of_its_first_turns(tmp_path):
    turns = [{"role": "user", "content": "list"}, CLAUDE]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(turns))
    source = Import(path)
    assert texts(source) == ["user: list", "call ls {}"]
    assert (source.report.format, source.report.records) == ("anthropic", 1)


def test_lines_that_are_bare_arrays(tmp_path):
    rows = [GOOD[0]["messages"], GOOD[1]["messages"]]
    source = Import(put(tmp_path / "a.jsonl", rows))
    assert texts(source) == ["user: one", "user: two"]
    assert source.report.format == "openai-chat"


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{"b": 1, "a": 2}], r"no known format of traces \(the first record has \['a', 'b'\]\)"),
        ([7, 8], "malformed|no known format"),
        (["{", "]"], "malformed JSON"),
        ([], "the file is empty"),
    ],
)
def test_a_file_of_no_known_format_is_told(rows, says, tmp_path):
    path = put(tmp_path / "a.jsonl", rows)
    with pytest.raises(InputError, match=says) as error:
        list(Import(path))
    assert error.value.where.file == str(path)
    assert error.value.exit_code == 2


def test_a_format_that_does_not_exist_is_told_with_the_nearest():
    with pytest.raises(SettingError, match="there is no format 'openai-chad'") as error:
        Import("a.jsonl", "openai-chad")
    assert "openai-chat" in error.value.remedy


def test_every_format_has_a_name_and_a_title():
    assert AUTO not in FORMATS
    for name in FORMATS:
        assert (format_of(name).name, bool(format_of(name).title)) == (name, True)


@pytest.mark.parametrize(
    "value", [None, 7, "text", [], {}, [[]], [None], {"messages": None}, {"messages": [None]},
    {"input": None}, {"request": 5, "response": []}, {"output": [1]}, {"type": 3}, {"content": {}},
    {"steps": 1, "schema_version": 1}, {"trajectory": []}, {"role": {}}, {"role": [], "content": 1},
    {"messages": [{"role": [], "content": "a"}]}, {"type": [], "role": "user"}, {"model": {}},
    {"input": [{"type": {}}]}, {"tools": [1], "messages": [{"role": "user", "content": []}]},
    {"type": {}, "sessionId": []}, {"response": {"body": []}}, {"result": {"type": []}},
])  # fmt: skip
@pytest.mark.parametrize("name", list(FORMATS))
def test_strange_values_are_refused_in_words_by_every_format(name, value, tmp_path):
    """Recognising raises nothing, reading nothing but `InputError`."""
    kind = format_of(name)
    assert kind.recognise(value) in (True, False)
    assert kind.recognise_turn(value) in (True, False)
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(value) + "\n" + json.dumps(value) + "\n")
    source = Import(path, name)
    found = list(source)
    assert source.report.skipped + len(found) > 0 or not value


@pytest.mark.parametrize(
    ("event", "name"),
    [
        ({"object": "chat.completion.chunk", "choices": [{"delta": {}}]}, "openai-chat"),
        ({"type": "content_block_delta", "index": 0, "delta": {}}, "anthropic"),
    ],
)
def test_events_of_a_stream_are_known_and_refused_in_words(event, name, tmp_path):
    source = Import(put(tmp_path / "a.jsonl", [event, event]))
    assert list(source) == []
    assert (source.report.format, source.report.skipped) == (name, 2)
    assert "an event of a stream" in source.report.told[0].message
    assert "events are not joined" in source.report.told[0].remedy


# -- records that do not fit -----------------------------------------------------------------------


def test_bad_records_are_skipped_counted_and_told_in_their_place(tmp_path):
    bad = {"messages": [{"role": "user", "content": 5}]}
    path = put(tmp_path / "a.jsonl", [GOOD[0], "", bad, '{"messages": [', GOOD[1]])
    source = Import(path)
    assert texts(source) == ["user: one", "user: two"]
    report = source.report
    assert (report.records, report.trajectories, report.skipped) == (4, 2, 2)
    assert [(s.record, s.line, s.field) for s in report.told] == [
        (2, 3, "messages.0.content"), (3, 4, None),
    ]  # fmt: skip
    assert str(report.told[0]).startswith(f"{path}, record 2, line 3, messages.0.content: a word")


def test_strict_stops_at_the_first_bad_record(tmp_path):
    path = put(tmp_path / "a.jsonl", [GOOD[0], {"messages": []}, GOOD[1]])
    source = iter(Import(path, strict=True))
    assert told(next(source).steps[0]) == "user: one"
    with pytest.raises(InputError) as error:
        next(source)
    where = error.value.where
    assert (where.file, where.line, where.field) == (str(path), 2, "messages")
    assert error.value.message == "record 2: no messages"
    assert error.value.exit_code == 2
    with pytest.raises(InputError):
        list(read_traces(path))
    assert len(list(read_traces(path, strict=False))) == 2


def test_a_record_of_another_format_is_skipped_and_told(tmp_path):
    path = put(tmp_path / "a.jsonl", [*GOOD, {"messages": [CLAUDE]}, {"model": "m", "x": 1}])
    source = Import(path)
    assert len(list(source)) == 3
    first, second = source.report.told
    assert "a record of anthropic in a file that is read as openai-chat" in first.message
    assert "neither messages nor an answer" in second.message


def test_many_bad_records_are_counted_and_the_first_hundred_told(tmp_path):
    source = Import(put(tmp_path / "a.jsonl", [GOOD[0], *[{"messages": []}] * 250]))
    assert len(list(source)) == 1
    assert (source.report.skipped, len(source.report.told)) == (250, 100)
    assert source.report.as_json()["skipped"] == 250


def test_a_record_that_is_nested_too_deep_is_skipped(tmp_path):
    deep = '{"messages": [{"role": "tool", "content": [' + "[" * 5000 + "]" * 5000 + "]}]}"
    call = '{"a": ' * 3000 + "1" + "}" * 3000
    calls = [{"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": call}}]}]
    for rows in ([deep, GOOD[0]], [GOOD[0], deep, GOOD[1]], [GOOD[0], {"messages": calls}]):
        source = Import(put(tmp_path / "a.json", [f"[{', '.join(map(_text, rows))}]"]))
        found = texts(source)
        assert "user: one" in found
        assert source.report.skipped + len(found) == len(rows)


def _text(row):
    return row if isinstance(row, str) else json.dumps(row)


def test_a_broken_array_keeps_what_came_before(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(GOOD)[:-20])
    source = Import(path)
    assert texts(source) == ["user: one", "user: two"]
    assert source.report.skipped == 1
    assert "after record 2: the end is missing" in source.report.told[0].message


def test_one_broken_file_of_a_folder_does_not_hide_the_others(tmp_path):
    put(tmp_path / "in" / "1.json", [""])
    put(tmp_path / "in" / "2.json", ["{"])
    put(tmp_path / "in" / "3.json", [GOOD[0]])
    put(tmp_path / "in" / "10.json", [GOOD[1]])
    source = Import(tmp_path / "in")
    assert texts(source) == ["user: one", "user: two"]
    assert [Path(each.file).name for each in source.report.told] == ["1.json", "2.json"]


# -- ids -------------------------------------------------------------------------------------------


def test_ids_are_the_sources_own_or_the_number(tmp_path):
    rows = [chat("a", id="x"), chat("b"), chat("c", custom_id="y")]
    path = put(tmp_path / "my traces (1).jsonl", rows)
    assert [each.id for each in Import(path)] == ["my-traces-1/x", "my-traces-1/2", "my-traces-1/y"]
    assert [each.id for each in Import(path, dataset="d")] == ["d/x", "d/2", "d/y"]


def test_ids_that_repeat_get_a_number(tmp_path):
    source = Import(put(tmp_path / "a.jsonl", [chat("a", id="x")] * 3 + [chat("b", id="x~2")]))
    assert [each.id for each in source] == ["a/x", "a/x~2", "a/x~3", "a/x~2~2"]
    assert source.report.notes.remarks == {"id used twice, a number was added": 3}


def test_several_files_can_share_their_ids(tmp_path):
    taken: set[bytes] = set()
    found = []
    for folder in ("x", "y"):
        path = put(tmp_path / folder / "a.jsonl", [chat("t")])
        found += [each.id for each in Import(path, ids=taken)]
    assert found == ["a/1", "a/1~2"]


# -- standard input, memory, closing ---------------------------------------------------------------


def test_standard_input_needs_its_format(monkeypatch):
    with pytest.raises(InputError, match="standard input") as error:
        list(Import("-"))
    assert "--format" in error.value.remedy
    data = io.BytesIO(json.dumps(GOOD).encode())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=data))
    source = Import("-", "openai-chat")
    assert [(each.id, told(each.steps[0])) for each in source] == [
        ("stdin/1", "user: one"), ("stdin/2", "user: two"), ("stdin/3", "user: three"),
    ]  # fmt: skip
    assert not data.closed
    assert source.report.file == "<stdin>"


def test_memory_does_not_grow_with_the_file(tmp_path):
    def peak(megabytes):
        path, row = tmp_path / "a.jsonl", json.dumps(chat("words and words " * 800)) + "\n"
        count = megabytes * 1024 * 1024 // len(row)
        with open(path, "w") as file:
            file.writelines(row for _ in range(count))
        source = Import(path)
        iterator = iter(source)
        next(iterator)
        gc.collect()
        tracemalloc.start()
        try:
            found = 1 + sum(1 for _ in iterator)
            return found == count, tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    whole, small = peak(5)
    whole_too, large = peak(50)
    assert whole
    assert whole_too
    # An id takes about a hundred bytes of the set that finds those used twice.
    assert large < small + 1024 * 1024


def test_files_are_closed_when_the_iterator_stops_early(tmp_path):
    path = put(tmp_path / "a.jsonl", GOOD * 2000)
    gc.collect()
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    source = iter(Import(path))
    next(source)
    source.close()
    gc.collect()
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) == before
