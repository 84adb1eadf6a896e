"""The script that starts an engine for tests: what it says where it starts none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = "scripts/docker_engine.sh"


@pytest.fixture
def run(root: Path, tmp_path: Path):
    """Runs the script among programs that answer as they are told to."""
    programs = tmp_path / "bin"
    programs.mkdir()

    def running(verb: str, *, host: str | None = None, **does: str):
        for name, text in {"docker": "exit 1", "id": "echo 1000", **does}.items():
            (programs / name).write_text(f"#!/bin/sh\n{text}\n")
            (programs / name).chmod(0o755)
        env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
        env["VEPA_DOCKER_DIR"] = str(tmp_path / "engine")
        env.pop("DOCKER_HOST", None)
        if host:
            env["DOCKER_HOST"] = host
        return subprocess.run(
            [root / SCRIPT, verb], env=env, capture_output=True, text=True, timeout=60
        )

    return running


def test_an_engine_that_answers_is_used(run, tmp_path):
    for verb in ("start", "status"):
        done = run(verb, host="unix:///run/some.sock", docker="exit 0")
        assert (done.returncode, done.stdout) == (0, "DOCKER_HOST=unix:///run/some.sock\n")
    assert not (tmp_path / "engine").exists()


def test_only_root_can_start_one(run, tmp_path):
    done = run("start")
    assert done.returncode == 3
    assert done.stdout == "NOT RUN: no engine answers, and only root can start one\n"
    assert not (tmp_path / "engine").exists()


def test_a_named_engine_that_does_not_answer_is_told(run):
    done = run("start", host="unix:///nowhere.sock")
    assert "no engine answers at DOCKER_HOST" in done.stderr
    assert done.returncode == 3


def test_no_engine(run):
    done = run("status")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no container engine answers" in done.stderr


def test_stopping_nothing(run):
    assert run("stop").returncode == 0


def test_an_engine_that_does_not_start(run, tmp_path):
    """As root, with all programs there, on a kernel that refuses: told, and nothing is left."""
    done = run(
        "start",
        id="echo 0",
        dockerd="echo 'failed to start daemon: the kernel says no' >&2; exit 1",
        iptables="exit 0",
        debootstrap="exit 1",
    )
    assert done.returncode == 3
    assert done.stdout.startswith("NOT RUN: the engine does not start here: ")
    assert "the kernel says no" in done.stdout
    assert "storage driver overlay2" in done.stderr
    assert not (tmp_path / "engine" / "data").exists()


def test_unknown_verb(run):
    assert run("restart").returncode == 2
