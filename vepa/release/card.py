"""The card and the datasheet of a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vepa.release.layout import Manifest

__all__ = ["card", "datasheet"]


def card(manifest: Manifest, leaks: Mapping[str, Any]) -> str:
    """`README.md`: what loaders and people read first."""
    raise NotImplementedError


def datasheet(manifest: Manifest, leaks: Mapping[str, Any]) -> str:
    """`DATASHEET.md`: the questions of Gebru et al. answered."""
    raise NotImplementedError
