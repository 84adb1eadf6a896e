"""Real services: their software is installed once into the ordinary cache, offices are our own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from the_nine import NINE

from vepa.project import Project
from vepa.services import Environment, Office, World, load_environments, load_world
from vepa.services.runtimes.process_runtime import ProcessRuntime
from vepa.services.steps import Connection


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project()


@pytest.fixture(scope="session")
def world_file(project: Project) -> Path:
    return project.find("environments", "world.yaml")


@pytest.fixture(scope="session")
def world(world_file: Path) -> World:
    return load_world(world_file)


@pytest.fixture(scope="session")
def nine(project: Project) -> dict[str, Environment]:
    """The nine environments, their software installed."""
    environments = load_environments(project, NINE)
    ProcessRuntime().install(environments)
    return {each.name: each for each in environments}


@pytest.fixture(scope="module")
def office(request: pytest.FixtureRequest, project: Project, world_file: Path) -> Iterator[Office]:
    """The services that a module names as SERVICES, all nine unless it does; who writes resets."""
    environments = load_environments(project, getattr(request.module, "SERVICES", NINE))
    ProcessRuntime().install(environments)
    with Office.start(environments, world_file) as running:
        yield running


@pytest.fixture
def at_seed(request: pytest.FixtureRequest) -> Iterator[None]:
    """Reset what a test wrote to through the office; tests that use no office start none."""
    office = request.getfixturevalue("office") if "office" in request.fixturenames else None
    yield
    if office is not None:
        office.reset(office.unclean())  # no services drawn to be compared: chance costs time here


@pytest.fixture
def connection(office: Office) -> Iterator[Connection]:
    """Past the tools to the module's one service; reset in any case, nothing is on record here."""
    [(name, environment)] = office.environments.items()
    with Connection(environment, office.endpoint(name), office.world) as made:
        yield made
    office.reset(everything=True)
