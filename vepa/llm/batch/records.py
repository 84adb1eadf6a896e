"""What the journal of batches holds, and what a vendor's side says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vepa.llm.messages import Finish

__all__ = ["BatchRow", "Kept", "Member", "State", "Unanswered"]

#: Written down; the paid call begins; the vendor has it; its answers are here; never taken.
State = Literal["intended", "sending", "submitted", "collected", "void"]


@dataclass(frozen=True)
class Member:
    """A request in a batch.

    Attributes
    ----------
    number
        In the batch, from 0.
    key
        Hash of what is sent.
    request
        `ModelRequest.content_hash`.
    shape
        Name of the structured answer; None without one.
    mode
        How that is asked for.
    """

    number: int
    key: str
    request: str
    shape: str | None
    mode: str | None


@dataclass(frozen=True)
class BatchRow:
    """A batch as the journal knows it.

    Attributes
    ----------
    token
        Drawn for it; stands in every request's id.
    state
        Where it is.
    prepared
        What the vendor's side needs to know: a file, the newest batch before.
    vendor_id
        The vendor's name for it, once it is known.
    at
        When it came into this state, seconds since the epoch.
    tokens, dollars
        Its worst case.
    count
        Requests.
    """

    token: str
    state: State
    prepared: str
    vendor_id: str | None
    at: float
    tokens: int
    dollars: float
    count: int


@dataclass(frozen=True)
class Kept:
    """An answer, before any check."""

    key: str
    text: str
    finish: Finish
    model: str
    prompt: int
    completion: int
    dollars: float | None


@dataclass(frozen=True)
class Unanswered:
    """A request without an answer: why, and whether it may be asked again."""

    key: str
    kind: str
    code: str | None
    again: bool
