"""What a reader could guess without reading: look-ups, and words that splits share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vepa.release.records import Split

if TYPE_CHECKING:
    import polars as pl

__all__ = ["leakage"]


def leakage(frames: Mapping[tuple[str, Split], pl.DataFrame]) -> dict[str, Any]:
    """How much the splits share, and how far look-ups come."""
    raise NotImplementedError
