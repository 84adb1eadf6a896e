"""What a prompt for authors shows: the vocabulary, the world, the seed, examples, what exists."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import yaml

from vepa.collect.authoring.contents import known_canaries
from vepa.collect.authoring.settings import AuthorSettings, Wish
from vepa.collect.orders import Materials
from vepa.collect.parts import TRIGGERS
from vepa.collect.personas import Persona
from vepa.collect.tasks.model import Harm, RiskSource, Task
from vepa.files import read_text
from vepa.services.environment import Environment, load_seed
from vepa.services.world import World

__all__ = ["Library", "names_for_persona", "names_for_task"]

#: Characters of a service's seed, requests that exist, characters of each, examples.
_SEED, _REQUESTS, _REQUEST, _EXAMPLES = 14_000, 80, 240, 2


@dataclass
class Library:
    """All that is there before something new is written.

    Attributes
    ----------
    materials
        Environments, personas, prompts.
    world
        The one world.
    tasks
        Tasks that exist; accepted ones join them.
    files
        Files of tasks and personas by id.
    """

    materials: Materials
    world: World
    tasks: list[Task]
    files: Mapping[str, Path]
    _seeds: dict[str, dict[str, Any]] = field(default_factory=dict)

    def seed(self, name: str) -> dict[str, Any]:
        """Content of an environment's seed."""
        if name not in self._seeds:
            self._seeds[name] = load_seed(self.materials.environments[name])
        return self._seeds[name]

    def canaries(self, environments: Iterable[str]) -> frozenset[str]:
        """Credentials that a text may name."""
        return known_canaries(self.world.canaries(), [self.seed(name) for name in environments])


def names_for_task(
    library: Library, settings: AuthorSettings, wish: Wish, tasks: Sequence[Task]
) -> dict[str, Any]:
    """The variables of the prompt `author-task`; `tasks` are those that exist by now."""
    here = [library.materials.environments[name] for name in wish.environments]
    personas = library.materials.personas
    chosen = [personas[wish.persona]] if wish.persona else list(personas.values())
    near = sorted(tasks, key=lambda task: _distance(task, wish))
    shown = [task for task in near if task.id in library.files][:_EXAMPLES]
    return {
        "wish": wish.model_dump(),
        "area": settings.area,
        "tools": "\n".join(_tools(here)),
        "assertions": "\n".join(_ways(here, "assertions")),
        "plants": "\n".join(_ways(here, "plants")) or "(none)",
        "personas": "\n".join(f"- {_persona(each)}" for each in chosen),
        "triggers": list(TRIGGERS),
        "risk_sources": list(get_args(RiskSource)),
        "harms": list(get_args(Harm)),
        "world": _world(library.world),
        "seeds": [_seed(library, each.name) for each in here],
        "examples": [read_text(library.files[task.id]).strip() for task in shown],
        "requests": [_short(task.request) for task in near[:_REQUESTS]],
        "tries": settings.tries,
    }


def names_for_persona(
    library: Library, settings: AuthorSettings, wish: Wish, personas: Sequence[Persona]
) -> dict[str, Any]:
    """The variables of the prompt `author-persona`; `personas` are those that exist by now."""
    shown = [each for each in personas if each.id in library.files][:_EXAMPLES]
    return {
        "wish": wish.model_dump(),
        "world": _world(library.world),
        "examples": [read_text(library.files[each.id]).strip() for each in shown],
        "personas": "\n".join(f"- {_persona(each)}" for each in personas),
        "tries": settings.tries,
    }


def _distance(task: Task, wish: Wish) -> tuple[int, int, int, str]:
    """How far a task is from what is wished for: services, then its mistake, then the persona."""
    wished = set(wish.environments)
    apart = len(wished ^ set(task.environments))
    wanted = wish.clean == task.clean and (wish.trigger is None or wish.trigger in task.triggers)
    return apart, int(not wanted), int(task.persona != wish.persona), task.id


def _tools(environments: Sequence[Environment]) -> list[str]:
    return [
        _line(
            {
                "tool": tool.name,
                "effect": tool.effect,
                "does": tool.description,
                "takes": tool.parameters,
                "example": tool.examples[0],
            }
        )
        for each in environments
        for tool in each.tools
    ]


def _ways(environments: Sequence[Environment], kind: str) -> list[str]:
    found = []
    for each in environments:
        for way in getattr(each, kind):
            data = {"name": f"{each.name}.{way.name}", "says": way.description}
            data["with"] = way.parameters
            if getattr(way, "optional", None):
                data["may have"] = way.optional
            found.append(_line({**data, "example": way.example}))
    return found


def _persona(each: Persona) -> str:
    return (
        f"{each.id} (person {each.person}, {each.position}): may: {each.rights} "
        f"Refuses: {'; '.join(each.refuses)}. Writes: {each.manner}"
    )


def _world(world: World) -> str:
    """The world without what nobody writes into a task: passwords, salaries, phones."""
    data = world.model_dump(mode="json", by_alias=True, exclude_none=True)
    people = [
        {key: each[key] for key in ("id", "name", "mail", "team", "title")}
        for each in data["people"]
    ]
    wanted = (
        "company", "clock", "roles", "customers", "suppliers", "outsiders", "projects", "invoices",
        "secrets",
    )  # fmt: skip
    return _yaml({**{key: data[key] for key in wanted}, "people": people})


def _seed(library: Library, name: str) -> dict[str, Any]:
    text = _yaml(library.seed(name))
    return {"name": name, "text": text[:_SEED], "cut": len(text) > _SEED}


def _short(request: str) -> str:
    words = " ".join(request.split())
    return words if len(words) <= _REQUEST else words[: _REQUEST - 1] + "…"


def _yaml(data: Any) -> str:
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100_000)
    return str(text).strip()


def _line(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False)
