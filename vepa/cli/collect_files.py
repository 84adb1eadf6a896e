"""Checks of the files behind a corpus: tasks, personas, prompts."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vepa.cli.findings import as_feedback
from vepa.errors import InputError
from vepa.policy.feedback import Feedback

if TYPE_CHECKING:
    from vepa.collect.personas import Persona
    from vepa.services.environment import Environment
    from vepa.services.world import World

__all__ = ["check_persona", "check_prompt", "check_task"]


def check_task(file: Path, _schemas: Any = None) -> list[Feedback]:
    """All that is wrong with a task; what it refers to is the project's."""
    from vepa.collect.tasks.load import read_task

    root = _root(file, "tasks")
    _, wrong = read_task(file, _environments(root), _personas(root))
    return [as_feedback(error) for error in wrong]


def check_persona(file: Path, _schemas: Any = None) -> list[Feedback]:
    """All that is wrong with a persona."""
    from vepa.collect.personas import read_persona

    return [as_feedback(error) for error in read_persona(file, _world(_root(file, "personas")))[1]]


def check_prompt(file: Path, _schemas: Any = None) -> list[Feedback]:
    """A prompt with its template and the schema of its answer."""
    from vepa.llm.prompts import read_prompt

    read_prompt(file)
    return []


def _root(file: Path, kind: str) -> Path:
    """The project's folder that a file of this kind lies in."""
    return next(up.parent for up in file.absolute().parents if up.name == kind)


@lru_cache(maxsize=8)
def _environments(root: Path) -> dict[str, Environment] | None:
    """The project's environments; None where one is broken, which its own check says."""
    from vepa.project import Project
    from vepa.services.environment import load_environments

    try:
        return {each.name: each for each in load_environments(Project(root))}
    except InputError:
        return None


@lru_cache(maxsize=8)
def _personas(root: Path) -> dict[str, Persona] | None:
    from vepa.collect.personas import load_personas
    from vepa.project import Project

    try:
        return load_personas(Project(root))
    except InputError:
        return None


@lru_cache(maxsize=8)
def _world(root: Path) -> World | None:
    from vepa.project import Project
    from vepa.services.world import load_world

    try:
        return load_world(Project(root).find("environments", "world.yaml"))
    except InputError:
        return None
