"""Which episodes a collection consists of: one a task, model and seed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vepa.collect.personas import Persona
from vepa.collect.settings import CollectSettings
from vepa.collect.tasks.model import TEMPERAMENTS, Check, Task
from vepa.errors import SettingError, Where
from vepa.files import canonical_json, sha256_of
from vepa.llm.prompts import Prompt
from vepa.policy.schema import nearest
from vepa.services.environment import Environment, content_hash

__all__ = ["Materials", "Order", "environments_for", "orders_of", "touched"]

#: Letters of a model's name that the name of a file holds.
_LONGEST = 100
#: What a scripted agent's episodes are called.
_SCRIPTED = "scripted"


@dataclass(frozen=True)
class Materials:
    """What all episodes of a collection are made from.

    Attributes
    ----------
    environments, world_file
        The office.
    personas, prompts
        By name.
    digests
        Environment -> hash of its files and the world.
    """

    environments: Mapping[str, Environment]
    world_file: Path
    personas: Mapping[str, Persona]
    prompts: Mapping[str, Prompt]
    digests: Mapping[str, str]

    @classmethod
    def of(
        cls,
        environments: Sequence[Environment],
        world_file: Path,
        personas: Mapping[str, Persona],
        prompts: Mapping[str, Prompt],
    ) -> Materials:
        """With the digests worked out."""
        digests = {each.name: content_hash(each, world_file) for each in environments}
        known = {each.name: each for each in environments}
        return cls(known, world_file, personas, prompts, digests)


@dataclass(frozen=True)
class Order:
    """One episode to be played.

    Attributes
    ----------
    task, persona
        What is asked, by whom.
    model, seed
        Who acts.
    inputs
        All that the episode depends on: name -> hash or value.
    """

    task: Task
    persona: Persona
    model: str
    seed: int
    inputs: Mapping[str, str]

    @property
    def id(self) -> str:
        """Names the episode."""
        return f"{self.task.id}/{_slug(self.model)}/{self.seed}"

    @property
    def key(self) -> str:
        """SHA-256 of the inputs."""
        return sha256_of(canonical_json(dict(self.inputs)))

    @property
    def temperament(self) -> str | None:
        """Of a scripted agent."""
        kind, _, name = self.model.partition("/")
        return name if kind == _SCRIPTED else None

    @property
    def file(self) -> str:
        """Where the episode lies below the folder of episodes."""
        return f"{self.task.id}/{_slug(self.model)}-{self.seed}.episode.json"


def orders_of(
    tasks: Sequence[Task], settings: CollectSettings, materials: Materials
) -> list[Order]:
    """Every episode of a collection, by task, model and seed.

    Raises
    ------
    SettingError
        When a model is a script that there is not.
    """
    found: list[Order] = []
    for task in tasks:
        for model in _models(task, settings.models):
            # A script answers the same whatever the seed: once is all there is to it.
            seeds = 1 if model.startswith(f"{_SCRIPTED}/") else settings.seeds
            found += [_order(task, model, seed, settings, materials) for seed in range(seeds)]
    names = [order.id for order in found]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SettingError(
            f"two models would both be called {twice.split('/')[1]!r} in the names of files",
            where=Where(field="models"),
            remedy="collect them one after the other, into folders of their own",
        )
    return found


def _models(task: Task, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        kind, _, rest = name.partition("/")
        if kind != _SCRIPTED:
            yield name
        elif not rest:
            yield from (f"{_SCRIPTED}/{each}" for each in TEMPERAMENTS if each in task.plans)
        elif rest not in TEMPERAMENTS:
            raise SettingError(
                f"no scripted agent {rest!r}",
                where=Where(field="models"),
                remedy=nearest(rest, TEMPERAMENTS, "temperaments"),
            )
        elif rest in task.plans:
            yield name


def environments_for(tasks: Iterable[Task], materials: Materials) -> list[Environment]:
    """What an office needs for these tasks, sorted by name."""
    names = {name for task in tasks for name in touched(task, materials)}
    return [materials.environments[name] for name in sorted(names)]


def _order(
    task: Task, model: str, seed: int, settings: CollectSettings, materials: Materials
) -> Order:
    persona = materials.personas[task.persona]
    said = task.model_dump(mode="json", by_alias=True, exclude={"title", "notes", "plans"})
    temperament = model.partition("/")[2] if model.startswith(f"{_SCRIPTED}/") else None
    if temperament is not None:
        plans = {"careful", temperament}  # a bad plan may point into the careful one
        said["plans"] = {
            name: plan.model_dump(mode="json", by_alias=True)
            for name, plan in task.plans.items()
            if name in plans
        }
    inputs = {
        "task": sha256_of(canonical_json(said)),
        "persona": sha256_of(canonical_json(persona.model_dump(mode="json"))),
        "model": model,
        "seed": str(seed),
        "settings": sha256_of(canonical_json(settings.about(model))),
        **{f"prompt {name}": each.sha256 for name, each in sorted(materials.prompts.items())},
        **{f"environment {name}": materials.digests[name] for name in touched(task, materials)},
    }
    return Order(task, persona, model, seed, inputs)


def touched(task: Task, materials: Materials) -> list[str]:
    """The environments that an episode of the task may read or write, sorted."""
    named = [check.check for check in _flat([*task.success, *task.unsafe]) if check.check]
    named += [item.plant or item.environment or item.call or "" for item in task.planted]
    named += [decoy.like for decoy in task.decoys]
    owners = {
        tool.name: name for name, each in materials.environments.items() for tool in each.tools
    }
    found = {owners.get(name, name.partition(".")[0]) for name in named}
    return sorted((found | set(task.environments)) & set(materials.digests))


def _flat(checks: Sequence[Check]) -> Iterator[Check]:
    for check in checks:
        yield check
        yield from _flat(check.all or [])


def _slug(model: str) -> str:
    """A model's name as part of a file's; a long one is cut and told by its hash."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", model)
    return slug if len(slug) <= _LONGEST else f"{slug[: _LONGEST - 13]}-{sha256_of(model)[:12]}"
