"""What is wrong with a release."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Checked", "Problem"]


@dataclass(frozen=True)
class Problem:
    """One thing that a release does not keep.

    Attributes
    ----------
    file
        Relative to the release.
    what
        What is wrong, in one sentence.
    remedy
        What can be done.
    line, field
        Where in the file, as far as it is known.
    """

    file: str
    what: str
    remedy: str
    line: int | None = None
    field: str | None = None

    def as_data(self) -> dict[str, Any]:
        """As JSON data."""
        return asdict(self)


@dataclass(frozen=True)
class Checked:
    """What came out of checking a release.

    Attributes
    ----------
    problems
        All that is wrong.
    unchecked
        What was not looked at, and why; nothing is left out in silence.
    notes
        What is no problem of the release and is told all the same.
    """

    problems: tuple[Problem, ...]
    unchecked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems
