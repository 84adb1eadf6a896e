"""Findings about a file, as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vepa.cli.console import Output
    from vepa.errors import InputError
    from vepa.policy.feedback import Feedback

__all__ = ["as_feedback", "counted", "finding", "rejected", "tell_rejection"]


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


def rejected(feedback: Iterable[Feedback]) -> dict[str, Any]:
    """What rejects a policy, as data."""
    told = [item.to_dict() for item in feedback]
    return {"ok": False, "policy_hash": None, "feedback": told}


def tell_rejection(out: Output, feedback: Sequence[Feedback], file: str) -> None:
    """All findings; a remedy that many of them share, once; and what was not looked at."""
    from vepa.policy.remedies import GENERAL

    for item in feedback:
        out.note(f"error: {finding(item, file, remedy=item.remedy != GENERAL)}")
    if any(item.remedy == GENERAL for item in feedback):
        out.note(f"  remedy: {GENERAL}")
    codes = {item.code for item in feedback}
    if codes == {"malformed"}:
        out.note("fields, values and conflicts were not checked yet")
    elif codes <= {"unknown_field", "unknown_value"}:
        out.note("conflicts were not checked yet")
