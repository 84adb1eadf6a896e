"""From settings to single wishes, held against what the project has; and what they will cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vepa.collect.authoring.material import Library
from vepa.collect.authoring.settings import AuthorSettings, Wish
from vepa.collect.authoring.shelf import taken
from vepa.collect.materials import assemble
from vepa.errors import SettingError, Where
from vepa.llm import ModelRequest, count_tokens, estimate
from vepa.policy.schema import nearest
from vepa.project import Project
from vepa.services.world import load_world

__all__ = ["Estimate", "estimate_writing", "known", "load_library", "settle"]

#: Services of a task where none is wished for.
_EACH = 2
#: Tokens of a draft, and of the reasons that go back (the bundled tasks have 700 to 2,200).
_DRAFT, _REASONS = 1800, 1200


@dataclass(frozen=True, slots=True)
class Estimate:
    """What writing will take: from every draft accepted at once to all tries used.

    Attributes
    ----------
    prompt, completion
        Tokens read and written, at least and at most.
    dollars
        US dollars, likewise; None where the price is not known.
    """

    prompt: tuple[int, int]
    completion: tuple[int, int]
    dollars: tuple[float, float] | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        return asdict(self)


def load_library(project: Project) -> Library:
    """Everything that a project has for authors.

    Raises
    ------
    SettingError
        At the first file that is wrong; names file, line, field and remedy.
    """
    tasks, materials = assemble(project)
    files = {**taken(project, "personas"), **taken(project, "tasks")}
    return Library(materials, load_world(materials.world_file), tasks, files)


def settle(settings: AuthorSettings, library: Library) -> list[Wish]:
    """One wish for each task or persona.

    Raises
    ------
    SettingError
        When a service, a persona or a person is none, or a persona's id is taken.
    """
    materials = library.materials
    numbers = range(1, settings.count + 1)
    if settings.kind == "persona":
        if settings.person is not None:
            people = [person.id for person in library.world.people]
            known(settings.person, people, "--person", "person of the world")
        if settings.persona in materials.personas:
            raise SettingError(
                f"there is a persona {settings.persona!r}",
                where=Where(field="--id"),
                remedy="choose another id",
            )
        return [Wish(number=at, persona=settings.persona, person=settings.person) for at in numbers]
    for name in settings.environments:
        known(name, materials.environments, "--env", "environment")
    if settings.persona is not None:
        known(settings.persona, materials.personas, "--persona", "persona")
    used = Counter(dict.fromkeys(materials.environments, 0))
    used.update(name for task in library.tasks for name in task.environments)
    return [_task(at, settings, used) for at in numbers]


def known(name: str, names: Iterable[str], option: str, what: str) -> None:
    """Refuse a name that is none of `names`."""
    every = sorted(names)
    if name not in every:
        raise SettingError(
            f"no {what} {name!r}", where=Where(field=option), remedy=nearest(name, every, what)
        )


def _task(number: int, settings: AuthorSettings, used: Counter[str]) -> Wish:
    """A wish; services are those that the fewest tasks use, unless some are named."""
    names = settings.environments
    if not names:
        names = sorted(sorted(used), key=lambda name: used[name])[:_EACH]
        used.update(names)
    return Wish(
        number=number,
        environments=list(dict.fromkeys(names)),
        trigger=settings.trigger,
        clean=settings.clean,
        persona=settings.persona,
    )


def estimate_writing(requests: Sequence[ModelRequest], settings: AuthorSettings) -> Estimate:
    """What first requests and their tries will take.

    A draft is taken to have 1,800 tokens. A model that thinks at length writes more: the budgets of
    the settings are what holds.
    """
    model, further = settings.model, settings.tries
    first = sum(count_tokens(request, model) for request in requests)
    more = further * (first + len(requests) * (_DRAFT + _REASONS))
    written = len(requests) * _DRAFT
    prompt, completion = (first, first + more), (written, written * (further + 1))
    least, most = (
        estimate(model, read, wrote, settings.model_settings)
        for read, wrote in zip(prompt, completion, strict=True)
    )
    dollars = None if least is None or most is None else (least, most)
    return Estimate(prompt, completion, dollars)
