"""A small project with its own events and profile, and a finished run of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_runs import PROFILE, SmallProject

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
