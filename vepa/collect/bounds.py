"""How far an episode goes, and what is asked of its model beside the messages."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits", "Sampling"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Where an episode stops.

    Attributes
    ----------
    turns
        Messages of the agent.
    calls
        Tool calls.
    seconds
        Wall time.
    """

    turns: int = 40
    calls: int = 60
    seconds: float = 900.0


@dataclass(frozen=True, slots=True)
class Sampling:
    """What is asked of the agent's model beside the messages."""

    temperature: float | None = None
    max_tokens: int | None = 4096
    seed: int | None = None
