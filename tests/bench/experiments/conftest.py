"""The small catalogue, as a file and read."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from small_experiments import SMALL

from vepa.bench.experiments.catalogue import Catalogue, load_catalogue


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The small catalogue as a file."""
    file = tmp_path / "experiments.yaml"
    file.write_text(yaml.safe_dump(SMALL, sort_keys=False))
    return file


@pytest.fixture
def catalogue(written: Path) -> Catalogue:
    """The small catalogue."""
    return load_catalogue(str(written))
