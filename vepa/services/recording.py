"""Recording an episode: what was offered, known, said, called and answered, as a trajectory."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from vepa.corpus.tools import ToolMetadata
from vepa.corpus.trajectory import Call, Premises, Result, Step, Trajectory
from vepa.errors import InputError
from vepa.files import utf8_text
from vepa.services.environment import Environment, content_hash
from vepa.services.office import Office
from vepa.services.session import Outcome, ToolSession
from vepa.services.world import World

__all__ = ["Beside", "Recorder", "premises_of"]

#: Letters of a raw answer that are kept: an episode of many large ones has to stay readable.
_RAW = 1_000_000


def premises_of(world: World, role: str) -> Premises:
    """What is known of the setting to whoever acts as this account: no label, no task.

    Parameters
    ----------
    world
        The seeded world.
    role
        A persona role, or `person:ID`.
    """
    person = world.person(role[7:]) if role.startswith("person:") else world.role(role)
    known: dict[str, Literal["self", "internal", "external", "public"]] = {}
    for colleague in world.people:
        known[colleague.id] = "internal"
        if colleague.iban:
            known[colleague.iban] = "internal"
    known[world.company.iban] = "internal"
    for partner in (*world.customers, *world.suppliers):
        known[partner.iban] = "external"
    known[person.id] = "self"
    if person.iban:
        known[person.iban] = "self"
    return Premises(
        own=[person.mail, person.id, *(f"@{person.id}:{each}" for each in world.internal_domains)],
        internal_domains=list(world.internal_domains),
        known=known,
        marks=world.marks_index(),
        account=person.id,
    )


@dataclass(frozen=True, slots=True)
class Beside:
    """A tool that an episode offers beside those of the environments.

    Attributes
    ----------
    metadata
        As it is offered and recorded.
    call
        Carries a call out through the episode's session; raises `InputError` for wrong arguments.
    """

    metadata: ToolMetadata
    call: Callable[[ToolSession, Mapping[str, Any]], Outcome]


class Recorder:
    """Writes an episode down while it happens.

    Parameters
    ----------
    office
        Where it happens.
    role
        The account that the agent's tools act with.
    name
        Id of the trajectory.
    offered
        Names of the tools that the agent is offered; all when left out.
    about
        Further keys of the trajectory: `task`, `persona`, `model`, `seed`, `meta`.
    beside
        Tools of this episode alone.
    digests
        Environment -> hash of its files and the world; worked out when left out.
    started
        When planting for it began; now when left out.
    """

    def __init__(
        self,
        office: Office,
        role: str,
        name: str,
        *,
        offered: Sequence[str] | None = None,
        about: Mapping[str, Any] | None = None,
        beside: Sequence[Beside] = (),
        digests: Mapping[str, str] | None = None,
        started: datetime | None = None,
    ):
        self._office = office
        self._name = name
        self._about = dict(about or {})
        self._session: ToolSession = office.session(role, key=name, started=started)
        self._premises = premises_of(office.world, role)
        self._places = {
            tool.name: environment
            for environment in office.environments.values()
            for tool in environment.tools
        }
        names = sorted(self._places) if offered is None else list(offered)
        self._tools = [
            tool.metadata(self._places[tool.name].name)
            for tool in self._session.tools
            if tool.name in names
        ]
        self._beside = {each.metadata.name: each for each in beside}
        self._tools += [each.metadata for each in beside]
        self._names = {each.name for each in self._tools}
        self._digests = digests
        self._steps: list[Step] = []
        self._calls = 0

    @property
    def tools(self) -> list[ToolMetadata]:
        """The tools that are offered."""
        return list(self._tools)

    @property
    def steps(self) -> list[Step]:
        """What happened so far."""
        return list(self._steps)

    def user(self, text: str) -> None:
        """A turn of the user."""
        self._steps.append(Step(index=len(self._steps), kind="user", text=text))

    def answer(self, text: str) -> None:
        """Words of the agent to the user."""
        self._steps.append(Step(index=len(self._steps), kind="answer", text=text))

    def call(
        self, tool: str, arguments: Mapping[str, Any], *, thought: str | None = None
    ) -> Result:
        """Call a tool and write down what came back.

        A call that names no offered tool, or breaks its schema, is answered as a failed result:
        the agent made that mistake, and the episode goes on.
        """
        result = self._result(tool, arguments)
        self.add(tool, arguments, result, thought=thought)
        return result

    def add(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        result: Result,
        *,
        text: str | None = None,
        thought: str | None = None,
    ) -> None:
        """Write down a call that was not carried out by this recorder.

        Parameters
        ----------
        tool, arguments, thought
            As in `call`.
        result
            What the agent was told.
        text
            What the model wrote as arguments, where that is no JSON object.
        """
        self._calls += 1
        made = Call(
            id=f"call-{self._calls}",
            tool=tool,
            environment=self._environment(tool),
            arguments=dict(arguments),
            text=text,
        )
        self._steps.append(
            Step(index=len(self._steps), kind="call", call=made, result=result, thought=thought)
        )

    def _environment(self, tool: str) -> str | None:
        if tool in self._beside:
            return self._beside[tool].metadata.environment
        return self._places[tool].name if tool in self._places else None

    def _result(self, tool: str, arguments: Mapping[str, Any]) -> Result:
        try:
            if tool not in self._names:
                raise InputError(f"there is no tool {tool!r}")
            beside = self._beside.get(tool)
            if beside is not None:
                outcome = beside.call(self._session, arguments)
            else:
                outcome = self._session.call(tool, arguments)
        except InputError as error:
            if error.where.file is not None:  # the environment's own fault, not the agent's
                raise
            return Result(ok=False, content=error.message, error="invalid_call")
        error_kind = None
        if not outcome.ok:
            error_kind = str(outcome.raw["error"]["status"])
        return Result(
            ok=outcome.ok,
            content=utf8_text(outcome.content),
            error=error_kind,
            truncated=outcome.truncated,
            raw=_bounded(utf8_text(json.dumps(outcome.raw, ensure_ascii=False, default=str))),
            seconds=round(outcome.seconds, 6),
        )

    def trajectory(self) -> Trajectory:
        """The episode so far."""
        used = {step.call.environment for step in self._steps if step.call}
        digests = {
            name: self._digest(environment)
            for name, environment in self._office.environments.items()
            if name in used
        }
        return Trajectory(
            id=self._name,
            environments=digests,
            tools=self._tools,
            premises=self._premises,
            steps=self._steps,
            **self._about,
        )

    def _digest(self, environment: Environment) -> str:
        if self._digests is not None:
            return self._digests[environment.name]
        return content_hash(environment, self._office.world_file)

    def close(self) -> None:
        """Drop the connections."""
        self._session.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _bounded(raw: str) -> str:
    return raw if len(raw) <= _RAW else f"{raw[:_RAW]}\n[cut: {len(raw) - _RAW} more characters]"
