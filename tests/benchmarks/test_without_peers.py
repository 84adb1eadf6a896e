"""The benchmark where the peers are not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("package", ["cedarpy", "z3"])
def test_a_missing_peer_is_said_without_a_traceback(package: str) -> None:
    code = (
        f"import sys, runpy; sys.modules[{package!r}] = None; sys.argv = ['run', '--tiny']\n"
        "runpy.run_module('benchmarks.run', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: the package {package!r} is not installed\n  remedy: ")
    assert "[dev]" in done.stderr
    assert "Traceback" not in done.stderr
