"""What a loopback model server can be told to do; `model_servers` plays it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: No key of anybody; tests look for it where no key belongs.
FAKE_KEY = "sk-VEPA-SEED-fake-key-of-tests-0123456789"


@dataclass(frozen=True)
class Say:
    """Answer with a text, calls, or both.

    `calls` are pairs of name and arguments; a text as arguments is sent as it is, malformed or
    not (Anthropic can carry one only in a stream).
    """

    text: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    #: `length`, or nothing for the usual reason.
    finish: str | None = None


@dataclass(frozen=True)
class Data:
    """A structured answer, in the way in which the request asks for it; a text is sent as it is."""

    value: Any


@dataclass(frozen=True)
class Refuse:
    """The model declines: OpenAI's `refusal`, Anthropic's stop reason; or OpenAI's filter."""

    text: str = "I cannot help with that."
    filtered: bool = False


@dataclass(frozen=True)
class Fail:
    """An HTTP error."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str = "some_error"
    message: str = "this went wrong"


@dataclass(frozen=True)
class Cut:
    """The connection ends: `before` any byte, in the `body`, or, streaming, `quietly` in it."""

    where: str = "before"


@dataclass(frozen=True)
class Slow:
    """`Say`, after `before` seconds and with `each` seconds between pieces of the body."""

    text: str = "late"
    before: float = 0.0
    each: float = 0.0


@dataclass(frozen=True)
class Raw:
    """A body that is no answer at all, with status 200."""

    body: bytes


@dataclass(frozen=True)
class Vectors:
    """An answer to a question for embeddings: rows as they are, or made of the texts."""

    rows: Sequence[Any] | Callable[[str], Sequence[Any]]
    #: Last row first, each with its index.
    backwards: bool = False


Behaviour = Say | Vectors | Data | Refuse | Fail | Cut | Slow | Raw
