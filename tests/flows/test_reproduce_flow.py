"""`vepa reproduce` as a Prefect sweep: worker processes of Dask and Ray play the same plays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from small_experiments import SMALL

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,  # each worker imports Prefect: half a minute of CPU a run
    pytest.mark.timeout(1200),
]


def reproduced(folder: Path, catalogue: Path, *more: str) -> dict[str, Any]:
    """What the command told, in a process of its own."""
    command = ["reproduce", "--offline", "--seeds", "2", "--jobs", "2", "--json"]
    command += ["--catalogue", str(catalogue), "--out", str(folder), *more]
    ran = subprocess.run(
        [sys.executable, "-m", "vepa", *command],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "VEPA_ARTIFACTS": str(folder / "artifacts")},
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    told: dict[str, Any] = json.loads(ran.stdout)
    return told


@pytest.mark.parametrize("runner", ["dask", "ray"])
def test_a_sweep_tells_what_processes_tell(runner: str, tmp_path: Path) -> None:
    if find_spec(f"prefect_{runner}") is None:
        pytest.skip("NOT RUN: the extra `scale` is not installed")
    catalogue = tmp_path / "experiments.yaml"
    catalogue.write_text(yaml.safe_dump(SMALL, sort_keys=False))
    plain = reproduced(tmp_path / "plain", catalogue)
    swept = reproduced(tmp_path / runner, catalogue, "--runner", runner)
    assert swept["played"] == plain["played"] == 12
    assert swept["files"] == plain["files"]
    again = reproduced(tmp_path / runner, catalogue, "--runner", runner)
    assert again["played"] == 0
