"""A tiny project of its own for each test, a model on loopback, and the one tiny office."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from authoring_desk import Desk
from model_servers import ModelServer
from tiny_office import ROOT
from tiny_tasks import CLEAN, write_project

from vepa.services import Office


@pytest.fixture
def desk(
    tmp_path: Path, office: Office, keys: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Desk]:
    """A project without any of the bundled content but the prompts."""
    folder = write_project(tmp_path / "project", CLEAN)
    shutil.copytree(ROOT / "prompts", folder / "prompts")
    monkeypatch.chdir(folder)
    monkeypatch.setattr("vepa.project.package_content", lambda: folder)
    with ModelServer() as server:
        yield Desk(folder, server, office)


@pytest.fixture
def codes() -> Callable[[dict[str, Any]], list[str]]:
    """Codes of the reasons for which the only wish was rejected."""

    def of(report: dict[str, Any]) -> list[str]:
        (result,) = report["rejected"]
        return [reason["code"] for reason in result["reasons"]]

    return of
