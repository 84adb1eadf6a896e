"""An office of containers outlives the command that started it; another one takes it down."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from docker.errors import ImageNotFound
from tiny_office import cache_folder

from vepa.services.places import Places
from vepa.services.runtimes.docker_runtime import DockerRuntime
from vepa.services.runtimes.images import connect

pytestmark = [pytest.mark.docker, pytest.mark.timeout(300), pytest.mark.xdist_group("engine")]

NOTES = Path(__file__).parent / "environments" / "notes"
Vepa = Callable[..., dict[str, Any]]


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Places]:
    with cache_folder() as places:
        monkeypatch.setenv("VEPA_CACHE", str(places.root))
        yield places
        client = connect()
        for found in (ours(), {"label": "vepa.environment=letters"}):
            for image in client.images.list(filters=found):
                with suppress(ImageNotFound):
                    client.images.remove(image.id, force=True)


@pytest.fixture
def vepa(tmp_path: Path, world_file: Path, cache: Places) -> Vepa:
    """`vepa`, each time a process of its own, in a project with the notes environment.

    Under another name: tests beside this one remove the images of `notes`.
    """
    folder = tmp_path / "environments" / "letters"
    shutil.copytree(NOTES, folder, ignore=shutil.ignore_patterns("__pycache__"))
    text = (folder / "environment.yaml").read_text("utf-8")
    text = text.replace("name: notes\n", "name: letters\n", 1).replace("notes_", "letters_")
    (folder / "environment.yaml").write_text(text)
    shutil.copyfile(world_file, tmp_path / "environments" / "world.yaml")

    def run(*arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "vepa", *arguments, "--json"],
            capture_output=True,
            text=True,
            timeout=200,
            cwd=tmp_path,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    return run


def ours() -> dict[str, str]:
    return {"label": f"vepa.root={DockerRuntime()._offices.mark}"}


def left(engine: Any) -> list[str]:
    """What the engine has of this cache's offices."""
    containers = engine.containers.list(all=True, filters=ours())
    return [each.name for each in [*containers, *engine.networks.list(filters=ours())]]


def test_up_in_one_process_and_down_in_another(vepa: Vepa, cache: Places) -> None:
    engine = connect()
    up = vepa("services", "up", "letters", "--runtime", "docker", "--office", "mine")
    assert (up["office"], up["runtime"]) == ("mine", "docker")
    try:
        (container,) = engine.containers.list(filters=ours())
        assert container.labels["vepa.office"] == "mine"
        (seen,) = vepa("services", "status")["offices"]
        assert (seen["runtime"], seen["services"][0]["state"]) == ("docker", "running")
        assert seen["services"][0]["ports"] == up["services"][0]["ports"]
        read = vepa("tools", "call", "letters_read", "--args", '{"id": "plan"}')
        assert read["ok"] is True
        assert engine.containers.list(filters=ours())[0].id == container.id
    finally:
        down = vepa("services", "down", "--office", "mine")
    assert down["down"] == ["mine"]
    assert left(engine) == []
    assert list(cache.offices.iterdir()) == []
