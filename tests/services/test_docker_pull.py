"""Pulling an official image from a registry on loopback: its digest holds, faults are told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from docker.errors import ImageNotFound
from registry import Registry, registry

from vepa.errors import InputError
from vepa.services import Environment, load_environment
from vepa.services.runtimes.docker_official import LOCK, official_id
from vepa.services.runtimes.images import connect

pytestmark = [pytest.mark.docker, pytest.mark.xdist_group("official")]

NOTES = Path(__file__).parent / "environments" / "notes" / "environment.yaml"
Make = Callable[..., Environment]


@pytest.fixture(scope="module")
def engine() -> Any:
    return connect()


@pytest.fixture
def served(engine: Any) -> Iterator[Registry]:
    with registry() as it:
        yield it
        for image in engine.images.list():
            for known in [*image.tags, *(image.attrs.get("RepoDigests") or [])]:
                if known.startswith(f"127.0.0.1:{it.port}/"):
                    with suppress(ImageNotFound):
                        engine.images.remove(known, force=True)


@pytest.fixture
def make(served: Registry) -> Make:
    """The notes environment with an image of the registry."""

    def made(digest: str | None = None, tag: str = "1") -> Environment:
        notes = load_environment(NOTES)
        image = {"image": f"127.0.0.1:{served.port}/office/notes:{tag}", "digest": digest}
        return notes.model_copy(update={"docker": notes.docker.model_copy(update=image)})

    return made


def test_a_digest_is_what_is_pulled(
    engine: Any, served: Registry, make: Make, tmp_path: Path
) -> None:
    digest = served.push(engine, "1", b"one")
    served.push(engine, "1", b"two")  # the tag has moved on
    image = engine.images.get(official_id(engine, make(digest), tmp_path))
    assert image.attrs["RepoDigests"] == [f"127.0.0.1:{served.port}/office/notes@{digest}"]
    assert not (tmp_path / LOCK).exists()


def test_a_digest_that_the_registry_has_not(
    engine: Any, served: Registry, make: Make, tmp_path: Path
) -> None:
    served.push(engine, "1", b"one")
    wrong = f"sha256:{'0' * 64}"
    with pytest.raises(InputError, match="cannot be pulled") as caught:
        official_id(engine, make(wrong), tmp_path)
    assert f"office/notes@{wrong}" in str(caught.value)
    assert (caught.value.where.file, caught.value.where.field) == (str(NOTES), "docker.image")
    assert caught.value.exit_code == 2


def test_other_content_under_the_digest(
    engine: Any, served: Registry, make: Make, tmp_path: Path
) -> None:
    digest = served.push(engine, "1", b"one")
    served.blobs[digest] = served.blobs[served.push(engine, "2", b"two")]
    with pytest.raises(InputError, match="cannot be pulled"):
        official_id(engine, make(digest), tmp_path)


def test_the_digest_of_the_first_pull_holds(
    engine: Any, served: Registry, make: Make, tmp_path: Path
) -> None:
    environment = make()
    reference = environment.docker.image
    assert reference is not None
    first = served.push(engine, "1", b"one")
    official_id(engine, environment, tmp_path)
    assert json.loads((tmp_path / LOCK).read_text()) == {reference: first}
    engine.images.remove(reference, force=True)
    official_id(engine, environment, tmp_path)  # pulled again, and the same
    engine.images.remove(reference, force=True)
    second = served.push(engine, "1", b"two")
    with pytest.raises(InputError, match="when first used") as caught:
        official_id(engine, environment, tmp_path)
    assert {first, second} <= set(str(caught.value).replace(",", "").split())
    assert json.loads((tmp_path / LOCK).read_text()) == {reference: first}


def test_a_record_that_cannot_be_read(
    engine: Any, served: Registry, make: Make, tmp_path: Path
) -> None:
    served.push(engine, "1", b"one")
    (tmp_path / LOCK).write_text("{")
    with pytest.raises(InputError, match="is no JSON") as caught:
        official_id(engine, make(), tmp_path)
    assert caught.value.where.file == str(tmp_path / LOCK)
