"""Everything of a project that episodes are made from, loaded and held against each other."""

from __future__ import annotations

from collections.abc import Sequence

from vepa.collect.orders import Materials
from vepa.collect.personas import load_personas
from vepa.collect.tasks.load import load_tasks, matching
from vepa.collect.tasks.model import Task
from vepa.errors import SettingError
from vepa.llm.prompts import load_prompt
from vepa.project import Project
from vepa.services.environment import load_environments
from vepa.services.world import load_world

__all__ = ["PROMPTS", "assemble"]

#: Prompts of an episode.
PROMPTS = ("agent", "user")


def assemble(project: Project, patterns: Sequence[str] = ()) -> tuple[list[Task], Materials]:
    """The tasks of a project that fit, and what their episodes are made from.

    Parameters
    ----------
    project
        The project.
    patterns
        Ids of tasks, or patterns of them; all tasks when there are none.

    Raises
    ------
    SettingError
        At the first file that is wrong; names file, line, field and remedy.
    """
    environments = load_environments(project)
    if not environments:
        raise SettingError(
            "the project has no environments",
            remedy="--project names a folder with environments/NAME/environment.yaml",
        )
    world_file = project.find("environments", "world.yaml")
    personas = load_personas(project, load_world(world_file))
    known = {each.name: each for each in environments}
    tasks = load_tasks(matching(project, patterns).values(), known, personas)
    prompts = {name: load_prompt(project, name) for name in PROMPTS}
    return tasks, Materials.of(environments, world_file, personas, prompts)
