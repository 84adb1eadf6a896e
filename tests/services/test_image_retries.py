"""A build is begun again when somebody else removed the image that it stood on, and only then."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import BuildError

from vepa.errors import RunError
from vepa.services.runtimes.images import Recipe, _build

GONE = "failed to export image: failed to set parent sha256:ab: unknown parent image ID sha256:ab"


class Images:
    """An engine's images that fail to build with these words, one a time."""

    def __init__(self, *failures: str):
        self.failures, self.sent = list(failures), []

    def build(self, *, fileobj: Any, **_: Any) -> None:
        self.sent.append(fileobj.read())
        if self.failures:
            raise BuildError(self.failures.pop(0), [{"stream": "Step 1\n"}])


def built(images: Images, folder: Path) -> None:
    recipe = Recipe(name="tiny", packages=[], folder=folder)
    _build(SimpleNamespace(images=images), recipe, io.BytesIO(b"context"), "vepa/tiny:1", "1")


def test_the_whole_context_is_sent_again(tmp_path):
    images = Images(GONE, GONE)
    built(images, tmp_path)
    assert images.sent == [b"context"] * 3


def test_not_for_ever(tmp_path):
    images = Images(*[GONE] * 9)
    with pytest.raises(RunError, match="unknown parent image"):
        built(images, tmp_path)
    assert len(images.sent) == 4


def test_another_failure_is_told_at_once(tmp_path):
    images = Images("no space left on device")
    with pytest.raises(RunError, match="tiny cannot be built: no space left") as caught:
        built(images, tmp_path)
    assert "Step 1" in str(caught.value)
    assert len(images.sent) == 1
