"""The records of training data: one chat each, of which only the last turn is learned."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from vepa.corpus.lines import stream_records
from vepa.parsing.lora import Kind

__all__ = ["SCHEMA_VERSION", "Example", "Turn", "stream_examples"]

#: Version of the records.
SCHEMA_VERSION = 1
_SHAPE = (
    'an example is {"schema_version": 1, "id", "kind": "parser" | "judge", "prompt": [{"role", '
    '"content"}, …], "completion": [{"role": "assistant", "content"}], "answer": {…}, …}'
)


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Turn(_Record):
    """One message."""

    role: Literal["system", "user", "assistant"]
    content: str


class Example(_Record):
    """One chat.

    `prompt` and `completion` are apart, in the form that trl calls conversational
    prompt-completion: the loss is over the completion alone.

    Attributes
    ----------
    schema_version
        Of this record.
    id
        Of the event or the step.
    kind
        Which adapter learns from it.
    prompt
        What is asked, with the trace; no loss.
    completion
        The one turn that is learned.
    answer
        The same as fields: what an evaluation compares.
    trace
        Content hash of what is shown; no two splits share one.
    group
        What shares a task or a template; no two splits share one.
    stratum
        Verdict and triggers: examples are drawn evenly over these.
    tokens, whole
        Tokens of the shown trace and of the whole of it.
    left_out
        Steps of which nothing is shown.
    cut
        Whether anything at all is not shown.
    """

    schema_version: Literal[1] = 1
    id: str
    kind: Kind
    prompt: list[Turn] = Field(min_length=1)
    completion: list[Turn] = Field(min_length=1, max_length=1)
    answer: dict[str, str] = Field(min_length=1)
    trace: str
    group: str
    stratum: str
    tokens: int = Field(ge=0)
    whole: int = Field(ge=0)
    left_out: int = Field(ge=0)
    cut: bool


def stream_examples(path: str | Path) -> Iterator[Example]:
    """Stream the examples of a JSON Lines file (`-` is standard input).

    Raises
    ------
    InputError
        At the first line that is no such record, with file, line, field and remedy.
    """
    yield from stream_records(path, Example, SCHEMA_VERSION, _SHAPE)
