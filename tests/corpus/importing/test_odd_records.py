"""Traces in every container, pipes, and values that JSON can spell and no record can hold."""

from __future__ import annotations

import gzip
import json
import os
import threading
import zipfile
from types import SimpleNamespace

import pytest
from hand_written import imported, traces, write_record

from vepa.corpus.importing import Import, reading
from vepa.corpus.importing import containers as containers_of
from vepa.corpus.trajectory import stream_trajectories, write_trajectories
from vepa.errors import InputError

_OBJECTS = [each for each in traces() if isinstance(each.record, dict)]
_CONTAINERS = {
    "line": lambda record: json.dumps(record) + "\n",
    "pretty": lambda record: json.dumps(record, indent=1),
    "array": lambda record: json.dumps([record]),
    "pretty array": lambda record: json.dumps([record], indent=1),
}


@pytest.mark.parametrize("container", sorted(_CONTAINERS))
@pytest.mark.parametrize("format", sorted({each.format for each in _OBJECTS}))
def test_a_trace_is_found_out_in_every_container(container, format, tmp_path):
    for trace in (each for each in _OBJECTS if each.format == format):
        wanted, _ = imported(write_record(tmp_path / "x.json", trace.record), format)
        file = write_record(tmp_path / "x.json", _CONTAINERS[container](trace.record))
        found, report = imported(file)
        assert (report.format, report.told) == (format, []), str(trace)
        assert found == wanted, str(trace)


def test_a_pipe_is_read_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="format of a pipe"):
        list(Import(pipe))
    line = json.dumps({"messages": [{"role": "user", "content": "hi"}]}) + "\n"
    writer = threading.Thread(target=lambda: pipe.write_text(line * 3), daemon=True)
    writer.start()
    assert len(list(Import(pipe, "openai-chat"))) == 3
    writer.join(10)
    assert not writer.is_alive()


def chat(arguments, **more):
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    said = [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": [call]}]
    return {"messages": said, **more}


def deep(levels):
    return '{"a":' * levels + "1" + "}" * levels


def test_half_of_a_character_in_the_text_of_arguments_becomes_the_mark_for_it(tmp_path):
    file = write_record(tmp_path / "x.json", chat(r'{"a": "x\ud83d", "b": "\\ud83d\ud83d\ude00"}'))
    found, _ = imported(file)
    assert found[0].steps[1].call.arguments == {"a": "x\ufffd", "b": "\\ud83d😀"}
    write_trajectories(tmp_path / "out.jsonl", found)
    assert list(stream_trajectories(tmp_path / "out.jsonl")) == found


def test_what_is_nested_as_deep_as_may_be_comes_back(tmp_path):
    found, _ = imported(write_record(tmp_path / "x.json", chat(deep(200))))
    write_trajectories(tmp_path / "out.jsonl", found)
    assert list(stream_trajectories(tmp_path / "out.jsonl")) == found


@pytest.mark.parametrize(
    ("record", "field", "says"),
    [
        (json.dumps(chat(deep(201))), "steps.1.call.arguments", "deeper than 200"),
        (json.dumps(chat("{}"))[:-1] + ', "metadata": {"x": 1e999}}', "meta", "no JSON"),
    ],
)
def test_what_no_file_could_hold_is_skipped_and_the_rest_is_kept(record, field, says, tmp_path):
    good = json.dumps(chat("{}"))
    found, report = imported(write_record(tmp_path / "x.jsonl", f"{good}\n{record}\n{good}\n"))
    assert len(found) == 2
    [skipped] = report.told
    assert (skipped.line, skipped.field) == (2, field)
    assert says in skipped.message


def test_the_head_of_an_archive_has_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(containers_of, "_MOST_HEAD", 100)
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        archive.writestr("header.json", json.dumps({"a": "x" * 200}))
        archive.writestr("samples/1_epoch_1.json", '{"id": 1}')
    with pytest.raises(InputError, match="a head of more than") as error:
        list(containers_of.records(tmp_path / "log.eval"))
    assert error.value.where.file == f"{tmp_path / 'log.eval'}!header.json"


def test_output_of_a_shell_that_is_no_text_is_kept_as_json(tmp_path):
    said = [{"stdout": [1], "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
    items = [
        {"role": "user", "content": "Fix it."},
        {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": "s", "output": said},
    ]
    found, report = imported(write_record(tmp_path / "x.json", items), "openai-responses")
    assert report.told == []
    assert found[0].steps[1].result.content == "[1]"


def test_metadata_that_is_not_kept_is_counted(tmp_path):
    metadata = {"team": "blue", "labels": ["x"], "empty": None, "user_api_key_hash": "k"}
    found, report = imported(write_record(tmp_path / "x.json", chat("{}", metadata=metadata)))
    assert found[0].meta == {"metadata": {"team": "blue"}}
    assert dict(report.notes.unknown) == {"metadata.labels": 1}
    _, report = imported(write_record(tmp_path / "x.json", chat("{}", metadata=["x"])))
    assert dict(report.notes.unknown) == {"metadata": 1}


def test_a_folder_of_files_with_a_record_each_takes_time_by_their_number(tmp_path):
    for number in range(1500):
        write_record(tmp_path / f"{number}.json", chat("{}"))
    digests = 0
    made = reading.hashlib.blake2b

    def counted(*arguments, **more):
        nonlocal digests
        digests += 1
        return made(*arguments, **more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reading, "hashlib", SimpleNamespace(blake2b=counted))
        found, report = imported(tmp_path)
    ids = [each.id.rpartition("/")[2] for each in found]
    assert ids == ["1", *(f"1~{number}" for number in range(2, 1501))]
    assert report.notes.remarks["id used twice, a number was added"] == 1499
    assert digests < 4 * 1500


def test_a_file_of_a_folder_that_cannot_be_opened_costs_only_itself(tmp_path):
    for name in ("a.json", "c.json"):
        write_record(tmp_path / name, chat("{}"))
    (tmp_path / "b.zip.json").write_bytes(b"PK\x03\x04 no archive")
    found, report = imported(tmp_path)
    assert len(found) == 2
    [skipped] = report.told
    assert skipped.file == str(tmp_path / "b.zip.json")
    assert "archive" in skipped.message
    with pytest.raises(InputError, match="archive"):
        list(Import(tmp_path / "b.zip.json"))


def test_an_archive_without_a_header_is_read_as_a_whole(tmp_path):
    with zipfile.ZipFile(tmp_path / "runs.zip", "w") as archive:
        for name in ("samples/1.json", "others/2.json"):
            archive.writestr(name, json.dumps(chat("{}")))
    found, report = imported(tmp_path / "runs.zip")
    assert (len(found), report.records) == (2, 2)


def test_files_with_gzip_within_an_archive_are_read(tmp_path):
    line = json.dumps(chat("{}")).encode() + b"\n"
    with zipfile.ZipFile(tmp_path / "runs.zip", "w") as archive:
        archive.writestr("a.jsonl.gz", gzip.compress(line * 2))
        archive.writestr("b.json.gz", line)
        archive.writestr("c.jsonl", line)
    found, report = imported(tmp_path / "runs.zip")
    assert len(found) == 3
    [skipped] = report.told
    assert skipped.file == f"{tmp_path / 'runs.zip'}!b.json.gz"
    assert "gzip" in skipped.message
