"""Reading task files: every fault with file, line, field and remedy, before anything is started."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from vepa.collect.parts import fault, read_part
from vepa.collect.personas import Persona
from vepa.collect.tasks.model import Task
from vepa.collect.tasks.references import faults_of
from vepa.errors import SettingError, Where
from vepa.files import canonical_json, sha256_of
from vepa.policy.schema import nearest
from vepa.project import Project
from vepa.services.environment import Environment

__all__ = ["load_task", "load_tasks", "matching", "read_task", "task_hash"]

PAGE = "docs/tasks.md"


def read_task(
    path: str | Path,
    environments: Mapping[str, Environment] | None = None,
    personas: Mapping[str, Persona] | None = None,
) -> tuple[Task | None, list[SettingError]]:
    """Read one task, or find all that is wrong with it.

    Parameters
    ----------
    path
        The file.
    environments, personas
        What its references are held against, by name; left out, they are not checked.

    Raises
    ------
    SettingError
        When the file cannot even be parsed.
    """
    task, document, wrong = read_part(path, Task, PAGE)
    if task is None:
        return None, wrong
    remedy = f"{PAGE} describes every key"
    if task.id != Path(path).stem:
        wrong.append(
            fault(document, ("id",), f"the file is called {Path(path).stem!r}", "use one name")
        )
    if personas is not None and task.persona not in personas:
        near = nearest(task.persona, sorted(personas), "personas")
        wrong.append(fault(document, ("persona",), f"no persona {task.persona!r}", near))
    for place, message, hint in faults_of(task, environments):
        wrong.append(fault(document, place, message, hint or remedy))
    return task, wrong


def load_task(
    path: str | Path,
    environments: Mapping[str, Environment],
    personas: Mapping[str, Persona],
) -> Task:
    """Read one task; raises `SettingError` at its first fault."""
    task, wrong = read_task(path, environments, personas)
    if task is None or wrong:
        raise wrong[0]
    return task


def matching(project: Project, patterns: Sequence[str] = ()) -> dict[str, Path]:
    """The task files of a project by id, narrowed to ids that fit one of the patterns.

    Raises
    ------
    SettingError
        When a pattern fits none, or the project has no task.
    """
    files = {path.stem: path for path in project.all("tasks", "**/*.yaml")}
    if not files:
        raise SettingError(
            "the project has no task",
            where=Where("tasks"),
            remedy=f"write one as {PAGE} describes, or `vepa tasks new`",
        )
    chosen: dict[str, Path] = {}
    for pattern in patterns or ("*",):
        fitting = {name: path for name, path in files.items() if fnmatchcase(name, pattern)}
        if not fitting:
            raise SettingError(
                f"no task fits {pattern!r}",
                where=Where(field="--tasks"),
                remedy=nearest(pattern, sorted(files), "tasks"),
            )
        chosen |= fitting
    return {name: chosen[name] for name in sorted(chosen)}


def load_tasks(
    files: Iterable[Path],
    environments: Mapping[str, Environment],
    personas: Mapping[str, Persona],
) -> list[Task]:
    """Read tasks; raises `SettingError` at the first fault."""
    return [load_task(path, environments, personas) for path in files]


def task_hash(task: Task) -> str:
    """SHA-256 over all that a task says, in canonical form."""
    return sha256_of(canonical_json(task.model_dump(mode="json", by_alias=True)))
