"""Episodes: a trajectory with everything that belongs to it, as the collection agent keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from vepa.corpus.events import EventRecord
from vepa.corpus.trajectory import Trajectory
from vepa.errors import InputError, Where
from vepa.files import canonical_json, name_of, read_text, sha256_of
from vepa.policy.document import complaint

__all__ = [
    "Attempt",
    "Ending",
    "Episode",
    "Finding",
    "Spent",
    "TurnRecord",
    "read_episode",
    "stream_episodes",
]

#: Version of the records; a reader refuses any other.
SCHEMA_VERSION = 1
#: An episode with its raw answers may be large; nothing over this is held.
_LARGEST = 256 * 1024 * 1024


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Spent(_Record):
    """Tokens and money.

    Attributes
    ----------
    prompt, completion
        Tokens read and written.
    dollars
        US dollars; None where a price is not known.
    requests
        HTTP requests, retries included.
    """

    prompt: int = 0
    completion: int = 0
    dollars: float | None = Field(default=0.0, strict=False)
    requests: int = 0

    def __add__(self, other: Spent) -> Spent:
        """Both together; an unknown price stays unknown."""
        known = self.dollars is not None and other.dollars is not None
        return Spent(
            prompt=self.prompt + other.prompt,
            completion=self.completion + other.completion,
            dollars=(self.dollars or 0.0) + (other.dollars or 0.0) if known else None,
            requests=self.requests + other.requests,
        )


class TurnRecord(_Record):
    """One message of the agent; all of it but `request` is outside the content hash.

    Attributes
    ----------
    request
        SHA-256 of what the model received.
    spent
        Of the agent's model.
    model_seconds, service_seconds, harness_seconds
        Waiting for the model, for the services, and the rest until the next request was ready.
    source
        `provider`, `scripted`, `recorded` or `cache`.
    """

    request: str
    spent: Spent = Spent()
    model_seconds: float = Field(default=0.0, strict=False)
    service_seconds: float = Field(default=0.0, strict=False)
    harness_seconds: float = Field(default=0.0, strict=False)
    source: str


class Ending(_Record):
    """How an episode ended.

    Attributes
    ----------
    reason
        `answer`, `refusal`, `budget` (turns, calls, seconds, tokens or dollars), `error` (of the
        model or of a scripted plan).
    detail
        Which budget, or what error.
    """

    reason: Literal["answer", "refusal", "budget", "error"]
    detail: str | None = None


class Finding(_Record):
    """Whether one check of the task holds after the episode.

    Attributes
    ----------
    kind, number
        `success` or `unsafe`, and its place in the task from 0.
    holds
        Whether it holds.
    trigger
        Of an unsafe check.
    """

    kind: Literal["success", "unsafe"]
    number: int
    holds: bool
    trigger: str | None = None


class Attempt(_Record):
    """An earlier try at the same episode that a failing service spoilt.

    Attributes
    ----------
    reason
        What failed.
    seconds
        Time that it took.
    """

    reason: str
    seconds: float = Field(strict=False)


class Episode(_Record):
    """All that is kept of one episode.

    Attributes
    ----------
    schema_version
        Of this record.
    id
        `TASK/MODEL/SEED`, with `-` for the slashes of the model's name.
    key
        SHA-256 of all that it was made from; the same key is the same episode.
    inputs
        What it was made from: name -> hash or value.
    scripted
        Whether the agent or the user was a script and no model.
    trajectory
        What happened, step by step.
    messages
        The conversation as the agent's model saw and wrote it.
    turns
        Of the agent.
    user_spent
        Of the model that played the user.
    ending
        How it ended.
    findings
        The task's checks, on the state afterwards.
    events
        Of the instrumented parser: a `call` and a `step` event of each call, a `step` event of
        each answer.
    intended
        Of a scripted agent: for each call and answer, in order, the trigger that the plan meant it
        to be, or None. Never shown to a model, an annotator or a parser.
    attempts
        Earlier tries that a failing service spoilt.
    versions
        Of the software that made it.
    started, seconds
        When (ISO 8601) and how long.
    """

    schema_version: Literal[1] = 1
    id: str
    key: str
    inputs: dict[str, str]
    scripted: bool
    trajectory: Trajectory
    messages: list[dict[str, Any]]
    turns: list[TurnRecord]
    user_spent: Spent = Spent()
    ending: Ending
    findings: list[Finding]
    events: list[EventRecord]
    intended: list[str | None] = []
    attempts: list[Attempt] = []
    versions: dict[str, str] = {}
    started: str
    seconds: float = Field(strict=False)

    @model_validator(mode="after")
    def _names_its_source(self) -> Episode:
        if self.trajectory.task is None or self.trajectory.model is None:
            raise ValueError("trajectory: an episode names its task and its model")
        return self

    @property
    def task(self) -> str:
        """Id of the task."""
        return str(self.trajectory.task)

    @property
    def model(self) -> str:
        """The agent's model."""
        return str(self.trajectory.model)

    @property
    def steps(self) -> int:
        """Calls and answers."""
        return sum(step.kind != "user" for step in self.trajectory.steps)

    @property
    def succeeded(self) -> bool:
        """Whether it came to its own end and every success check holds."""
        done = all(each.holds for each in self.findings if each.kind == "success")
        return done and self.ending.reason in ("answer", "refusal")

    @property
    def tripped(self) -> list[str]:
        """Triggers of the unsafe checks that hold, sorted."""
        return sorted(
            {str(each.trigger) for each in self.findings if each.kind == "unsafe" and each.holds}
        )

    @property
    def spent(self) -> Spent:
        """Of agent and user together."""
        total = self.user_spent
        for turn in self.turns:
            total = total + turn.spent
        return total

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of what happened, without raw answers, timing, cost, attempts and versions."""
        return sha256_of(
            canonical_json(
                {
                    "schema_version": self.schema_version,
                    "key": self.key,
                    "trajectory": self.trajectory.content_hash,
                    "messages": self.messages,
                    "requests": [turn.request for turn in self.turns],
                    "ending": self.ending.model_dump(mode="json"),
                    "findings": [each.model_dump(mode="json") for each in self.findings],
                    "intended": self.intended,
                    "events": [each.model_dump(mode="json") for each in self.events],
                }
            )
        )


def read_episode(path: str | Path) -> Episode:
    """Read one episode's file.

    Raises
    ------
    InputError
        When it is no episode of this version; names file, field and remedy.
    """
    text = read_text(path, limit=_LARGEST)
    try:
        return Episode.model_validate_json(text)
    except ValidationError as error:
        place, message = complaint(error)
        raise InputError(
            message,
            where=Where(name_of(path), None, ".".join(map(str, place)) or None),
            remedy="an episode is written by `vepa collect`; collect it again",
        ) from None


def stream_episodes(folder: str | Path) -> Iterator[Episode]:
    """The episodes of a folder, sorted by the names of their files.

    Raises
    ------
    InputError
        At the first file that is no episode.
    """
    for path in sorted(Path(folder).rglob("*.episode.json")):
        yield read_episode(path)
