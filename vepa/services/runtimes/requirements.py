"""Which packages share one Python environment: those of the environments of one folder.

The nine that come with VEPA resolve together. A project's own environments get one of their own,
so that a tenth service can ask for what the nine could not live with.
"""

from __future__ import annotations

from pathlib import Path

from vepa.services.environment import Environment, load_environment

__all__ = ["constraints_of", "requirements_of"]


def requirements_of(environment: Environment) -> list[str]:
    """The pinned packages of all environments beside this one, sorted."""
    files = sorted(environment.folder.parent.glob("*/environment.yaml"))
    found: set[str] = set()
    for file in files:
        same = file == environment.file
        found.update((environment if same else load_environment(file)).process.packages)
    return sorted(found)


def constraints_of(environment: Environment) -> Path | None:
    """The file with the tested versions beside the environments, where there is one."""
    file = environment.folder.parent / "constraints.txt"
    return file if file.is_file() else None
