"""The raw files of other benchmarks, which do not ship with the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

__all__ = ["COUNTS", "DATA", "RAW", "needs_raw", "raw_file"]

#: Where they are, if anywhere.
RAW = os.environ.get("VEPA_DATA_RAW", "")
#: Name of a file without its ending -> its records.
COUNTS = {"assebench_security": 817, "rjudge_dev": 188, "atbench_dev": 150}
#: The bundled events, and what else ships as data.
DATA = Path(__file__).parents[2] / "data"

needs_raw = pytest.mark.skipif(
    not RAW, reason="NOT RUN: VEPA_DATA_RAW does not name the folder of the raw files"
)


def raw_file(stem: str) -> Path:
    """One of the raw files; a test that asks for it is marked with `needs_raw`."""
    return Path(RAW) / f"{stem}.json"
