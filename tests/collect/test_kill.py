"""Killed at any moment and started again: the same corpus, nothing lost, doubled or paid twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from model_servers import ModelServer, Say, Seen
from tiny_office import ROOT, cache_folder
from tiny_tasks import CLEAN, PLANTED, task_with, write_project

from vepa.corpus.episode import stream_episodes
from vepa.llm import Ledger

SUPPORT = ROOT / "tests" / "support"
MODEL = "openai/gpt-4o-mini"


def _start(project: Path, cache: Path, folder: Path, model: str, api_base: str) -> Any:
    return subprocess.Popen(
        [
            sys.executable, str(SUPPORT / "collecting.py"),
            str(project), str(cache), str(folder), model, api_base,
        ],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SUPPORT)},
        start_new_session=True,
    )  # fmt: skip


def _hashes(folder: Path) -> dict[str, str]:
    return {each.id: each.content_hash for each in stream_episodes(folder / "episodes")}


def _killed_and_finished(
    draw: random.Random, kills: int, longest: float, *where: Any
) -> tuple[int, str]:
    """How often it was killed before its end, and what the last run said."""
    done = 0
    for _ in range(kills):
        process = _start(*where)
        time.sleep(draw.uniform(0.0, longest))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            done += 1
        process.communicate()
    process = _start(*where)
    told, _ = process.communicate(timeout=150)
    assert process.returncode == 0, told
    return done, told


def _project(tmp_path: Path, tasks: int) -> Path:
    more = [
        task_with({"id": f"memo-{at}", "request": f"{CLEAN['request']} It is number {at}."})
        for at in range(tasks)
    ]
    return write_project(tmp_path, CLEAN, PLANTED, *more)


def _seed() -> int:
    return int(os.environ.get("VEPA_TEST_SEED", random.randrange(10**6)))


@pytest.mark.slow  # tests/flows/test_corpus_flow.py kills the same collection within its flow
@pytest.mark.parametrize("kills", [1, 10])
def test_a_killed_collection_ends_as_the_same_corpus(tmp_path: Path, kills: int) -> None:
    seed = _seed()
    sys.stderr.write(f"VEPA_TEST_SEED={seed}\n")
    project = _project(tmp_path, 8)
    with cache_folder() as cache:
        began = time.monotonic()
        whole = _start(project, cache.root, tmp_path / "whole", "scripted", "")
        assert whole.wait(150) == 0, whole.stdout.read()
        longest = time.monotonic() - began
        where = (project, cache.root, tmp_path / "killed", "scripted", "")
        _, told = _killed_and_finished(random.Random(seed), kills, longest, *where)
    assert _hashes(tmp_path / "killed") == _hashes(tmp_path / "whole"), told
    assert len(_hashes(tmp_path / "whole")) == 11
    left = [
        path for path in (tmp_path / "killed").rglob("*") if path.suffix in (".tmp", ".journal")
    ]
    assert left == []


def _agent(seen: Seen) -> Say:
    """A real model's part: lists, adds, answers; each of its turns costs money."""
    turns = sum(message["role"] == "assistant" for message in seen.body["messages"])
    if turns == 0:
        return Say(calls=[("memos_list", {})])
    if turns == 1:
        return Say(calls=[("memos_add", {"text": "buy milk"}), ("memos_list", {})])
    time.sleep(0.05)
    return Say("Added; the first says: water the plants.")


@pytest.mark.parametrize("kills", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_no_answer_is_paid_twice(
    tmp_path: Path, kills: int, monkeypatch: pytest.MonkeyPatch, keys: str
) -> None:
    seed = _seed()
    sys.stderr.write(f"VEPA_TEST_SEED={seed}\n")
    project = _project(tmp_path, 3)
    with cache_folder() as cache, ModelServer(_agent) as server:
        began = time.monotonic()
        whole = _start(project, cache.root, tmp_path / "whole", MODEL, server.openai)
        told = whole.communicate(timeout=150)[0]
        assert whole.returncode == 0, told
        longest = time.monotonic() - began
        expected = _hashes(tmp_path / "whole")
        assert len(expected) == 10  # five tasks, two seeds
        assert server.requests == 30
        server.play(_agent)
        where = (project, cache.root, tmp_path / "killed", MODEL, server.openai)
        killed, told = _killed_and_finished(random.Random(seed), kills, longest, *where)
    assert _hashes(tmp_path / "killed") == expected
    # One question may have been on its way at each kill; its answer was never seen.
    assert 30 <= server.requests <= 30 + killed, told
    ledger = Ledger(tmp_path / "killed" / "ledger.jsonl").totals()["all"]
    assert 30 <= ledger.questions <= 30 + killed
    for path in (tmp_path / "killed").rglob("*"):
        if path.is_file():
            assert keys.encode() not in path.read_bytes()
