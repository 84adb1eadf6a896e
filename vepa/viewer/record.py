"""A trajectory with the sources of its arguments, its events, labels and rules, for machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vepa.parsing.sources import Leaf
from vepa.viewer.pieces import name_of_path
from vepa.viewer.view import SCRIPT, Label, Shown, ShownEvent, ShownStep

__all__ = ["record_of"]


def record_of(shown: Shown) -> dict[str, Any]:
    """JSON data: what was kept about the trajectory, and its steps with their sources."""
    of, judged = shown.trajectory, shown.judged
    return {
        "id": of.id,
        "file": shown.subject.file,
        "task": of.task,
        "persona": of.persona,
        "model": of.model,
        "seed": of.seed,
        "format": of.format,
        "label": of.label,
        "marked": of.marked,
        "verdict": judged.verdict,
        "disagreement": judged.disagreement,
        "rules": list(judged.rules),
        **shown.subject.about,
        "labels": _labels(shown.labels),
        "events": _events(shown.events),
        "why": _whys(shown.events),
        "meta": of.meta,
        "system": of.system,
        "steps": [_step(each) for each in shown.steps],
    }


def _step(shown: ShownStep) -> dict[str, Any]:
    step = shown.step.model_dump(mode="json", exclude_none=True)
    if step.get("result"):
        step["result"].pop("raw", None)
    step.pop("written", None)
    script = next((each.value for each in shown.labels if each.by == SCRIPT), None)
    return step | {
        "sources": [_leaf(leaf) for leaf in shown.leaves],
        "events": _events(shown.events),
        "why": _whys(shown.events),
        "labels": _labels(shown.labels),
        "marked": shown.marked,
        "intended": script,
    }


def _labels(labels: Sequence[Label]) -> list[dict[str, Any]]:
    return [
        {"by": each.by, "value": each.value, "unit": each.unit, "note": each.note}
        for each in labels
    ]


def _events(events: Sequence[ShownEvent]) -> dict[str, dict[str, str]]:
    """Unit -> event."""
    return {each.record.unit: dict(each.record.event) for each in events}


def _whys(events: Sequence[ShownEvent]) -> dict[str, dict[str, Any]]:
    """Unit -> the answer of the policy."""
    return {each.record.unit: each.why.to_dict() for each in events if each.why}


def _leaf(leaf: Leaf) -> dict[str, Any]:
    return {
        "argument": name_of_path(leaf.path),
        "text": leaf.text,
        "spans": [
            {
                "start": span.start,
                "end": span.end,
                "source": span.source.kind,
                "step": span.source.step,
                "request": span.source.request,
            }
            for span in leaf.spans
        ],
    }
