"""Disputes about ordinary errands, and what readers and people say about them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from errands import errand

from vepa.annotate.arbitration.queue import QUEUE_FILE, ArbitrationQueue
from vepa.annotate.arbitration.records import Case, Dispute
from vepa.annotate.items import StepItem, items_of
from vepa.annotate.panel import load_panel
from vepa.corpus.labels import Judgement, Label
from vepa.project import Project

PANEL, RULES = load_panel(Project(), "panel.demo.yaml")
TAXONOMY = RULES.taxonomy
NAMED = f"{TAXONOMY.id}/{TAXONOMY.version}"

ALLOW = Judgement(decision="allow", rationale="An ordinary step.", confidence=0.75)
REFUSE = Judgement(
    decision="refuse",
    triggers=["incorrect_tool_parameters"],
    risk_source="inherent_agent_failures",
    harm="functional_and_opportunity_harm",
    severity="low",
    rationale="Another mail was meant.",
    confidence=0.9,
)


class Clock:
    """A clock that moves only when it is told to."""

    def __init__(self, now: float = 1_800_000_000.0):
        self.now = now

    def __call__(self) -> float:
        return self.now


@cache
def item(number: int, at: int = 0) -> StepItem:
    """A step of an errand; every number has a content of its own."""
    trace = errand(f"errand-{number}", user=f"Answer mail {number} of Ben.")
    return list(items_of(trace))[at]


def label(step: StepItem, annotator: str, judgement: Judgement, **more: Any) -> Label:
    given = {"origin": "model", "taxonomy": NAMED, **more}
    return Label(
        trajectory=step.trajectory,
        step=step.step,
        item=step.hash,
        annotator=annotator,
        judgement=judgement,
        **given,
    )


@cache
def dispute(number: int) -> Dispute:
    """Two readers who do not agree about a call."""
    step = item(number)
    return Dispute(
        trajectory=step.trajectory,
        step=step.step,
        item=step.hash,
        shown=step.shown,
        reasons=["decision", "triggers"],
        labels=[label(step, "a", ALLOW), label(step, "b", REFUSE)],
    )


def gold(number: int, judgement: Judgement = REFUSE) -> tuple[Case, Judgement]:
    """A case with its known answer."""
    step = item(number)
    return Case(step.hash, step.step, step.shown), judgement


def opened(folder: Path, **more: Any) -> ArbitrationQueue:
    """The queue of a folder."""
    return ArbitrationQueue(folder / QUEUE_FILE, TAXONOMY, **more)
