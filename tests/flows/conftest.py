"""A small project with its own events and profile, and a finished run of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from small_runs import PROFILE, SmallProject

from vepa.bench.runs.server import TemporaryServer, quiet_environment
from vepa.project import package_content


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


@pytest.fixture(scope="session")
def prefect_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the one Prefect server keeps its database, `prefect.db`."""
    return tmp_path_factory.mktemp("prefect")


@pytest.fixture(scope="session")
def server(prefect_home: Path) -> Iterator[str]:
    """One Prefect server for all tests of a worker: a start on a new folder takes 10 s."""
    with TemporaryServer(prefect_home, quiet_environment(prefect_home)) as running:
        yield running.api_url
