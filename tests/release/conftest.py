"""One small release for all tests of a worker; nobody writes into it."""

from __future__ import annotations

import pytest
from small_release import built

from vepa.release.layout import read_manifest


@pytest.fixture(scope="session")
def release(tmp_path_factory):
    """The folder of a release that stands."""
    return built(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def manifest(release):
    """Its manifest."""
    return read_manifest(release)
