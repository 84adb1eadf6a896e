"""What a question has taken so far, counted while it is still being answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from vepa.llm.messages import ModelReply, ModelRequest, Usage

__all__ = ["Backend", "Tally"]


@dataclass(slots=True)
class Tally:
    """A running count; it is whole even when the question ends in an error.

    Attributes
    ----------
    prompt, completion
        Tokens as the provider counted them.
    dollars
        US dollars; None once an answer had no known price.
    requests
        HTTP requests sent.
    lost
        Tokens at most of answers that were cut or given up, which the provider may have counted.
    source
        Who answers, or was about to when it failed.
    """

    prompt: int = 0
    completion: int = 0
    dollars: float | None = 0.0
    requests: int = 0
    lost: int = 0
    source: Literal["provider", "scripted", "recorded", "cache", "hashing"] = "provider"

    def add(self, prompt: int, completion: int, dollars: float | None) -> None:
        """Count one whole answer."""
        self.prompt += prompt
        self.completion += completion
        if self.dollars is not None:
            self.dollars = None if dollars is None else self.dollars + dollars

    def usage(self) -> Usage:
        """The count as a reply carries it."""
        return Usage(self.prompt, self.completion, self.dollars, self.requests)


class Backend(Protocol):
    """What stands behind an opened model."""

    @property
    def name(self) -> str:
        """As it was asked for."""
        ...

    def answer(self, request: ModelRequest, tally: Tally) -> ModelReply:
        """Answer, counting as it goes."""
        ...
