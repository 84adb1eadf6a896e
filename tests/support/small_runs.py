"""A small project with its own events and profile, and its run, in this process and by `vepa`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from vepa.bench.runs import stages

#: How long a process may take on a busy machine.
LIMIT = 150
PROFILE = """\
title: A small run
events: [small.events.jsonl]
rounds: 5
feedback: 0.5
seed: 3
evolution: {patches: 12}
baselines: [hoeffding, lookup]
"""


@dataclass(frozen=True)
class SmallProject:
    """A project folder with one profile, `small`."""

    folder: Path

    @property
    def profile(self) -> Path:
        return self.folder / "flows" / "profiles" / "small.yaml"

    @property
    def events(self) -> Path:
        return self.folder / "data" / "small.events.jsonl"

    def begin(self, *, fresh: bool = False) -> Path:
        """Begin the run in this process; its folder."""
        begun = stages.begin_run(
            "small", str(self.folder), str(self.folder / "artifacts"), fresh=fresh
        )
        return Path(begun["folder"])

    def make(self) -> Path:
        """Make the whole run in this process, without Prefect; its folder."""
        folder = self.begin()
        work_off(folder)
        return folder


def work_off(folder: Path) -> None:
    """Every stage of a begun run, in the order of the flow."""
    manifest = json.loads((folder / "manifest.json").read_text())
    profile = manifest["inputs"]["profile"]
    for number in range(1, profile["rounds"] + 1):
        stages.play_round(folder, number)
    for family in profile["baselines"]:
        stages.play_baseline(folder, family)
    stages.summarise(folder)
    stages.write_report(folder)
    stages.finish(folder)


def products(folder: Path) -> dict[str, bytes]:
    """Every product of a run by its path: all that must be the same in every run."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and path.name not in {"manifest.json", ".lock"}
        and path.parent.name != "done"
    }


def environment(**more: str) -> dict[str, str]:
    """No server, no artifacts folder and no Prefect home of this machine's user."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PREFECT_", "VEPA_")) and not name.lower().endswith("_proxy")
    }
    # A proxy that answers nothing: a request that leaves the machine fails, or hangs, here.
    return {**kept, "HTTP_PROXY": "http://192.0.2.1:9", "HTTPS_PROXY": "http://192.0.2.1:9", **more}


def vepa(project: SmallProject, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """The command in a project, as a process of its own; `more` are variables for it."""
    return subprocess.run(
        [sys.executable, "-m", "vepa", *arguments],
        cwd=project.folder,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
