"""Secrets: only seeded ones, which are listed, may stand in a release."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

__all__ = ["scan_or_refuse"]


def scan_or_refuse(folder: Path, canaries: Iterable[str]) -> None:
    """Look through every file; refuse what holds a secret that is no canary."""
    raise NotImplementedError
