"""Bodies of the tasks of `flows/author.py`: one call each; what they hand on is plain data."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vepa.collect.authoring.session import AuthorSession, run_folder
from vepa.collect.authoring.settings import read_settings, settings_from
from vepa.errors import RunError
from vepa.project import Project

__all__ = ["begin_authoring", "end_authoring", "outcome_table", "settings_of", "write_one"]

#: Sessions of this process by their folder.
_SESSIONS: dict[str, AuthorSession] = {}
_GUARD = threading.Lock()


def settings_of(path: str | Path) -> dict[str, Any]:
    """Settings from a YAML file, as plain data."""
    return read_settings(path).model_dump(mode="json")


def begin_authoring(
    settings: Mapping[str, Any], project: str | None = None, artifacts: str | None = None
) -> dict[str, Any]:
    """Settle the wishes and open the model; offices are started when one is needed.

    Parameters
    ----------
    settings
        As `AuthorSettings` has them.
    project
        Folder of the project; the working directory when left out.
    artifacts
        Folder of what runs produce; the project's when left out.

    Returns
    -------
    dict
        `folder`, `numbers` of the wishes.

    Raises
    ------
    SettingError
        When a setting is wrong, or the model cannot be asked.
    """
    place = Project(project)
    folder = run_folder(Path(artifacts) if artifacts else place.artifacts_path)
    session = AuthorSession(place, settings_from(settings), folder)
    session.open()
    with _GUARD:
        _SESSIONS[str(folder)] = session
    return {"folder": str(folder), "numbers": [wish.number for wish in session.wishes]}


def write_one(folder: str | Path, number: int) -> dict[str, Any]:
    """Let the model write one file, prove it, keep it or send it back; what became of it."""
    with _GUARD:
        session = _SESSIONS.get(str(folder))
    if session is None:
        raise RunError(f"nothing is being written into {folder} by this process")
    return session.write(number)


def end_authoring(folder: str | Path) -> dict[str, Any]:
    """Stop the offices; the report of what was accepted and rejected.

    Raises
    ------
    RunError
        When nothing is being written into the folder.
    """
    with _GUARD:
        session = _SESSIONS.pop(str(folder), None)
    if session is None:
        raise RunError(f"nothing is being written into {folder} by this process")
    session.close()
    return session.report()


def outcome_table(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of what became of each wish: number, state, id, tries, reasons in words."""
    rows = sorted([*report["accepted"], *report["rejected"]], key=lambda row: row["number"])
    return [
        {
            "number": row["number"],
            "state": row["state"],
            "id": row["id"] or "",
            "tries": row["tries"],
            "reasons": "; ".join(
                f"{each['code']}: {each['message']}" for each in row["reasons"][:5]
            ),
        }
        for row in rows
    ]
