"""Croissant metadata of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vepa.release.layout import Manifest

__all__ = ["croissant"]


def croissant(manifest: Manifest, folder: Path) -> dict[str, Any]:
    """`croissant.json` as JSON data."""
    raise NotImplementedError
