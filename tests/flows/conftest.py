"""A small project with its own events and profile, and a finished run of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from small_runs import PROFILE, SmallProject, vepa
from tiny_lifecycle import STAGES, lifecycle_project, planned_lifecycle, told_of
from tiny_office import cache_folder

from vepa.bench.runs.server import TemporaryServer, quiet_environment
from vepa.project import package_content
from vepa.services.places import Places


@pytest.fixture(scope="session")
def make_project(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., SmallProject]:
    """Make a project folder of the first real events."""

    def make(
        profile: str = PROFILE, size: int = 200, change: Callable[[int, Any], Any] | None = None
    ) -> SmallProject:
        project = SmallProject(tmp_path_factory.mktemp("project"))
        for file in (project.profile, project.events):
            file.parent.mkdir(parents=True, exist_ok=True)
        project.profile.write_text(profile)
        source = package_content() / "data" / "assebench_security.events.jsonl"
        records = [json.loads(line) for line in source.read_text().splitlines()[:size]]
        if change:
            records = [change(at, record) for at, record in enumerate(records)]
        project.events.write_text("".join(json.dumps(record) + "\n" for record in records))
        return project

    return make


@pytest.fixture
def project(make_project: Callable[..., SmallProject]) -> SmallProject:
    """A project of its own for each test."""
    return make_project()


@pytest.fixture(scope="session")
def finished(make_project: Callable[..., SmallProject]) -> Path:
    """The folder of a finished run; look, do not touch."""
    return make_project().make()


Ran = tuple[SmallProject, subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def ran(make_project: Callable[..., SmallProject]) -> Ran:
    """A project whose run was made by the command, with a temporary server."""
    project = make_project()
    return project, vepa(project, "run", "--profile", "small", "--json")


@pytest.fixture(scope="session")
def prefect_home(ran: Ran, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the one Prefect server keeps its database, `prefect.db`.

    It begins with that of the other run: to make a new one takes 8 s of CPU.
    """
    project, result = ran
    assert result.returncode == 0, result.stderr
    home = tmp_path_factory.mktemp("prefect")
    shutil.copy(project.folder / "artifacts" / "prefect" / "prefect.db", home)
    return home


@pytest.fixture(scope="session")
def server(prefect_home: Path) -> Iterator[str]:
    """One Prefect server for all tests."""
    with TemporaryServer(prefect_home, quiet_environment(prefect_home)) as running:
        yield running.api_url


@pytest.fixture(scope="session")
def cache() -> Iterator[Places]:
    """Where the services of the corpora of these tests live."""
    with cache_folder() as places:
        yield places


@pytest.fixture(scope="session")
def variables(cache: Places, server: str) -> dict[str, str]:
    """The environment of a process that collects."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PREFECT_", "VEPA_")) and not name.lower().endswith("_proxy")
    }
    return {**kept, "VEPA_CACHE": str(cache.root), "PREFECT_API_URL": server}


@pytest.fixture(scope="session")
def whole(
    variables: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any], str]:
    """A project, what `vepa run --json` told of its lifecycle, and what it said; do not touch."""
    folder = lifecycle_project(tmp_path_factory.mktemp("whole") / "project")
    assert planned_lifecycle(folder).open() == STAGES
    return (folder, *told_of(folder, variables))
