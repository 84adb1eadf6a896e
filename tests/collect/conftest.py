"""One tiny office for all tests of a worker; each episode resets it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from model_servers import FAKE_KEY
from tiny_office import cache_folder
from tiny_tasks import materials_of, write_project

from vepa.collect.orders import Materials
from vepa.collect.pool import OfficePool
from vepa.collect.tasks import Task
from vepa.services import Office
from vepa.services.places import Places


@pytest.fixture(scope="session")
def cache() -> Iterator[Places]:
    with cache_folder() as places:
        yield places


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Task], Materials]:
    return materials_of(write_project(tmp_path_factory.mktemp("project")))


@pytest.fixture(scope="session")
def office(tiny: tuple[list[Task], Materials], cache: Places) -> Iterator[Office]:
    _, materials = tiny
    environments = list(materials.environments.values())
    with Office.start(environments, materials.world_file, root=cache) as running:
        yield running


@pytest.fixture
def clean(tiny: tuple[list[Task], Materials]) -> Task:
    return next(task for task in tiny[0] if task.id == "memo-milk")


@pytest.fixture
def planted(tiny: tuple[list[Task], Materials]) -> Task:
    return next(task for task in tiny[0] if task.id == "memo-rent")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "episodes"


@pytest.fixture
def pool(office: Office, tiny: tuple[list[Task], Materials]) -> OfficePool:
    """One place: the office of all tests."""
    _, materials = tiny
    return OfficePool([], materials.world_file, offices=[office])


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OPENAI_API_KEY", FAKE_KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", FAKE_KEY)
    return FAKE_KEY
