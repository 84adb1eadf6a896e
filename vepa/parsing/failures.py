"""What could not be parsed: told beside the events, never guessed."""

from __future__ import annotations

from dataclasses import dataclass

from vepa.errors import ModelError
from vepa.policy.event import Unit

__all__ = ["ParseFailure"]


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """A trace, a step or a call without an event.

    Attributes
    ----------
    id
        What the event would be called.
    unit
        What it would describe.
    reason
        What happened, without any text of the trace.
    kind
        As in `ModelError`, or `declined`.
    """

    id: str
    unit: Unit
    reason: str
    kind: str

    def as_error(self) -> ModelError:
        """The same as an error, for callers who want one event or none."""
        return ModelError(f"{self.id}: {self.reason}", self.kind)
