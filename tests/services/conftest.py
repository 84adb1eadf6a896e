"""Real services: their software is installed once into the ordinary cache, offices are our own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from the_nine import NINE

from vepa.project import Project
from vepa.services import Environment, Office, load_environments
from vepa.services.runtimes.process_runtime import ProcessRuntime


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project()


@pytest.fixture(scope="session")
def world_file(project: Project) -> Path:
    return project.find("environments", "world.yaml")


@pytest.fixture(scope="session")
def nine(project: Project) -> dict[str, Environment]:
    """The nine environments, their software installed."""
    environments = load_environments(project, NINE)
    ProcessRuntime().install(environments)
    return {each.name: each for each in environments}


@pytest.fixture(scope="module")
def office(nine: dict[str, Environment], world_file: Path) -> Iterator[Office]:
    """All nine services, for the tests of one module; whoever writes resets."""
    with Office.start(list(nine.values()), world_file) as running:
        yield running
