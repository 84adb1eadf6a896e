"""The tiers of checks: what cannot run says so, and a failure is never swallowed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def checkout(root: Path, tmp_path: Path) -> Path:
    """A folder with the script, one test of each optional tier, and engines that answer."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "optional_tests.sh").symlink_to(root / "scripts" / "optional_tests.sh")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text("@pytest.mark.browser\n@pytest.mark.docker\n")
    (tmp_path / "bin").mkdir()
    engine(tmp_path, "bin/chromium", "exit 0")
    engine(tmp_path, "scripts/docker_engine.sh", "echo DOCKER_HOST=unix:///nowhere")
    return tmp_path


def engine(checkout: Path, name: str, does: str) -> None:
    (checkout / name).write_text(f"#!/bin/bash\n{does}\n")
    (checkout / name).chmod(0o755)


def run(
    checkout: Path, tier: str, pytest_exit: int, **env: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["scripts/optional_tests.sh", tier, "bash", "-c", f"echo ran; exit {pytest_exit}", "--"],
        cwd=checkout,
        env={**os.environ, "PATH": f"{checkout / 'bin'}:{os.environ['PATH']}", **env},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("tier", ["browser", "docker"])
def test_no_tests_yet(checkout, tier):
    (checkout / "tests" / "test_x.py").unlink()
    done = run(checkout, tier, 1)
    assert (done.returncode, done.stdout) == (0, f"NOT RUN: no {tier} tests yet\n")


def test_no_engine(checkout):
    does = "[ $1 = start ] && echo NOT RUN: the kernel refuses && exit 3; exit 1"
    engine(checkout, "scripts/docker_engine.sh", does)
    done = run(checkout, "docker", 1)
    assert (done.returncode, done.stdout) == (0, "NOT RUN: the kernel refuses\n")


@pytest.mark.parametrize("pytest_exit", [0, 1])
def test_an_engine_that_was_started_is_stopped(checkout, pytest_exit):
    does = "echo $1 >> asked; [ $1 = status ] && exit 1; [ $1 = stop ] || echo DOCKER_HOST=unix://x"
    engine(checkout, "scripts/docker_engine.sh", does)
    done = run(checkout, "docker", pytest_exit)
    assert done.returncode == pytest_exit
    assert (checkout / "asked").read_text().split() == ["status", "start", "stop"]


def test_an_engine_that_answers_is_left_alone(checkout):
    engine(checkout, "scripts/docker_engine.sh", "echo $1 >> asked; echo DOCKER_HOST=unix://x")
    assert run(checkout, "docker", 0).returncode == 0
    assert (checkout / "asked").read_text().split() == ["status"]


@pytest.mark.parametrize(("pytest_exit", "code"), [(0, 0), (1, 1), (2, 2), (5, 0)])
def test_the_exit_of_pytest_is_kept_but_for_no_tests(checkout, pytest_exit, code):
    done = run(checkout, "browser", pytest_exit)
    assert done.returncode == code
    assert done.stdout.startswith("ran\n")


def test_make_names_every_target(root):
    done = subprocess.run(["make", "help"], cwd=root, capture_output=True, text=True, check=True)
    for target in ("run", "test", "test-browser", "test-docker", "verify", "check", "clean"):
        assert f"  make {target} " in done.stdout
