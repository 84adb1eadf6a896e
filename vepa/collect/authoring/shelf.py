"""Where accepted files go: never over another one, never half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from vepa.errors import RunError, SettingError, Where
from vepa.project import Project

__all__ = ["place_for", "taken", "write_new"]


def taken(project: Project, kind: str) -> dict[str, Path]:
    """Files of tasks or personas by id, those of the package included."""
    pattern = "**/*.yaml" if kind == "tasks" else "*.yaml"
    return {path.stem: path for path in project.all(kind, pattern)}


def place_for(project: Project, kind: str, area: str | None, name: str) -> Path:
    """The file of a new task or persona, in the project that the command works with.

    Raises
    ------
    SettingError
        When a link leads it out of the project.
    """
    root = project.candidates[0] / kind
    folder = root / area if area else root
    path = folder / f"{name}.yaml"
    if not path.resolve().is_relative_to(root.resolve()):
        raise SettingError(
            "this folder lies outside of the project",
            where=Where(str(folder)),
            remedy="name another area",
        )
    return path


def write_new(path: Path, text: str) -> bool:
    """Write a file whole and at once, unless one of that name is there; whether it was written.

    A second name for a finished file, not a renaming: that would replace what somebody else wrote
    in between.

    Raises
    ------
    RunError
        When the folder cannot be written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        try:
            with os.fdopen(fd, "w", encoding="utf-8") as handle:
                handle.write(text)
                handle.flush()
                os.fsync(handle.fileno())
                os.fchmod(handle.fileno(), 0o644)
            os.link(temporary, path)
        finally:
            Path(temporary).unlink(missing_ok=True)
    except FileExistsError:
        return False
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}") from None
    return True
