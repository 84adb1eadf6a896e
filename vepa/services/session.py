"""An episode's way to the tools: one caller, its own aliases, every write on record."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from vepa.errors import InputError, Where
from vepa.policy.schema import nearest
from vepa.services.aliases import AliasTable
from vepa.services.drivers import Deadline, Endpoint, Unreachable
from vepa.services.environment import Environment, Tool, check_arguments
from vepa.services.steps import Connection, StepRefused
from vepa.services.templates import evaluate
from vepa.services.world import World

__all__ = ["Outcome", "ToolSession", "Workplace"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool answered.

    Attributes
    ----------
    ok
        Whether the service did what was asked.
    content
        What a model sees: text, or JSON in the tool's own key order; volatile values as aliases.
    truncated
        Whether the content was cut at the tool's limit.
    raw
        The same before aliasing and cutting, as data.
    seconds
        Time that the call took.
    """

    ok: bool
    content: str
    truncated: bool
    raw: Any
    seconds: float


class Workplace(Protocol):
    """What a session needs of its office."""

    @property
    def environments(self) -> Mapping[str, Environment]:
        """Name -> environment."""
        ...

    @property
    def world(self) -> World:
        """The seeded world."""
        ...

    def endpoint(self, name: str) -> Endpoint:
        """Where a service listens now."""
        ...

    def captured(self) -> Sequence[tuple[str, str]]:
        """Volatile values of the seeds, in a fixed order."""
        ...

    def written(self, name: str) -> None:
        """Put on record that the state of a service may differ from its seed."""
        ...


class ToolSession:
    """Calls tools as one account; not to be shared by threads.

    Parameters
    ----------
    office
        Where the services run.
    role
        The account: a persona role, or `person:ID`; None: each tool's own example account.
    key
        A word that tells this episode from others on the same office (transaction ids).
    """

    def __init__(self, office: Workplace, role: str | None, key: str):
        self._office = office
        self._role = role
        self._key = key
        self._connections: dict[str, Connection] = {}
        self._tools: dict[str, tuple[Environment, Tool]] = {
            tool.name: (environment, tool)
            for environment in office.environments.values()
            for tool in environment.tools
        }
        self.aliases = AliasTable(
            office.captured(), clock=office.world.now, started=datetime.now(UTC)
        )

    @property
    def tools(self) -> list[Tool]:
        """Every tool of the office, sorted by name."""
        return [self._tools[name][1] for name in sorted(self._tools)]

    def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Call a tool.

        Parameters
        ----------
        name
            Of the tool.
        arguments
            As its schema asks; aliases of this episode stand for the service's own values.

        Raises
        ------
        InputError
            When there is no such tool, or the arguments violate its schema. What the service
            refuses, or does not answer in time, is an outcome that is not `ok`.
        """
        if name not in self._tools:
            tools, service = sorted(self._tools), name.partition("_")[0]
            beside = [each for each in tools if each.partition("_")[0] == service]
            raise InputError(
                f"there is no tool {name!r}",
                where=Where(field="tool"),
                remedy=nearest(name, beside or tools, "tools"),
            )
        environment, tool = self._tools[name]
        check_arguments(tool, arguments)
        started = time.monotonic()
        number = self.aliases.begin_call()
        if tool.effect != "read":
            self._office.written(environment.name)
        try:
            ok, raw = self._answer(environment, tool, self.aliases.reveal(arguments), number)
        finally:  # again: a reset of another process may have come before what was sent
            if tool.effect != "read":
                self._office.written(environment.name)
        kinds = {kind: environment.volatile[kind] for kind in tool.volatile}
        seen = self.aliases.hide(raw, kinds)
        content = seen if isinstance(seen, str) else json.dumps(seen, ensure_ascii=False)
        content, truncated = _cut(content, tool.limits.characters)
        return Outcome(ok, content, truncated, raw, time.monotonic() - started)

    def _answer(
        self, environment: Environment, tool: Tool, arguments: Any, number: int
    ) -> tuple[bool, Any]:
        now = self.aliases.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        names = {
            "args": arguments,
            "call": {"number": number, "key": f"{self._key}-{number}", "time": now},
        }
        connection = self._connection(environment)
        try:
            saved = connection.run(
                tool.steps,
                self._role or tool.account,
                Deadline.after(tool.limits.seconds),
                names,
            )
            if tool.result is None:
                return True, saved["last"].data if saved["last"] is not None else None
            return True, evaluate(tool.result, {**connection.base, **names, **saved})
        except StepRefused as error:
            answer = error.answer
            message = answer.data if isinstance(answer.data, (dict, list)) else answer.text
            return False, {"error": {"status": answer.status, "message": message}}
        except Unreachable as error:
            self._forget(environment.name)
            return False, {"error": {"status": "unreachable", "message": str(error)}}
        except InputError as error:  # a fault of the environment file, not of the call
            raise error.at(file=str(environment.file)) from None

    def _connection(self, environment: Environment) -> Connection:
        known = self._connections.get(environment.name)
        endpoint = self._office.endpoint(environment.name)
        if known is not None and known.endpoint == endpoint:
            return known
        self._forget(environment.name)
        made = Connection(environment, endpoint, self._office.world)
        self._connections[environment.name] = made
        return made

    def _forget(self, name: str) -> None:
        known = self._connections.pop(name, None)
        if known is not None:
            known.close()

    def close(self) -> None:
        """Drop all connections."""
        for name in list(self._connections):
            self._forget(name)

    def __enter__(self) -> ToolSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _cut(content: str, limit: int) -> tuple[str, bool]:
    if len(content) <= limit:
        return content, False
    note = f"\n[cut: {len(content) - limit} more characters]"
    return content[:limit] + note, True
