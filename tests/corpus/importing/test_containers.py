"""Files of every kind, record by record: what is whole is kept, what is broken is told."""

from __future__ import annotations

import gc
import gzip
import io
import json
import os
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from vepa.corpus.importing import stream as streams
from vepa.corpus.importing.containers import BadRecord, Record, records
from vepa.errors import InputError

ROWS = [{"n": 1, "t": "Grüße"}, {"n": 2, "t": "美咲 🎉"}, {"n": 3, "t": "a\nb"}]


def put(folder: Path, name: str, data: bytes | str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def lines_of(rows=ROWS, end="\n"):
    return "".join(json.dumps(row, ensure_ascii=False) + end for row in rows)


def open_files():
    gc.collect()
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def read(path, *more, **named):
    found = list(records(path, *more, **named))
    good = [each for each in found if isinstance(each, Record)]
    bad = [each for each in found if isinstance(each, BadRecord)]
    return [each.data for each in good], bad, good


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(lines_of(), id="lines"),
        pytest.param(lines_of().rstrip("\n"), id="no newline at the end"),
        pytest.param(lines_of(end="\r\n"), id="CRLF"),
        pytest.param("\ufeff" + lines_of(), id="BOM"),
        pytest.param("\n\n" + lines_of(end="\n \n\n"), id="blank lines"),
        pytest.param(json.dumps(ROWS), id="array"),
        pytest.param("\ufeff\n" + json.dumps(ROWS), id="array with BOM"),
        pytest.param(json.dumps(ROWS, indent=2, ensure_ascii=False), id="pretty array"),
        pytest.param("[\n" + ",\n".join(map(json.dumps, ROWS)) + "\n]\n", id="array, item a line"),
        pytest.param("\r\n".join(json.dumps(ROWS, indent=1).splitlines()), id="array with CRLF"),
    ],
)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_the_same_records_however_they_are_kept(text, packed, tmp_path):
    data = text.encode()
    path = put(tmp_path, "rows.json", gzip.compress(data) if packed else data)
    rows, bad, good = read(path)
    assert (rows, bad) == (ROWS, [])
    assert [each.number for each in good] == [1, 2, 3]


def test_lines_know_their_line(tmp_path):
    _, _, good = read(put(tmp_path, "a.jsonl", "\n" + lines_of(end="\n\n")))
    assert [each.line for each in good] == [2, 4, 6]


def test_arrays_of_one_line_each_are_records(tmp_path):
    assert read(put(tmp_path, "a.jsonl", "[1, 2]\n[3]\n"))[0] == [[1, 2], [3]]
    assert read(put(tmp_path, "b.json", "[1, 2]\n"))[0] == [1, 2]


def test_a_pretty_printed_document_is_one_record(tmp_path):
    assert read(put(tmp_path, "a.json", json.dumps(ROWS[0], indent=2)))[0] == ROWS[:1]
    assert read(put(tmp_path, "b.json", json.dumps(ROWS, indent=2)), whole=True)[0] == [ROWS]


def test_a_first_line_of_any_length_is_a_line(tmp_path):
    rows = [{"t": "x" * (streams.AHEAD + 100)}, {"n": 2}]
    assert read(put(tmp_path, "a.jsonl", lines_of(rows)))[0] == rows
    assert read(put(tmp_path, "b.jsonl", lines_of(rows)), ("spans",))[0] == rows


# -- arrays within a document ----------------------------------------------------------------------


def test_an_array_within_a_document_is_streamed_with_what_stands_before(tmp_path):
    path = put(tmp_path, "a.json", json.dumps({"v": 1, "eval": {"m": "x"}, "samples": ROWS}))
    _, bad, good = read(path, ("runs", "samples"))
    assert [each.data for each in good] == ROWS
    assert not bad
    assert dict(good[2].head) == {"v": 1, "eval": {"m": "x"}}


@pytest.mark.parametrize(
    "document",
    [
        {"messages": [{"samples": [1, 2]}]},
        {"note": 'the key "samples" stands in a text', "n": 1},
        {"samples": {"not": "an array"}},
    ],
)
def test_a_key_elsewhere_in_the_document_is_no_array_of_records(document, tmp_path):
    for text in (json.dumps(document), json.dumps(document, indent=1)):
        assert read(put(tmp_path, "a.json", text), ("samples",))[0] == [document]


# -- folders and archives --------------------------------------------------------------------------


def test_a_folder_is_read_in_natural_order(tmp_path):
    for name in ("10.json", "9.json", "run2/1.jsonl", "run10/1.ndjson", "1.json.gz"):
        data = json.dumps({"name": name}).encode()
        put(tmp_path, name, gzip.compress(data) if name.endswith(".gz") else data)
    put(tmp_path, "notes.txt", "no JSON")
    put(tmp_path, ".hidden.json", "{}")
    rows, bad, good = read(tmp_path)
    assert not bad
    assert [row["name"] for row in rows] == [
        "1.json.gz", "9.json", "10.json", "run2/1.jsonl", "run10/1.ndjson",
    ]  # fmt: skip
    assert good[3].file == str(tmp_path / "run2" / "1.jsonl")


