"""A trajectory in one row of a list."""

from __future__ import annotations

from typing import Any

from vepa.corpus.trajectory import Trajectory
from vepa.viewer.judging import Judge, Judged
from vepa.viewer.view import Subject

__all__ = ["glimpse_of", "label_of", "row_of", "shorten", "steps_of", "tools_of"]

#: So much of the first words stands in a row.
_GLIMPSE = 100


def row_of(subject: Subject, judge: Judge) -> dict[str, Any]:
    """What a list tells of a trajectory; judged only where there is a policy.

    Raises
    ------
    EventError
        When an event does not fit the policy's schema.
    """
    of = subject.trajectory
    judged = Judged()
    if judge.policy is not None:
        judged = judge.judged(of, judge.events_of(of, subject.events, judge.units))
    return {
        "id": of.id,
        "task": of.task,
        "model": of.model,
        "format": of.format,
        "label": label_of(subject),
        "verdict": judged.verdict,
        "disagreement": judged.disagreement,
        "rules": list(judged.rules),
        "ending": subject.ending,
        "succeeded": subject.succeeded,
        "tripped": list(subject.tripped),
        "marked": of.marked,
        "steps": steps_of(of),
        "tools": tools_of(of),
        "begins": glimpse_of(of),
    }


def label_of(subject: Subject) -> str | None:
    """The label of the whole: its own, or that of its event."""
    if subject.trajectory.label is not None:
        return subject.trajectory.label
    whole = (each for each in subject.events if each.unit == "trajectory")
    return next((each.label for each in whole if each.label is not None), None)


def steps_of(trajectory: Trajectory) -> int:
    """Calls and answers."""
    return sum(step.kind in ("call", "answer") for step in trajectory.steps)


def tools_of(trajectory: Trajectory) -> list[str]:
    """Names of the tools that were called, sorted."""
    return sorted({step.call.tool for step in trajectory.steps if step.call})


def glimpse_of(trajectory: Trajectory) -> str:
    """The first words of the user, or else of anybody."""
    texts = [step.text for step in trajectory.steps if step.text and step.kind == "user"]
    texts = texts or [step.text for step in trajectory.steps if step.text]
    return shorten(texts[0], _GLIMPSE) if texts else ""


def shorten(text: str, signs: int) -> str:
    """The beginning of a text on one line."""
    flat = " ".join(text[: 4 * signs].split())
    more = len(flat) > signs or len(text) > 4 * signs
    return flat[:signs] + ("…" if more else "")
