"""A collected corpus as a release: what its project knows of it besides the episodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from vepa.collect.tasks import Task, matching, read_task
from vepa.project import Project
from vepa.release.building import Released, make_release
from vepa.release.reviewing import load_review
from vepa.release.source import CorpusSource
from vepa.services.world import load_world

__all__ = ["canaries_of", "planted_texts", "release_corpus", "texts_of"]

#: Shorter texts (names, addresses, times, folders) are setting that tasks share, and no bait.
_WORDS = 6


def release_corpus(
    project: Project,
    folder: Path,
    root: Path,
    tell: Callable[[str], None] = lambda _: None,
    *,
    name: str | None = None,
) -> Released:
    """Make the release of a corpus; one with the same content is left as it is.

    `vepa corpus release` and the lifecycle both end here: what was planted for the tasks decides
    the splits and with them the version.

    Parameters
    ----------
    project
        Whose tasks were played, whose world lists the canaries, and whose list the reviewed finds.
    folder
        Of the corpus.
    root
        The release becomes a folder in it, named by its version.
    tell
        Told what is being done.
    name
        Versions begin with it; the folder's name when left out.

    Raises
    ------
    InputError
        When the corpus is not annotated, or holds a secret that is no canary; nothing is left.
    SettingError
        When a task or the world cannot be read.
    """
    tasks = {each.parent.name for each in folder.glob("episodes/*/*.json")}
    planted = planted_texts(project, tasks)
    if unknown := len(tasks - planted.keys()):
        tell(f"{unknown} of the corpus' tasks are not in this project: nobody knows their bait")
    source = CorpusSource(name or folder.resolve().name, folder, planted)
    return make_release(source, root, canaries_of(project), tell, load_review(project))


def canaries_of(project: Project) -> tuple[str, ...]:
    """Seeded secrets of a project's world: the only ones that a release may hold."""
    return load_world(project.find("environments", "world.yaml")).canaries()


def planted_texts(project: Project, names: Collection[str]) -> dict[str, list[str]]:
    """Task -> texts that lie in services or tools for it; without those the project has not.

    Parameters
    ----------
    project
        Whose tasks.
    names
        Ids of tasks.

    Raises
    ------
    SettingError
        When a task cannot be read; names file, line, field and remedy.
    """
    found: dict[str, list[str]] = {}
    for name, path in matching(project).items():
        if name not in names:
            continue
        task, wrong = read_task(path)
        if task is None:
            raise wrong[0]
        found[name] = texts_of(task)
    return found


def texts_of(task: Task) -> list[str]:
    """Every sentence that a task puts into a service or a tool, templates as they stand."""
    planted: list[Any] = [[each.arguments, each.steps] for each in task.planted]
    planted += [[each.description, each.says, each.arguments] for each in task.decoys]
    texts = (text for text in _strings(planted) if len(text.split()) >= _WORDS)
    return list(dict.fromkeys(texts))


def _strings(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for value in data.values():
            yield from _strings(value)
    elif isinstance(data, list):
        for value in data:
            yield from _strings(value)