def test_an_archive_is_read_in_natural_order(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("10.json", "2.json", "read.me"):
            archive.writestr(name, json.dumps({"name": name}))
    rows, bad, good = read(tmp_path / "a.zip")
    assert ([row["name"] for row in rows], bad) == (["2.json", "10.json"], [])
    assert good[0].file == f"{tmp_path / 'a.zip'}!2.json"


def test_the_header_of_an_archive_of_samples_is_their_head(tmp_path):
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        archive.writestr("header.json", '{"status": "success"}')
        archive.writestr("samples/2_epoch_1.json", '{"id": 2}')
        archive.writestr("samples/1_epoch_1.json", '{"id": 1}')
    rows, _, good = read(tmp_path / "log.eval")
    assert rows == [{"id": 1}, {"id": 2}]
    assert good[0].head == {"status": "success"}


@pytest.mark.parametrize("broken", ["cut", "not JSON", "nothing", "damaged"])
def test_an_archive_that_cannot_be_read_is_told(broken, tmp_path):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        if broken != "nothing":
            archive.writestr("a.txt" if broken == "not JSON" else "a.json", '{"n": 1}' * 50)
    data = held.getvalue()
    if broken == "cut":
        data = data[:60]
    if broken == "damaged":
        data = data.replace(b'{"n": 1}', b'{"n": 2}', 1)  # its checksum does not fit
    if broken == "nothing":
        data = b"PK\x03\x04" + data
    path = put(tmp_path, "a.zip", data)
    if broken == "damaged":
        assert "CRC" in read(path)[1][0].error.message
        return
    with pytest.raises(InputError) as error:
        read(path)
    assert error.value.where.file == str(path)
    assert "archive" in error.value.message


# -- what is broken --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"n": 1,, "t": 2}', "malformed JSON"),
        (b'{"n": NaN}', "NaN is no JSON"),
        (b'{"t": "a\x00b"}', "binary"),
        (b'{"t": "\xff"}', "not UTF-8"),
        (b"[" * 200_000, "nested too deep"),
        (b"hello", "malformed JSON"),
    ],
)
@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_broken_line_costs_only_itself(line, says, at, tmp_path):
    rows = [row.encode() for row in lines_of().splitlines()]
    rows.insert(at, line)
    if at == 0 and not line.startswith(b"{"):
        rows[0], rows[1] = rows[1], rows[0]
        at = 1
    kept, bad, _ = read(put(tmp_path, "a.jsonl", b"\n".join(rows)))
    assert kept == ROWS
    [fault] = bad
    assert (fault.number, fault.line, fault.final) == (at + 1, at + 1, False)
    assert says in fault.error.message


@pytest.mark.parametrize(
    ("tail", "says"),
    [
        (b', {"n": 4', "the end is missing"),
        (b', {"n": }]', "after record 3"),
        (b', {"t": "\xff"}]', "UTF8"),
        (b', {"t": "\x00"}]', "invalid character"),
        (b"} ]", "after record 3"),
    ],
)
def test_what_stands_before_a_fault_in_an_array_is_kept(tail, says, tmp_path):
    data = json.dumps(ROWS).encode()[:-1] + tail
    rows, bad, _ = read(put(tmp_path, "a.json", data))
    assert rows == ROWS
    [fault] = bad
    assert (fault.number, fault.final) == (4, True)
    assert says in fault.error.message
    assert "\n" not in fault.error.message


def test_a_cut_gzip_file_keeps_what_came_before(tmp_path):
    text = lines_of([{"n": n, "noise": os.urandom(3000).hex()} for n in range(300)])
    path = put(tmp_path, "a.jsonl.gz", gzip.compress(text.encode())[:-1000])
    rows, bad, _ = read(path)
    assert 0 < len(rows) < 300
    assert bad[-1].final
    assert "cannot be read" in bad[-1].error.message
    assert bad[-1].number == len(rows) + 1


def test_a_damaged_gzip_file_is_told(tmp_path):
    data = bytearray(gzip.compress(os.urandom(5000).hex().encode()))
    data[200:260] = b"\x00" * 60
    _, bad, _ = read(put(tmp_path, "a.json.gz", bytes(data)))
    assert bad
    assert bad[-1].final


@pytest.mark.parametrize("data", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_told(data, tmp_path):
    rows, [fault], _ = read(put(tmp_path, "a.json", data))
    assert rows == []
    assert "empty" in fault.error.message


def test_a_path_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "gone.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no JSON file in this folder"):
        read(tmp_path / "empty")


# -- halves of characters --------------------------------------------------------------------------


