"""What an environment file names beyond itself: the world's secrets and people, drivers' settings.

Found when the file is read, so that a typing error does not show after minutes of seeding.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from vepa.errors import InputError, MissingExtraError
from vepa.policy.schema import nearest
from vepa.project import Project
from vepa.services.drivers import DRIVERS, Endpoint, make_driver
from vepa.services.environment.model import Environment
from vepa.services.environment.parts import Step
from vepa.services.template_reading import members_in
from vepa.services.world import World, load_world

__all__ = ["Fault", "all_drivers_known", "named_beyond", "world_file_of"]

#: Path in the file, what is wrong, and the remedy.
Fault = tuple[tuple[str | int, ...], str, str]
_Place = tuple[str | int, ...]


def named_beyond(environment: Environment) -> Iterator[Fault]:
    """Everything wrong in what the file names beyond itself."""
    yield from _wrong_settings(environment)
    world = _world_of(environment.file)
    if world is not None:
        yield from _unknown_in_world(environment, world)


def world_file_of(file: Path) -> Path | None:
    """The world file of the project that an environment file belongs to; None: there is none."""
    try:
        return Project(file.absolute().parents[2]).find("environments", "world.yaml")
    except (InputError, OSError, IndexError):
        return None


def all_drivers_known(environment: Environment) -> bool:
    """Whether settings were held against every driver, none of whose packages was missing."""
    return all(DRIVERS[name][0] in sys.modules for name in environment.drivers)


def _world_of(file: Path) -> World | None:
    """Its world; None where it is missing or wrong: its own check says so."""
    path = world_file_of(file)
    try:
        return _read(path, path.stat().st_mtime_ns) if path else None
    except (InputError, OSError):
        return None


@lru_cache(maxsize=4)
def _read(path: Path, _changed: int) -> World:
    return load_world(path)


def _unknown_in_world(environment: Environment, world: World) -> Iterator[Fault]:
    """Every secret and account that a template or a step names and the world does not have."""
    secrets = {each.id.replace("-", "_") for each in world.secrets}
    people = {f"person:{each.id}" for each in world.people}
    accounts = {*environment.accounts, *people}
    roles = set(world.roles.model_dump())
    for name, account in environment.accounts.items():
        if account.user is None and name not in roles:
            yield (
                ("accounts", name),
                f"nobody in the world has the role {name!r}",
                "give the account a user and a password, or one of the roles: "
                + ", ".join(sorted(roles)),
            )
    for place, text, expression in _texts(environment):
        for secret in sorted(members_in(text, "secrets", expression=expression)):
            if secret.replace("-", "_") not in secrets:
                remedy = nearest(secret, sorted(secrets), "secrets of the world")
                yield place, f"the world has no secret {secret!r}", remedy
        for who in sorted(members_in(text, "accounts", expression=expression)):
            if who not in accounts:
                yield place, *_no_account(who, accounts)
    for place, step in environment.all_steps():
        named = step.account or ""
        if named.startswith("person:") and "{{" not in named and named not in people:
            yield (*place, "as"), *_no_account(named, accounts)


def _no_account(name: str, known: set[str]) -> tuple[str, str]:
    among = sorted(each for each in known if each.startswith("person:") == name.startswith("p"))
    return f"there is no account {name!r}", nearest(name, among or sorted(known), "accounts")


def _wrong_settings(environment: Environment) -> Iterator[Fault]:
    """Every driver whose settings it does not take, templates aside."""
    endpoint = Endpoint("127.0.0.1", dict.fromkeys(environment.process.ports, 1))
    for name, settings in environment.drivers.items():
        if name not in DRIVERS:
            continue
        try:
            make_driver(name, settings, endpoint).close()
        except MissingExtraError:
            continue  # whoever starts it is told
        except InputError as error:
            inner = (error.where.field or "").split(".") if error.where.field else []
            if "{{" not in str(_at(settings, inner)):  # what a template gives shows later
                remedy = error.remedy or f"ports: {', '.join(environment.process.ports)}"
                yield ("drivers", name, *inner), error.message, remedy


def _at(value: Any, path: list[str]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if path else ""


def _texts(environment: Environment) -> Iterator[tuple[_Place, str, bool]]:
    """Every text with its place, and whether all of it is an expression."""
    process = environment.process
    for key in ("command", "prepare", "files", "environment"):
        yield from _inside(getattr(process, key), ("process", key))
    for key in ("command", "files", "environment"):
        yield from _inside(getattr(environment.docker, key), ("docker", key))
    yield from _inside(environment.drivers, ("drivers",))
    yield from _inside(environment.people.model_dump(), ("people",))
    for name, account in environment.accounts.items():
        for key in ("user", "password"):
            yield from _inside(getattr(account, key), ("accounts", name, key))
    for place, step in environment.all_steps():
        yield from _of_step(step, place)
    yield ("state", "value"), environment.state.value, True
    for at, tool in enumerate(environment.tools):
        if tool.result is not None:
            yield ("tools", at, "result"), tool.result, True
    for at, assertion in enumerate(environment.assertions):
        yield ("assertions", at, "check"), assertion.check, True


def _of_step(step: Step, place: _Place) -> Iterator[tuple[_Place, str, bool]]:
    yield from _inside(step.request, (*place, step.driver))
    yield from _inside(step.account, (*place, "as"))
    for key, expression in (("for", step.each), ("when", step.when)):
        if expression is not None:
            yield (*place, key), expression, True
    for kind, expression in step.capture.items():
        yield (*place, "capture", kind), expression, True


def _inside(value: Any, place: _Place) -> Iterator[tuple[_Place, str, bool]]:
    if isinstance(value, str):
        yield place, value, False
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield place, str(key), False
            yield from _inside(item, (*place, key))
    elif isinstance(value, (list, tuple)):
        for at, item in enumerate(value):
            yield from _inside(item, (*place, at))
