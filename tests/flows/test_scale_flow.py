"""Dask and Ray as real worker processes: the same products, and a worker that is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny_lifecycle import lifecycle_project, planned_lifecycle, started
from tiny_office import ROOT

from vepa.bench.runs.board import Board
from vepa.errors import RunError
from vepa.services.places import Places
from vepa.services.runtimes import processes

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,  # each worker imports Prefect: half a minute of CPU a run
    pytest.mark.xdist_group("corpus-flow"),
    pytest.mark.timeout(2400),
]

#: How long a process may take on a busy machine: workers begin slowly.
LIMIT = 600
PRODUCTS = ("trajectories.jsonl", "events.step.jsonl", "labels/labels.jsonl")


def scaled(folder: Path, runner: str, more: int = 4, **keys: Any) -> Path:
    """The tiny project, on worker processes."""
    if find_spec(f"prefect_{runner}") is None:
        pytest.skip("NOT RUN: the extra `scale` is not installed")
    lifecycle_project(folder, more=more)
    with open(folder / "flows/profiles/tiny.yaml", "a") as profile:
        profile.write(yaml.safe_dump({"scale": {"runner": runner, "workers": 2, **keys}}))
    return folder


def told_of(folder: Path, variables: dict[str, str]) -> tuple[dict[str, Any], str]:
    """What a whole run told, as JSON and in words."""
    process = started(folder, variables, "--json")
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, err[-3000:]
    return json.loads(out), err


def content(folder: Path) -> dict[str, Any]:
    """What of the products is no time and no place."""
    place = folder / "artifacts/corpus/tiny"
    found: dict[str, Any] = {}
    for name in PRODUCTS:
        lines = (place / name).read_text().splitlines()
        found[name] = len(lines) if name == PRODUCTS[0] else [json.loads(line) for line in lines]
    found["episodes"] = [
        row["content_hash"] for row in json.loads((place / "episodes.json").read_text())
    ]
    return found


@pytest.mark.parametrize("runner", ["dask", "ray"])
def test_the_products_are_those_of_the_plain_run(
    whole: tuple[Path, dict[str, Any], str],
    variables: dict[str, str],
    tmp_path: Path,
    cache: Places,
    runner: str,
) -> None:
    folder = scaled(tmp_path / runner, runner)
    told, err = told_of(folder, variables)
    plain = whole[1]["corpus"]
    assert told["corpus"]["content_sha256"] == plain["content_sha256"]
    assert told["corpus"]["release"]["version"] == plain["release"]["version"]
    assert content(folder) == content(whole[0])
    assert planned_lifecycle(folder).open() == []
    place = folder / "artifacts/corpus/tiny"
    assert not list(place.rglob("*shares*")), "nothing of the board stays"
    assert "Traceback" not in err
    assert [*processes.launchers(cache.root), *processes.leftovers(cache.root)] == []


def test_a_killed_worker_is_replaced_and_nothing_is_played_twice(
    whole: tuple[Path, dict[str, Any], str],
    variables: dict[str, str],
    tmp_path: Path,
    cache: Places,
) -> None:
    folder = scaled(tmp_path / "killed", "dask", more=20)
    process = started(folder, variables, "--json")
    stamps = _after(folder, 3, process)
    victim = _workers(process.pid)[0]
    os.kill(victim, signal.SIGKILL)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, err[-3000:]
    assert json.loads(out)["corpus"]["episodes"] == 23
    assert _episodes(folder).items() >= stamps.items()
    assert [*processes.launchers(cache.root), *processes.leftovers(cache.root)] == []


def test_a_killed_run_leaves_no_worker_and_the_next_one_goes_on(
    variables: dict[str, str], tmp_path: Path, cache: Places
) -> None:
    folder = scaled(tmp_path / "killed", "dask", more=20)
    process = started(folder, variables)
    stamps = _after(folder, 3, process)
    workers = _workers(process.pid)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=LIMIT)
    end = time.monotonic() + 60
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < end, "workers outlive their run"
        time.sleep(0.1)
    told, _ = told_of(folder, variables)
    assert told["corpus"]["episodes"] == 23
    assert _episodes(folder).items() >= stamps.items()
    assert [*processes.launchers(cache.root), *processes.leftovers(cache.root)] == []


def test_an_interrupt_ends_workers_too(
    variables: dict[str, str], tmp_path: Path, cache: Places
) -> None:
    folder = scaled(tmp_path / "interrupted", "dask", more=30)
    process = started(folder, variables)
    _after(folder, 1, process)
    workers = _workers(process.pid)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, err[-3000:]
    assert "what is done is kept" in err
    assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]
    assert 1 <= len(_episodes(folder)) < 33
    assert [*processes.launchers(cache.root), *processes.leftovers(cache.root)] == []


def _episodes(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.episode.json")}


def _after(folder: Path, number: int, process: subprocess.Popen[str]) -> dict[Path, int]:
    """Wait until so many episodes are there; those, and when they were written."""
    end = time.monotonic() + LIMIT
    while len(found := _episodes(folder)) < number:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def _workers(run: int) -> list[int]:
    """Processes of Dask below a run."""
    listed = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(run)], capture_output=True, text=True, check=True
    ).stdout
    found = [int(line.split()[0]) for line in listed.splitlines() if "spawn_main" in line]
    assert len(found) == 2, listed
    return found


def test_nobody_is_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scale = _flows_of_scale()
    monkeypatch.setattr(scale, "_OFTEN", 0.1)
    monkeypatch.setattr(scale, "_SILENT", 3.0)
    monkeypatch.setattr("vepa.bench.runs.board._BEAT", 0.1)
    board, looks = Board.begin(tmp_path, "inputs", 1), list[float]()
    with board.alive("share-0"):
        assert scale.ended([_Late(6.0)], board, lambda: looks.append(0.0)) == ["done"]
    assert looks
    with pytest.raises(RunError, match="no worker gave a sign of life"):
        scale.ended([_Late(600.0)], board, lambda: None)


class _Late:
    """What a task gives after so many seconds."""

    def __init__(self, seconds: float):
        self.end = time.monotonic() + seconds

    def result(self, timeout: float) -> str:
        left = self.end - time.monotonic()
        time.sleep(min(timeout, max(left, 0.0)))
        if left > timeout:
            raise TimeoutError
        return "done"


def _flows_of_scale() -> Any:
    spec = spec_from_file_location("flows_of_scale", ROOT / "flows/scale.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
