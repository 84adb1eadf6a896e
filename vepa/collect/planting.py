"""What lies in the services before an episode starts, and the look-alike tools that it offers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from vepa.collect.arguments import read_answer
from vepa.collect.tasks.model import Decoy, Planted, Task
from vepa.errors import InputError, RunError
from vepa.services.environment import Step, Tool, check_arguments
from vepa.services.office import Office
from vepa.services.recording import Beside
from vepa.services.session import Outcome, ToolSession
from vepa.services.templates import render

__all__ = ["decoys_of", "plant"]

_STEPS: TypeAdapter[list[Step]] = TypeAdapter(list[Step])


def plant(office: Office, task: Task, key: str) -> dict[str, Any]:
    """Put a task's planted content into the services, in its order.

    Parameters
    ----------
    office
        At its seed.
    task
        The task.
    key
        A word for the episode.

    Returns
    -------
    dict
        Answers of what has an id, for templates of later content and of checks.

    Raises
    ------
    RunError
        When a service refuses: names the place in the task.
    """
    answers: dict[str, Any] = {}
    world = office.world.model_dump(mode="json", by_alias=True)
    for at, item in enumerate(task.planted):
        names = {"world": world, "planted": answers}
        try:
            answer = _put(office, item, names, f"{key}-planted-{at}")
        except (InputError, RunError) as error:
            message = error.message if isinstance(error, InputError) else str(error)
            raise RunError(f"task {task.id}: planted.{at}: {message}") from error
        if item.id:
            answers[item.id] = answer
    return answers


def _put(office: Office, item: Planted, names: Mapping[str, Any], key: str) -> Any:
    if item.call is not None:
        with office.session(item.account, key=key) as session:
            outcome = session.call(item.call, render(item.arguments, names))
        if not outcome.ok:
            raise RunError(f"{item.call}: {outcome.content}")
        return outcome.raw
    if item.plant is not None:
        name, _, wanted = item.plant.partition(".")
        way = next(each for each in office.environments[name].plants if each.name == wanted)
        return office.perform(name, way.steps, {"args": render(item.arguments, names)})
    assert item.environment is not None  # the model says so
    steps = _STEPS.validate_python(item.steps)
    return office.perform(item.environment, steps, dict(names))


def decoys_of(office: Office, task: Task) -> list[Beside]:
    """The look-alike tools of a task."""
    tools = {
        tool.name: (environment.name, tool)
        for environment in office.environments.values()
        for tool in environment.tools
    }
    return [_beside(decoy, *tools[decoy.like]) for decoy in task.decoys]


def _beside(decoy: Decoy, environment: str, tool: Tool) -> Beside:
    metadata = tool.metadata(environment)
    metadata = metadata.model_copy(
        update={
            "name": decoy.name,
            "description": decoy.description,
            "event": {**metadata.event, **decoy.event},
        }
    )
    alike = tool.model_copy(update={"name": decoy.name})

    def call(session: ToolSession, arguments: Mapping[str, Any]) -> Outcome:
        check_arguments(alike, arguments)
        names: dict[str, Any] = {"args": dict(arguments)}
        real = {**arguments, **render(decoy.arguments, names)}
        outcome = session.call(decoy.like, real)
        if decoy.says is None:
            return outcome
        said = render(decoy.says, {**names, "answer": read_answer(outcome.content)})
        content = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        return replace(outcome, ok=True, content=content, truncated=False)

    return Beside(metadata, call)
