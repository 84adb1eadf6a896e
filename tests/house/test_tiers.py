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
    for engine in ("chromium", "docker"):
        answer = tmp_path / "bin" / engine
        answer.write_text("#!/bin/sh\nexit 0\n")
        answer.chmod(0o755)
    return tmp_path


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
    (checkout / "bin" / "docker").write_text("#!/bin/sh\nexit 1\n")
    done = run(checkout, "docker", 1)
    assert done.returncode == 0
    assert done.stdout.startswith("NOT RUN: no container engine")


@pytest.mark.parametrize(("pytest_exit", "code"), [(0, 0), (1, 1), (2, 2), (5, 0)])
def test_the_exit_of_pytest_is_kept_but_for_no_tests(checkout, pytest_exit, code):
    done = run(checkout, "browser", pytest_exit)
    assert done.returncode == code
    assert done.stdout.startswith("ran\n")


def test_make_names_every_target(root):
    done = subprocess.run(["make", "help"], cwd=root, capture_output=True, text=True, check=True)
    for target in ("run", "test", "test-browser", "test-docker", "verify", "check", "clean"):
        assert f"  make {target} " in done.stdout
