"""An environment: one service of the office, as data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, model_validator

from vepa.services.environment.base import Name, Part
from vepa.services.environment.parts import (
    ROLES,
    Account,
    Assertion,
    People,
    Reset,
    Seed,
    State,
    Step,
    VolatileKind,
)
from vepa.services.environment.plant import Plant
from vepa.services.environment.running import Docker, Health, Process, Software
from vepa.services.environment.tool import Tool

__all__ = ["Environment"]


class Environment(Part):
    """The content of an `environment.yaml`.

    Attributes
    ----------
    environment
        Version of the format.
    name
        Name of its folder.
    title, description
        For people.
    software
        What runs.
    process, docker
        The two ways to run it.
    health
        How to tell that it answers.
    drivers
        Driver -> its settings (ports, how to log in); tools may use these drivers only.
    people
        User name and password of everybody in the world.
    accounts
        `admin`, and what the account of each persona role may do.
    seed, reset, state
        How the seed gets in, how it comes back, and what is compared.
    volatile
        Kinds of volatile values.
    tools, assertions, plants
        What agents and tasks can use.
    """

    environment: Literal[1]
    name: Name
    title: str
    description: str
    software: Software
    process: Process
    docker: Docker = Docker()
    health: Health
    drivers: dict[Name, dict[str, Any]] = Field(min_length=1)
    people: People = People()
    accounts: dict[Name, Account]
    seed: Seed = Seed()
    reset: Reset = Reset()
    state: State
    volatile: dict[Name, VolatileKind] = {}
    tools: Annotated[list[Tool], Field(min_length=1)]
    assertions: list[Assertion] = []
    plants: list[Plant] = []

    _folder: Path = PrivateAttr(default=Path())

    @property
    def folder(self) -> Path:
        """The folder that holds the file."""
        return self._folder

    @property
    def file(self) -> Path:
        """The file itself."""
        return self._folder / "environment.yaml"

    def tool(self, name: str) -> Tool | None:
        """The tool of that name."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def all_steps(self) -> Iterator[tuple[tuple[str | int, ...], Step]]:
        """Every step with its path in the file."""
        groups: list[tuple[tuple[str | int, ...], list[Step]]] = [
            (("seed", "steps"), self.seed.steps),
            (("reset", "steps"), self.reset.steps),
            (("state", "steps"), self.state.steps),
        ]
        groups += [(("tools", at, "steps"), tool.steps) for at, tool in enumerate(self.tools)]
        groups += [
            (("assertions", at, "steps"), item.steps) for at, item in enumerate(self.assertions)
        ]
        groups += [(("plants", at, "steps"), item.steps) for at, item in enumerate(self.plants)]
        for path, steps in groups:
            for at, step in enumerate(steps):
                yield (*path, at), step

    def place_of(self, step: Step) -> tuple[str | int, ...]:
        """Path of a step in the file; empty where it comes from elsewhere, such as a task."""
        return next((path for path, each in self.all_steps() if each is step), ())

    @model_validator(mode="after")
    def _accounts_for_all(self) -> Environment:
        # A message that begins with a path, `accounts: ...`, is told at its line (see `load`).
        absent = {"admin", *ROLES} - set(self.accounts)
        if absent:
            raise ValueError(f"accounts: none for {', '.join(sorted(absent))}")
        if self.accounts["admin"].user is None:
            raise ValueError("accounts.admin: `admin` is no person: it needs a user and a password")
        return self

    @model_validator(mode="after")
    def _ports_exist(self) -> Environment:
        ports = set(self.process.ports)
        for at, check in enumerate(self.health.checks):
            if check.port not in ports:
                raise ValueError(f"health.checks.{at}: it names no port of `process.ports`")
        if self.docker.image is not None and set(self.docker.ports) - ports:
            raise ValueError("docker.ports: it has a name that `process.ports` has not")
        return self

    @model_validator(mode="after")
    def _tools_fit(self) -> Environment:
        names: set[str] = set()
        for at, tool in enumerate(self.tools):
            place = f"tools.{at}"
            if tool.name in names:
                raise ValueError(f"{place}.name: {tool.name!r} occurs twice")
            names.add(tool.name)
            if not tool.name.startswith(f"{self.name}_"):
                raise ValueError(f"{place}.name: {tool.name!r} does not begin with `{self.name}_`")
            unknown = set(tool.volatile) - set(self.volatile)
            if unknown:
                raise ValueError(f"{place}.volatile: no kind {min(unknown)!r}")
            if tool.account not in self.accounts:
                raise ValueError(f"{place}.account: no account {tool.account!r}")
        return self

    @model_validator(mode="after")
    def _steps_fit(self) -> Environment:
        for path, step in self.all_steps():
            place = ".".join(map(str, path))
            if step.driver not in self.drivers:
                raise ValueError(
                    f"{place}: {step.driver!r} is none of this environment's drivers "
                    f"({', '.join(self.drivers)})"
                )
            who = step.account
            named = who is not None and "{{" not in who and not who.startswith("person:")
            if named and who not in self.accounts:
                raise ValueError(f"{place}.as: no account {who!r}")
            unknown = set(step.capture) - set(self.volatile)
            if unknown:
                raise ValueError(f"{place}.capture: no volatile kind {min(unknown)!r}")
        return self
