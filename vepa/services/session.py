"""An episode's way to the tools: one caller, its own aliases, every write on record."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from vepa.errors import InputError, RunError, Where
from vepa.policy.schema import nearest
from vepa.services.aliases import AliasTable
from vepa.services.drivers import Deadline, Endpoint
from vepa.services.environment import Environment, Tool, check_arguments, where_in
from vepa.services.steps import Connection, StepFault, StepRefused
from vepa.services.templates import TemplateFault, evaluate
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
    fault
        Where in the environment file the tool broke on its arguments or on the service's answer,
        and why; for people, never for a model. Empty when it did not.
    """

    ok: bool
    content: str
    truncated: bool
    raw: Any
    seconds: float
    fault: str = ""


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
    started
        When the episode began, where that was before now: what was planted for it belongs to it,
        however long the planting took.
    """

    def __init__(
        self, office: Workplace, role: str | None, key: str, started: datetime | None = None
    ):
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
            office.captured(), clock=office.world.now, started=started or datetime.now(UTC)
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
            When there is no such tool or account, or the arguments violate the tool's schema. What
            the service refuses or does not answer in time, and arguments or answers that the tool
            cannot work with, are outcomes that are not `ok`.
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
            ok, raw, fault = self._answer(environment, tool, self.aliases.reveal(arguments), number)
        finally:  # again: a reset of another process may have come before what was sent
            if tool.effect != "read":
                self._office.written(environment.name)
        try:
            content = self._shown(environment, tool, raw)
        except (TypeError, ValueError, RecursionError) as error:  # nothing that JSON knows
            ok, raw, fault = _unreadable(environment, tool, str(error))
            content = self._shown(environment, tool, raw)
        content, truncated = _cut(content, tool.limits.characters)
        return Outcome(ok, content, truncated, raw, time.monotonic() - started, fault)

    def _shown(self, environment: Environment, tool: Tool, raw: Any) -> str:
        """What a model sees of an answer, at full length."""
        kinds = {kind: environment.volatile[kind] for kind in tool.volatile}
        seen = self.aliases.hide(raw, kinds)
        return seen if isinstance(seen, str) else json.dumps(seen, ensure_ascii=False)

    def _answer(
        self, environment: Environment, tool: Tool, arguments: Any, number: int
    ) -> tuple[bool, Any, str]:
        now = self.aliases.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        names = {
            "args": arguments,
            "call": {"number": number, "key": f"{self._key}-{number}", "time": now},
        }
        role = self._role or tool.account
        try:
            connection = self._connection(environment)
            connection.caller(role)
            saved = connection.run(tool.steps, role, Deadline.after(tool.limits.seconds), names)
        except StepRefused as error:
            answer = error.answer
            message = answer.data if isinstance(answer.data, (dict, list)) else answer.text
            return False, _error(answer.status, message), ""
        except RunError as error:  # it does not run, or gave no answer
            self._forget(environment.name)
            return False, _error("unreachable", str(error)), ""
        except StepFault as error:
            self._forget(environment.name)  # half a conversation may be left in it
            told = f"{tool.name} cannot work with these arguments, or with what it found: "
            return False, _error("unworkable", told + error.why), str(error)
        if tool.result is None:
            return True, _of_last(saved["last"]), ""
        try:
            return True, evaluate(tool.result, {**connection.base, **names, **saved}), ""
        except TemplateFault as error:
            return _unreadable(environment, tool, error.why)

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


def _error(status: int | str, message: Any) -> dict[str, Any]:
    return {"error": {"status": status, "message": message}}


def _unreadable(environment: Environment, tool: Tool, why: str) -> tuple[bool, Any, str]:
    """The outcome of a call that was carried out, whose answer makes no result."""
    told = f"the service did what {tool.name} asked of it, but its answer is not as expected: {why}"
    part = "steps" if tool.result is None else "result"
    place = where_in(environment, ("tools", environment.tools.index(tool), part))
    return False, _error("unreadable", told), f"{place}: {why}"


def _of_last(answer: Any) -> Any:
    """The data of the last step: of all its answers, where it ran once an item."""
    if isinstance(answer, list):
        return [each.data for each in answer]
    return answer.data if answer is not None else None


def _cut(content: str, limit: int) -> tuple[str, bool]:
    if len(content) <= limit:
        return content, False
    note = f"\n[cut: {len(content) - limit} more characters]"
    return content[:limit] + note, True
