"""What a message of any source says: who, what, which calls and which results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Asked", "Given", "Said"]


@dataclass(frozen=True)
class Asked:
    """A tool call in a message; `arguments` as a mapping or as the text that was written."""

    name: str
    arguments: Any = None
    id: str | None = None


@dataclass(frozen=True)
class Given:
    """What a call gave back, by the call's id or else the tool's name."""

    content: str
    id: str | None = None
    tool: str | None = None
    ok: bool = True
    error: str | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Said:
    """One message.

    Attributes
    ----------
    role
        Whose it is; `observation` is the environment's.
    text
        Empty where it only calls or only gives results.
    thought
        What the model wrote for itself; it plays no part in recognising a message.
    calls, results
        In their order.
    speaker
        Who spoke, where the source says it.
    """

    role: Literal["system", "user", "assistant", "observation"]
    text: str = ""
    thought: str | None = None
    calls: tuple[Asked, ...] = ()
    results: tuple[Given, ...] = ()
    speaker: str | None = None
