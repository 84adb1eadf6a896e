"""A page with three disputes."""

from __future__ import annotations

import pytest
from served_page import labelled_folder, served


@pytest.fixture
def folder(tmp_path):
    return labelled_folder(tmp_path / "labels")


@pytest.fixture
def page(folder):
    with served(folder) as running:
        yield running
