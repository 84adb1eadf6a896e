"""Trajectories: what was offered, what was known beforehand, and what happened, step by step.

Everything a model saw stands in its aliased form (`payment#1`), so that the same episode has the
same content hash wherever it runs. Raw answers, timing and cost stand beside and outside the hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from vepa.corpus.lines import stream_records, write_records
from vepa.corpus.tools import ToolMetadata
from vepa.corpus.writable import writable
from vepa.errors import InputError, Where
from vepa.files import canonical_json, sha256_of
from vepa.policy.schema import Schema, nearest

__all__ = [
    "SCHEMA_VERSION",
    "Call",
    "OfferedTool",
    "Premises",
    "Result",
    "Step",
    "Trajectory",
    "stream_trajectories",
    "write_trajectories",
]

#: Version of the records; a reader refuses any other.
SCHEMA_VERSION = 1

_SHAPE = (
    'a trajectory is {"schema_version": 1, "id", "tools": […], "premises": {…}, "steps": '
    '[{"index", "kind": "user" | "call" | "answer" | "observation", …}], "environments"?, '
    '"task"?, "persona"?, "model"?, "seed"?, "system"?, "label"?, "marked"?, "format"?, "meta"?}'
)
#: Not part of what happened; outside the content hash.
_BESIDE = ("id", "label", "marked", "format", "meta")


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class OfferedTool(_Record):
    """A tool that was offered and of whose meaning nothing is known.

    Attributes
    ----------
    name, description
        As the model saw them.
    parameters
        As they were given, a JSON schema or not.
    """

    name: str
    description: str | None = None
    parameters: dict[str, Any] = {}

    @field_validator("parameters")
    @classmethod
    def _is_json(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        return writable("the parameters are", parameters)


class Premises(_Record):
    """What is known of the setting before anything happens, independent of any label.

    Attributes
    ----------
    own
        Addresses and ids of the user: mail, chat id, user name, own accounts.
    internal_domains
        Hosts of the organisation, each as it stands: a subdomain is inside only if it is listed.
    known
        Ids whose place no domain tells -> where they belong (a room, a user name, an IBAN).
    marks
        Distinctive strings -> their sensitivity (a canary `critical`, an IBAN `confidential`).
    account
        The account that the agent's tools act with.
    """

    own: list[str] = Field(default_factory=list)
    internal_domains: list[str] = Field(default_factory=list)
    known: dict[str, Literal["self", "internal", "external", "public"]] = Field(
        default_factory=dict
    )
    marks: dict[str, str] = Field(default_factory=dict)
    account: str | None = None

    @field_validator("marks")
    @classmethod
    def _distinctive(cls, marks: dict[str, str]) -> dict[str, str]:
        for mark in marks:
            if len("".join(filter(str.isalnum, mark))) < 4:
                raise ValueError(f"the mark {mark!r} is too short to be distinctive")
        return marks

    def check_against(self, schema: Schema) -> None:
        """Hold the classes of the marks against an event schema; raises `InputError`."""
        if "sensitivity" not in schema:
            return
        for mark, word in self.marks.items():
            if word not in schema["sensitivity"].codes:
                raise InputError(
                    f"{word!r} is not in the domain of 'sensitivity'",
                    where=Where(field=f"premises.marks.{mark}"),
                    remedy=nearest(word, schema["sensitivity"].values, "values"),
                )


class Call(_Record):
    """A tool call as the model made it.

    Attributes
    ----------
    id
        Unique within the trajectory.
    tool
        Name of the tool, also where no such tool was offered.
    environment
        The service that the tool acts on; none for a tool that was not offered.
    arguments
        In their aliased form, as the model wrote them.
    text
        What the model wrote instead, where that is no JSON object.
    """

    id: str
    tool: str
    environment: str | None = None
    arguments: dict[str, Any] = {}
    text: str | None = None

    @field_validator("arguments")
    @classmethod
    def _is_json(cls, arguments: dict[str, Any]) -> dict[str, Any]:
        return writable("the arguments are", arguments)


class Result(_Record):
    """What a call gave back.

    Attributes
    ----------
    ok
        Whether the service carried the call out.
    content
        What the model saw, aliased; for an error, its text.
    error
        Kind of the error (`not_found`, `timeout`, …), where it has one.
    truncated
        Whether `content` was cut at the output limit.
    raw
        The service's own answer, before aliases; outside the content hash.
    seconds
        How long the call took; outside the content hash.
    """

    ok: bool
    content: str = ""
    error: str | None = None
    truncated: bool = False
    raw: str | None = None
    seconds: float | None = Field(default=None, ge=0, strict=False)

    @model_validator(mode="after")
    def _error_is_no_success(self) -> Result:
        if self.ok and self.error is not None:
            raise ValueError("a result that is ok has no error")
        return self


class Step(_Record):
    """One turn: of the user, a tool call with its result, the agent's words, or an observation.

    Attributes
    ----------
    index
        Position in the trajectory, from 0. Parallel calls are steps of their own.
    kind
        `user`: a user turn. `call`: a tool call. `answer`: words of the agent, to the user or, in
        a team, to another agent. `observation`: words of the environment that no call gave back.
    text
        Of a user turn, an answer or an observation.
    call, result
        Of a call; without a result, none was shown.
    thought
        What the model wrote for itself beside the step.
    speaker
        Who spoke or called, where several agents or people take part.
    conversation
        Number of the conversation, from 0, where a trajectory holds several one after another.
    written
        The turn as its source spelled it, where the other parts do not give the spelling back;
        outside the content hash.
    seconds, cost
        Of the model's turn (cost in US dollars); outside the content hash.
    """

    index: int = Field(ge=0)
    kind: Literal["user", "call", "answer", "observation"]
    text: str | None = None
    call: Call | None = None
    result: Result | None = None
    thought: str | None = None
    speaker: str | None = None
    conversation: int | None = Field(default=None, ge=0)
    written: str | None = None
    seconds: float | None = Field(default=None, ge=0, strict=False)
    cost: float | None = Field(default=None, ge=0, strict=False)

    @model_validator(mode="after")
    def _has_its_parts(self) -> Step:
        if self.kind == "call":
            if self.call is None or self.text is not None:
                raise ValueError("a step of kind 'call' holds a call and no text")
        elif self.text is None or self.call is not None or self.result is not None:
            raise ValueError(f"a step of kind {self.kind!r} holds a text and no call or result")
        return self


class Trajectory(_Record):
    """One episode of an agent.

    Attributes
    ----------
    schema_version
        Of this record.
    id
        Names the trajectory; outside the content hash.
    task, persona, model, seed
        What the episode was made from, where that is known.
    environments
        Environment -> digest of its seed and tools.
    tools
        The tools that were offered, with what their calls mean.
    offered
        Tools of whose meaning nothing is known.
    premises
        What was known beforehand.
    system
        What the operator told the agent beforehand.
    steps
        In order.
    label
        The verdict of whoever annotated the whole of it; no parser sees it.
    marked
        Index of the step that they held to be the decisive mistake; no parser sees it.
    format
        Name of the format that it was imported from.
    meta
        Annotations of whoever made it; never features.

    `id`, `label`, `marked`, `format` and `meta` are outside the content hash.
    """

    schema_version: Literal[1] = 1
    id: str
    task: str | None = None
    persona: str | None = None
    model: str | None = None
    seed: int | None = None
    environments: dict[str, str] = Field(default_factory=dict)
    tools: list[ToolMetadata] = Field(default_factory=list)
    offered: list[OfferedTool] = Field(default_factory=list)
    premises: Premises = Field(default_factory=Premises)
    system: str | None = None
    steps: list[Step] = Field(default_factory=list)
    label: Literal["allow", "refuse"] | None = None
    marked: int | None = Field(default=None, ge=0)
    format: str | None = None
    meta: dict[str, Any] = Field(default_factory=dict)

    @field_validator("meta")
    @classmethod
    def _is_json(cls, meta: dict[str, Any]) -> dict[str, Any]:
        return writable("the annotations are", meta)

    @model_validator(mode="after")
    def _coherent(self) -> Trajectory:
        for at, step in enumerate(self.steps):
            if step.index != at:
                raise ValueError(f"steps.{at}: its index is {step.index}, not its position {at}")
        if self.marked is not None and self.marked >= len(self.steps):
            raise ValueError(f"marked: there is no step {self.marked}")
        for kind, names in (
            ("call id", [step.call.id for step in self.steps if step.call]),
            ("tool", [tool.name for tool in self.tools]),
        ):
            if len(set(names)) != len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise ValueError(f"the {kind} {twice!r} occurs twice")
        return self

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of what happened: without id, annotations, raw spelling, time and cost.

        Keys at their default play no part, so a later version that adds one keeps the hash.
        """
        data = self.model_dump(
            mode="json",
            exclude={
                **dict.fromkeys(_BESIDE, True),
                "steps": {
                    "__all__": {
                        "written": True,
                        "seconds": True,
                        "cost": True,
                        "result": {"raw", "seconds"},
                    }
                },
            },
            exclude_defaults=True,
        )
        return sha256_of(canonical_json({"schema_version": self.schema_version, **data}))


def stream_trajectories(path: str | Path) -> Iterator[Trajectory]:
    """Stream the trajectories of a JSON Lines file (`-` is standard input).

    Raises
    ------
    InputError
        At the first line that is no trajectory of this version, with file, line, field and remedy.
    """
    yield from stream_records(path, Trajectory, SCHEMA_VERSION, _SHAPE)


def write_trajectories(path: str | Path, trajectories: Iterable[Trajectory]) -> int:
    """Write trajectories as JSON Lines, atomically; returns how many.

    Raises
    ------
    SettingError
        When the file cannot be written.
    """
    return write_records(path, trajectories)
