"""What goes to a language model and what comes back, whichever provider it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, model_validator

from vepa.files import canonical_json, sha256_of

__all__ = [
    "Finish",
    "Item",
    "Message",
    "Model",
    "ModelReply",
    "ModelRequest",
    "Shape",
    "ToolCall",
    "ToolOffer",
    "Usage",
]

#: Why a model stopped: it was done; it calls tools; its answer was cut at the limit of tokens; the
#: provider or the model declined.
Finish = Literal["stop", "tools", "length", "declined"]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ToolCall(_Record):
    """A call that a model asks for.

    Attributes
    ----------
    id
        As the model's provider names it.
    name
        Of the tool.
    arguments
        The text that the model wrote: meant to be a JSON object, not always one.
    """

    id: str
    name: str
    arguments: str


class Message(_Record):
    """One message of a conversation.

    Attributes
    ----------
    role
        Who speaks; `tool` is the answer to a call.
    content
        The text.
    calls
        Of an assistant: the calls that it asks for.
    answers
        Of a tool: the id of the call.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    calls: tuple[ToolCall, ...] = Field(default=(), strict=False)
    answers: str | None = None

    @model_validator(mode="after")
    def _coherent(self) -> Message:
        if (self.role == "tool") != (self.answers is not None):
            raise ValueError("`answers` stands in messages of a tool, and in these only")
        if self.calls and self.role != "assistant":
            raise ValueError("only an assistant calls tools")
        return self


class ToolOffer(_Record):
    """A tool as a model is shown it.

    Attributes
    ----------
    name, description
        For the model.
    parameters
        JSON schema of the arguments, an object.
    """

    name: str
    description: str
    parameters: dict[str, Any]


class Shape(_Record):
    """What a structured answer has to look like.

    Attributes
    ----------
    name
        A word for it, letters, digits and underscores.
    schema_
        JSON schema of the answer, an object.
    """

    name: str
    schema_: dict[str, Any] = Field(alias="schema")

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


class Item(_Record):
    """What a request is about; recorded answers are found by it.

    Attributes
    ----------
    hash
        Content hash of the trace or step that is judged.
    template
        Id of the prompt template.
    version
        Version of the template, `MAJOR.MINOR`; a recorded answer fits every minor version.
    name
        The item's own id. An answer is found without it, unless a recording has several answers
        about the same content: then it tells which.
    """

    hash: str
    template: str
    version: str
    name: str | None = None


class ModelRequest(_Record):
    """All that a model receives.

    Attributes
    ----------
    messages
        In order; a system message comes first.
    tools
        What may be called.
    shape
        The structured answer that is asked for, instead of free text.
    temperature, max_tokens, seed
        Sampling; None leaves it to the provider.
    item
        What it is about; no part of what the model reads.
    """

    messages: tuple[Message, ...] = Field(strict=False)
    tools: tuple[ToolOffer, ...] = Field(default=(), strict=False)
    shape: Shape | None = None
    temperature: float | None = Field(default=None, ge=0, strict=False)
    max_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = None
    item: Item | None = None

    @cached_property
    def bytes(self) -> bytes:
        """The request as canonical JSON, without `item`: what a model can react to."""
        return canonical_json(
            self.model_dump(mode="json", by_alias=True, exclude={"item"})
        ).encode()

    def model_copy(
        self, *, update: Mapping[str, Any] | None = None, deep: bool = False
    ) -> ModelRequest:
        """A copy works its own bytes out; pydantic's would keep those of the original."""
        copy = super().model_copy(update=update, deep=deep)
        for name in ("bytes", "content_hash"):
            copy.__dict__.pop(name, None)
        return copy

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of `bytes`."""
        return sha256_of(self.bytes.decode())


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and money of one or more requests.

    Attributes
    ----------
    prompt, completion
        Tokens read and written.
    dollars
        US dollars; None where the model's price is not known.
    requests
        HTTP requests sent, retries included; 0 when nothing was sent.
    """

    prompt: int = 0
    completion: int = 0
    dollars: float | None = 0.0
    requests: int = 0


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What a model answered.

    Attributes
    ----------
    message
        The assistant's message.
    finish
        Why it stopped.
    data
        The structured answer, checked against its schema, where one was asked for.
    usage
        What it took, a repair and retries included.
    model
        The model as the provider names it.
    source
        Where the answer came from: a provider, a script, a recording, the cache.
    repaired
        Whether a structured answer needed its one repair.
    seconds
        From the first request sent to the answer, waiting for limits and retries included.
    """

    message: Message
    finish: Finish
    model: str
    source: Literal["provider", "scripted", "recorded", "cache"]
    data: Any = None
    usage: Usage = field(default_factory=Usage)
    repaired: bool = False
    seconds: float = 0.0


class Model(Protocol):
    """Whatever answers requests; safe to share by threads."""

    @property
    def name(self) -> str:
        """As it was asked for: `openai/gpt-…`, `scripted/careful`, `recorded/NAME`."""
        ...

    def ask(self, request: ModelRequest) -> ModelReply:
        """Send a request and wait for the answer.

        Raises
        ------
        ModelError
            When no usable answer came, retries and the repair included.
        BudgetError
            When a budget is used up; nothing was sent for this request.
        """
        ...
