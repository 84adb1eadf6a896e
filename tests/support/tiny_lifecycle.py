"""A tiny project whose profile has every block but training, and `vepa run` on it as a process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from judged_corpus import PANEL
from tiny_corpus import tiny_project
from tiny_office import ROOT

from vepa.lifecycle.plan import Lifecycle, plan_lifecycle
from vepa.project import Project

#: How long a process may take on a busy machine.
LIMIT = 200
STAGES = ["collect", "annotate", "release", "evolve-corpus", "evolve-benchmark", "report"]
_BLOCKS: dict[str, Any] = {
    "annotate": {"panel": "tiny.yaml", "workers": 2, "resamples": 100},
    "release": {},
}


def lifecycle_project(folder: Path, more: int = 4) -> Path:
    """Write the project; the folder."""
    tiny_project(folder, _BLOCKS, more=more)
    (folder / "annotation").mkdir()
    (folder / "annotation/tiny.yaml").write_text(yaml.safe_dump(PANEL))
    for name in ("taxonomy.yaml", "codebook.md"):
        (folder / "annotation" / name).write_bytes((ROOT / "annotation" / name).read_bytes())
    return folder


def started(folder: Path, variables: Mapping[str, str], *arguments: str) -> subprocess.Popen[str]:
    """`vepa run` of the profile, begun."""
    return subprocess.Popen(
        [sys.executable, "-m", "vepa", "run", "--profile", "tiny", *arguments],
        cwd=folder, env=dict(variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def told_of(
    folder: Path, variables: Mapping[str, str], *arguments: str
) -> tuple[dict[str, Any], str]:
    """What a whole run told, as JSON and in words."""
    process = started(folder, variables, "--json", *arguments)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, err[-3000:]
    return json.loads(out), err


def planned_lifecycle(folder: Path) -> Lifecycle:
    """The lifecycle of such a project."""
    return plan_lifecycle(Project(folder), "tiny", artifacts=folder / "artifacts")
