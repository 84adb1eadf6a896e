"""The project's own trajectories, and episodes of its collection agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vepa.corpus.importing.format import Format, checked
from vepa.corpus.importing.report import Notes
from vepa.corpus.trajectory import SCHEMA_VERSION, Trajectory
from vepa.errors import InputError, Where

__all__ = ["OwnTrajectories"]


class OwnTrajectories(Format):
    """What `vepa import` and `vepa collect` write; ids stay as they are."""

    name = "vepa"
    title = "VEPA trajectories and episodes"

    def recognise(self, data: Any) -> bool:
        """An object with a schema version and steps, or with a trajectory inside."""
        if not isinstance(data, dict):
            return False
        inner = data.get("trajectory")
        return "schema_version" in data and ("steps" in data or isinstance(inner, dict))

    def read(self, data: Any, head: Mapping[str, Any], notes: Notes) -> Iterator[Trajectory]:
        """One trajectory; of an episode the trajectory alone."""
        path = ""
        if isinstance(data, dict) and isinstance(data.get("trajectory"), dict):
            data, path = data["trajectory"], "trajectory."
        if not isinstance(data, dict):
            raise InputError("an object belongs here")
        if data.get("schema_version") != SCHEMA_VERSION:
            raise InputError(
                f"schema_version {data.get('schema_version')!r} is not known; this program reads "
                f"{SCHEMA_VERSION}",
                where=Where(field=f"{path}schema_version"),
                remedy="read it with the release of vepa that wrote it, or import the source again",
            )
        yield checked(Trajectory, data, path=path)
