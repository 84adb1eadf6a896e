"""The record that a trajectory was read from, for formats that keep enough of it."""

from __future__ import annotations

from typing import Any

from vepa.corpus.importing.formats import FORMATS, format_of
from vepa.corpus.importing.formats.role_turns import RoleTurns
from vepa.corpus.trajectory import Trajectory
from vepa.errors import InputError, Where

__all__ = ["restore"]


def restore(trajectory: Trajectory) -> dict[str, Any]:
    """The record in its own format, exactly as it was.

    Raises
    ------
    InputError
        When its format keeps too little, or it was not imported.
    """
    kind = format_of(trajectory.format) if trajectory.format in FORMATS else None
    if not isinstance(kind, RoleTurns):
        able = [name for name in FORMATS if isinstance(format_of(name), RoleTurns)]
        raise InputError(
            f"a record of the format {trajectory.format!r} cannot be restored",
            where=Where(field="format"),
            remedy=f"only those of {', '.join(able)} can",
        )
    return kind.restore(trajectory)
