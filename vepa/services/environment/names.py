"""Names that templates use and nothing gives: found before anything is started."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from vepa.services.environment.model import Environment
from vepa.services.environment.parts import Step
from vepa.services.template_reading import names_in

__all__ = ["Unknown", "unknown_names"]

#: Path in the file, the name, and the names that are known there.
Unknown = tuple[tuple[str | int, ...], str, set[str]]

_EVERYWHERE = {"world", "secrets", "accounts", "host", "ports"}
_PROCESS = {*_EVERYWHERE, "python", "bin", "site", "folder", "data", "run"}
_STEP = {*_EVERYWHERE, "item", "number", "account", "last"}
_TOOL = {"args", "call"}


def unknown_names(environment: Environment) -> Iterator[Unknown]:
    """Every name that no context will have, with its place."""
    process = environment.process
    for key in ("command", "prepare", "files", "environment"):
        yield from _in(("process", key), names_in(getattr(process, key)), _PROCESS)
    yield from _in(("drivers",), names_in(environment.drivers), _EVERYWHERE)
    yield from _chain(("seed", "steps"), environment.seed.steps, {"seed"})
    yield from _chain(("reset", "steps"), environment.reset.steps, set())
    state = environment.state
    yield from _chain(("state", "steps"), state.steps, {"seed"}, ("value", state.value))
    for at, tool in enumerate(environment.tools):
        ending = ("result", tool.result) if tool.result is not None else None
        yield from _chain(("tools", at, "steps"), tool.steps, _TOOL, ending)
    for at, wanted in enumerate(environment.assertions):
        place = ("assertions", at, "steps")
        yield from _chain(place, wanted.steps, {"args"}, ("check", wanted.check))
    for at, plant in enumerate(environment.plants):
        yield from _chain(("plants", at, "steps"), plant.steps, {"args"})


def _chain(
    place: tuple[str | int, ...],
    steps: Iterable[Step],
    given: set[str],
    ending: tuple[str, str] | None = None,
) -> Iterator[Unknown]:
    """A chain of steps, each of which knows what the earlier ones saved, and what follows it."""
    known = {*_STEP, *given}
    for at, step in enumerate(steps):
        used: set[str] = names_in(_values(step))
        for expression in (step.each, step.when):
            used |= names_in(expression, expression=True) if expression else set()
        yield from _in((*place, at), used, known)
        for expression in step.capture.values():
            captured = names_in(expression, expression=True)
            yield from _in((*place, at, "capture"), captured, {*known, "answer"})
        if step.save:
            known.add(step.save)
    if ending is not None:
        key, expression = ending
        yield from _in((*place[:-1], key), names_in(expression, expression=True), known)


def _values(step: Step) -> list[Any]:
    return [step.request, step.account or ""]


def _in(place: tuple[str | int, ...], used: set[str], known: set[str]) -> Iterator[Unknown]:
    for name in sorted(used - known):
        yield place, name, known
