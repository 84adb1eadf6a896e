"""Why something was rejected, in a form that people, machines and the writing model read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from vepa.errors import InputError

__all__ = ["Reason", "from_errors"]


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason.

    Attributes
    ----------
    code
        A word for it; docs/tasks.md lists them.
    place
        Key in the file, dotted; empty for the whole.
    message
        What is wrong.
    remedy
        What to do about it.
    line
        Line of the draft, from 1, where it is known.
    """

    code: str
    place: str
    message: str
    remedy: str = ""
    line: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON data, without what is not known."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None)}

    def __str__(self) -> str:
        place = f"{self.place}: " if self.place else ""
        return f"{self.code}: {place}{self.message}"


def from_errors(errors: Iterable[InputError], code: str) -> list[Reason]:
    """Faults of a reader; the name of the staged file is nobody's business."""
    return [
        Reason(code, each.where.field or "", each.message, each.remedy or "", each.where.line)
        for each in errors
    ]