def test_half_of_a_character_becomes_the_mark_for_it(tmp_path):
    text = r'{"a": "\ud83d", "b": "\ud83d\ude00", "c": "\\ud83d", "d": "\udc00x", "e": "\\\ud83d"}'
    wanted = {"a": "\ufffd", "b": "😀", "c": r"\ud83d", "d": "\ufffdx", "e": "\\\ufffd"}
    assert read(put(tmp_path, "a.jsonl", text + "\n" + text))[0] == [wanted, wanted]
    assert read(put(tmp_path, "a.json", f"[{text}]"))[0] == [wanted]
    assert read(put(tmp_path, "b.json", text.replace(", ", ",\n")))[0] == [wanted]


@pytest.mark.parametrize("escape", [r"\ud83d", r"\ud83d\ude00", r"\\ud83d", r"\\\\\ud83d"])
def test_escapes_across_the_borders_of_what_is_read_at_once(escape, tmp_path):
    wanted = json.loads(escape.join('""')).encode("utf-16", "surrogatepass").decode(
        "utf-16", "replace"
    )  # fmt: skip
    for shift in range(-13, 3):
        text = "x" * (64 * 1024 + shift - 2) + escape + " and more"
        path = put(tmp_path, "a.json", f'["{text}",\n"{escape}"]')
        assert read(path)[0] == [text.replace(escape, wanted), wanted], shift


# -- bounds ----------------------------------------------------------------------------------------


def test_a_line_that_is_too_long_is_refused_and_the_next_one_read(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "MAX_RECORD_BYTES", 1024 * 1024)
    long = json.dumps({"t": "x" * (3 * 1024 * 1024)})
    rows, [fault], _ = read(put(tmp_path, "a.jsonl", f'{{"n": 1}}\n{long}\n{{"n": 3}}\n'))
    assert rows == [{"n": 1}, {"n": 3}]
    assert (fault.number, fault.line) == (2, 2)
    assert fault.error.message == "a line of more than 1 MiB"


@pytest.mark.parametrize("form", ["array", "document"])
def test_a_record_that_is_too_large_is_refused(form, tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "MAX_RECORD_BYTES", 1024 * 1024)
    large = {"t": "x" * (3 * 1024 * 1024)}
    text = json.dumps([{"n": 1}, large] if form == "array" else {"a": large}, indent=1)
    rows, [fault], _ = read(put(tmp_path, "a.json", text))
    assert rows == ([{"n": 1}] if form == "array" else [])
    assert "one record of more than 1 MiB" in fault.error.message


def test_a_line_of_300_mb_is_refused_in_bounded_memory(tmp_path):
    path = put(tmp_path, "a.jsonl", '{"n": 1}\n')
    with open(path, "ab") as file:
        file.truncate(300 * 1024 * 1024)  # a hole, no room on the disk
        file.seek(0, os.SEEK_END)
        file.write(b'\n{"n": 3}\n')
    tracemalloc.start()
    try:
        rows, [fault], _ = read(path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert rows == [{"n": 1}, {"n": 3}]
    assert fault.error.message == "a line of more than 256 MiB"
    assert most < 2.1 * streams.MAX_RECORD_BYTES


@pytest.mark.parametrize("form", ["lines", "array", "gzip", "inside"])
def test_memory_does_not_grow_with_the_file(form, tmp_path):
    def peak(megabytes):
        path = tmp_path / f"{megabytes}.json"
        row = json.dumps({"n": 1, "t": "words and words " * 400}).encode()
        count = megabytes * 1024 * 1024 // len(row)
        opened = gzip.open(path, "wb", 1) if form == "gzip" else open(path, "wb")  # noqa: SIM115
        start = {"array": b"[", "inside": b'{"v": 1, "rows": ['}.get(form, b"")
        between = b",\n" if start else b"\n"
        with opened as file:
            file.write(start + row)
            for _ in range(count - 1):
                file.write(between + row)
            file.write({"array": b"]", "inside": b"]}"}.get(form, b""))
        gc.collect()
        tracemalloc.start()
        try:
            found = sum(isinstance(each, Record) for each in records(path, ("rows",)))
            return found, count, tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            path.unlink()

    small_found, small_count, small = peak(4)
    large_found, large_count, large = peak(16)
    assert (small_found, large_found) == (small_count, large_count)
    assert large < small + 256 * 1024


def test_files_are_closed_when_the_reader_stops_early(tmp_path):
    put(tmp_path, "in/a.jsonl", lines_of() * 50)
    put(tmp_path, "in/b.json.gz", gzip.compress(json.dumps(ROWS * 50).encode()))
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.writestr("a.json", json.dumps(ROWS * 50))
    for path in (tmp_path / "in", tmp_path / "in" / "b.json.gz", tmp_path / "c.zip"):
        before = open_files()
        reader = records(path)
        assert isinstance(next(reader), Record)
        assert open_files() > before
        reader.close()
        assert open_files() == before, path
