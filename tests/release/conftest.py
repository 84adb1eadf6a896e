"""One small release for all tests of a worker; nobody writes into it."""

from __future__ import annotations

import shutil

import pytest
from small_release import built

from vepa.release import checking
from vepa.release.layout import read_manifest


@pytest.fixture(scope="session")
def release(tmp_path_factory):
    """The folder of a release that stands."""
    return built(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def manifest(release):
    """Its manifest."""
    return read_manifest(release)


@pytest.fixture
def copy(release, tmp_path):
    """A copy of a release that a test may spoil."""
    return shutil.copytree(release, tmp_path / release.name)


@pytest.fixture
def without_croissant(monkeypatch):
    """Its checker takes a second; one test lets it look."""
    monkeypatch.setattr(checking, "_croissant", lambda folder, problems: [])
