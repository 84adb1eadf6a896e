"""`vepa import` as people run it: exit codes, streams, files that are whole or not there."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vepa.cli import main

COMMAND = [sys.executable, "-m", "vepa", "import"]


def chat(text):
    return {"messages": [{"role": "user", "content": text}]}


def process(*arguments, stdin=None):
    """The command as a process of its own."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], input=stdin, capture_output=True, timeout=120,
        check=False,
    )  # fmt: skip


@pytest.fixture
def vepa_import(capsysbinary):
    """The command in this process, with the bytes that it writes."""

    def run(*arguments):
        capsysbinary.readouterr()
        code = main(["import", *map(str, arguments)])
        return subprocess.CompletedProcess(arguments, code, *capsysbinary.readouterr())

    return run


def rows(data):
    return [json.loads(line) for line in data.splitlines()]


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.jsonl"
    path.write_text("".join(json.dumps(chat(each)) + "\n" for each in ("one", "zwei ü", "三")))
    return path


@pytest.fixture
def mixed(tmp_path):
    path = tmp_path / "mixed.jsonl"
    lines = [chat("one"), {"messages": [{"role": "usher"}]}, {**chat("two"), "mood": "calm"}]
    path.write_text("".join(json.dumps(each) + "\n" for each in lines) + "{broken\n")
    return path


def test_trajectories_go_to_stdout_and_what_became_of_the_records_to_stderr(good):
    done = process(good)
    assert done.returncode == 0, done.stderr
    assert [(row["id"], row["steps"][0]["text"]) for row in rows(done.stdout)] == [
        ("good/1", "one"), ("good/2", "zwei ü"), ("good/3", "三"),
    ]  # fmt: skip
    assert f"{good} (openai-chat): 3 records, 3 trajectories" in done.stderr.decode()


def test_bad_records_are_skipped_with_exit_code_1(vepa_import, mixed):
    done = vepa_import(mixed)
    assert done.returncode == 1
    assert [row["id"] for row in rows(done.stdout)] == ["mixed/1", "mixed/3"]
    told = done.stderr.decode()
    assert "4 records, 2 trajectories, 2 skipped" in told
    assert f"{mixed}, record 2, line 2, messages.0.role:" in told
    assert f"{mixed}, record 4, line 4: malformed JSON" in told
    assert "not understood: mood (1 ×)" in told
    assert "Traceback" not in told


def test_strict_stops_with_exit_code_2_and_writes_nothing(vepa_import, mixed, tmp_path):
    out = tmp_path / "out.jsonl"
    done = vepa_import(mixed, "--strict", "--out", out)
    assert done.returncode == 2
    assert f"{mixed}:2: messages.0.role: record 2:" in done.stderr.decode()
    assert "remedy:" in done.stderr.decode()
    assert not out.exists()
    out.write_text("what was there\n")
    assert vepa_import(mixed, "--strict", "--out", out).returncode == 2
    assert out.read_text() == "what was there\n"
    assert not list(tmp_path.glob(".*.part"))


def test_a_file_is_not_written_over_itself(vepa_import, mixed):
    before = mixed.read_bytes()
    done = vepa_import(mixed, "--out", f"{mixed.parent}/./{mixed.name}")
    assert done.returncode == 2
    assert "would be written over itself" in done.stderr.decode()
    assert mixed.read_bytes() == before


def test_the_report_for_machines(vepa_import, mixed, tmp_path):
    out = tmp_path / "made" / "out.jsonl"
    done = vepa_import(mixed, "--json", "--out", out)
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert (report["records"], report["trajectories"], report["skipped"]) == (4, 2, 2)
    [file] = report["files"]
    assert (file["file"], file["format"]) == (str(mixed), "openai-chat")
    assert [(each["record"], each["field"]) for each in file["skipped_records"]] == [
        (2, "messages.0.role"), (4, None),
    ]  # fmt: skip
    assert file["unknown_keys"] == {"mood": 1}
    assert len(rows(out.read_bytes())) == 2
    refused = vepa_import(mixed, "--json")
    assert refused.returncode == 2
    assert b"--out" in refused.stdout + refused.stderr


def test_several_files_and_their_ids(vepa_import, good, tmp_path):
    again = tmp_path / "other" / "good.jsonl"
    again.parent.mkdir()
    again.write_bytes(good.read_bytes())
    done = vepa_import(good, again, "--dataset", "desk")
    ids = [row["id"] for row in rows(done.stdout)]
    assert ids[:4] == ["desk/1", "desk/2", "desk/3", "desk/1~2"]
    assert len(set(ids)) == 6


def test_what_was_imported_can_be_imported(vepa_import, good, tmp_path):
    first = tmp_path / "first.jsonl"
    assert vepa_import(good, "-o", first).returncode == 0
    assert vepa_import(first).stdout == first.read_bytes()


def test_standard_input_with_and_without_its_format(good):
    done = process("-", "--format", "openai-chat", stdin=good.read_bytes())
    assert done.returncode == 0, done.stderr
    assert [row["id"] for row in rows(done.stdout)] == ["stdin/1", "stdin/2", "stdin/3"]
    refused = process("-", stdin=good.read_bytes())
    assert refused.returncode == 2
    assert b"--format NAME" in refused.stderr


def test_formats_are_listed(vepa_import):
    from vepa.corpus.importing import FORMATS

    done = vepa_import("--formats")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.decode().splitlines()] == ["auto", *FORMATS]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["gone.jsonl"], "gone.jsonl: no such file"),
        (["--format", "openai-chatt", "gone.jsonl"], "openai-chat"),
        (["empty.json"], "empty.json: the file is empty"),
        (["strange.json"], "no known format of traces"),
        (["strange.json", "-o", "."], "it is a folder"),
        (["notes.yaml"], "remedy: traces are JSON Lines or JSON"),
        (["cut.zip"], "cut.zip: this archive cannot be read"),
    ],
)
def test_what_cannot_be_read_or_written_is_told(
    vepa_import, arguments, says, tmp_path, monkeypatch
):
    (tmp_path / "empty.json").touch()
    (tmp_path / "strange.json").write_text('{"a": 1}')
    (tmp_path / "notes.yaml").write_text("policy: 1\nrules: []\n")
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04 and no more")
    monkeypatch.chdir(tmp_path)
    done = vepa_import(*arguments)
    assert done.returncode == 2
    assert says in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
    assert done.stdout == b""


def test_a_reader_that_closes_the_pipe_is_no_traceback(tmp_path):
    path = tmp_path / "many.jsonl"
    path.write_text((json.dumps(chat("words " * 200)) + "\n") * 3000)
    line = '"$0" -m vepa import "$1" | head -n 1'
    done = subprocess.run(
        ["bash", "-c", line, sys.executable, path], capture_output=True, timeout=120, check=False
    )
    assert len(rows(done.stdout)) == 1
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr


def _started(out: Path, **more) -> subprocess.Popen[bytes]:
    """An import that waits for more records in the midst of its work."""
    command = [*COMMAND, "-", "--format", "openai-chat", "--out", str(out)]
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    assert running.stdin is not None
    running.stdin.write((json.dumps(chat("x" * 2000)) + "\n").encode() * 2000)
    running.stdin.flush()
    deadline = time.monotonic() + 60
    while not any(part.stat().st_size for part in out.parent.glob(f".{out.name}.*.part")):
        assert time.monotonic() < deadline
        assert running.poll() is None, running.stderr.read()
        time.sleep(0.05)
    return running


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_killed_import_leaves_the_file_as_it_was(sign, tmp_path):
    out = tmp_path / "out.jsonl"
    out.write_text("what was there\n")
    with _started(out) as running:
        running.send_signal(sign)
        _, told = running.communicate(timeout=60)
    assert running.returncode != 0
    assert out.read_text() == "what was there\n"
    if sign == signal.SIGINT:
        assert b"Traceback" not in told
        assert not list(tmp_path.glob(".*.part"))


def test_an_import_from_a_pipe_streams(tmp_path):
    """What came in is written before the input ends."""
    out = tmp_path / "out.jsonl"
    with out.open("wb") as stream:
        running = subprocess.Popen(
            [*COMMAND, "-", "--format", "openai-chat"], stdin=subprocess.PIPE, stdout=stream
        )
    assert running.stdin is not None
    running.stdin.write((json.dumps(chat("x" * 2000)) + "\n").encode() * 1000)
    running.stdin.flush()
    deadline = time.monotonic() + 60
    while not out.stat().st_size:
        assert time.monotonic() < deadline
        assert running.poll() is None
        time.sleep(0.05)
    running.kill()
    running.communicate(timeout=60)
    assert json.loads(out.read_bytes().splitlines()[0])["id"] == "stdin/1"
