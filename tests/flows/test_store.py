"""The run store: done once, checked by hash, written last."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from vepa.bench.runs.store import RunStore
from vepa.errors import RunError, SettingError


def test_a_finished_stage_is_done_and_gives_its_record_back(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    assert store.done("a") is None
    made = store.finish("a", {"x/y.txt": "text", "z.bin": b"\x00\x01"}, figures={"n": 1})
    assert store.done("a") == made
    assert (tmp_path / "x" / "y.txt").read_text() == "text"
    assert made.figures == {"n": 1}


@pytest.mark.parametrize("damage", ["change", "remove"])
def test_a_damaged_product_makes_its_stage_undone(tmp_path: Path, damage: str) -> None:
    store = RunStore(tmp_path)
    store.finish("a", {"x": "text"})
    if damage == "change":
        (tmp_path / "x").write_text("texts")
    else:
        (tmp_path / "x").unlink()
    assert store.done("a") is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"content": {}}'])
def test_a_damaged_record_makes_its_stage_undone(tmp_path: Path, content: bytes) -> None:
    store = RunStore(tmp_path)
    store.finish("a", {"x": "text"})
    (tmp_path / "done" / "a.json").write_bytes(content)
    assert store.done("a") is None


def test_a_forged_record_is_noticed(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    store.finish("a", {"x": "text"}, figures={"score": 1})
    record = tmp_path / "done" / "a.json"
    record.write_text(record.read_text().replace('"score": 1', '"score": 2'))
    assert store.done("a") is None


def test_a_stage_depends_on_the_content_it_was_made_from(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    store.finish("a", {"x": "one"})
    store.finish("b", {"y": "two"}, needs=["a"])
    store.finish("a", {"x": "one"}, seconds=9.0)
    assert store.done("b", ["a"]), "the same content made again changes nothing"
    store.finish("a", {"x": "other"})
    assert store.done("b", ["a"]) is None
    assert store.done("b", []) is None, "a stage that is asked for with other needs is another one"


def test_a_stage_cannot_be_finished_before_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="needs a"):
        RunStore(tmp_path).finish("b", {"y": "two"}, needs=["a"])
    assert not (tmp_path / "y").exists()


def test_time_is_no_part_of_the_content(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    first = store.finish("a", {"x": "text"}, seconds=1.0)
    second = store.finish("a", {"x": "text"}, seconds=2.0)
    assert first.sha256 == second.sha256


def test_half_written_files_are_swept(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    store.finish("a", {"x/y": "text"})
    (tmp_path / "x" / ".y.abc.part").write_text("te")
    store.sweep()
    assert [path.name for path in (tmp_path / "x").iterdir()] == ["y"]


_HOLD = """
import sys, time
from vepa.bench.runs.store import RunStore
with RunStore(sys.argv[1]).locked():
    print("held", flush=True)
    time.sleep(0.5)
"""


def test_two_processes_take_turns(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        clock = time.monotonic()
        with RunStore(tmp_path).locked():
            waited = time.monotonic() - clock
    assert waited > 0.2


def test_a_place_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(SettingError, match="VEPA_ARTIFACTS"),
        RunStore(tmp_path / "file" / "run").locked(),
    ):
        pass
