"""Findings about a file, as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vepa.errors import InputError
    from vepa.policy.feedback import Feedback

__all__ = ["as_feedback", "counted", "finding"]


def counted(number: int, what: str, several: str | None = None) -> str:
    """A number with its noun: `1 rule`, `2,000 rules`."""
    return f"{number:,} {what if number == 1 else several or what + 's'}"


def as_feedback(error: InputError) -> Feedback:
    """What could not even be read, in the form of a verifier's finding."""
    from vepa.policy.feedback import Feedback

    where = error.where
    return Feedback(
        "malformed", error.message, field=where.field, line=where.line, remedy=error.remedy
    )


def finding(item: Feedback, file: str, *, remedy: bool = True) -> str:
    """A finding with its place, witness and remedy.

    Parameters
    ----------
    item
        The finding.
    file
        The file that it is about.
    remedy
        False leaves the remedy out.
    """
    from vepa.errors import Where

    text = f"{Where(file, item.line, item.field, item.place)}: {item.message}"
    if item.witness is not None:
        shown = ", ".join(f"{name}: {value}" for name, value in item.witness.items())
        text += f"\n  witness: {{{shown}}}, every other field unknown"
    return f"{text}\n  remedy: {item.remedy}" if remedy and item.remedy else text
