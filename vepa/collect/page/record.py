"""An episode with the sources of its arguments, for machines."""

from __future__ import annotations

from typing import Any

from vepa.collect.page.view import Shown, ShownStep, name_of_path
from vepa.parsing.sources import Leaf

__all__ = ["record_of"]


def record_of(shown: Shown) -> dict[str, Any]:
    """JSON data: what was kept about the episode, and its steps with their sources."""
    episode, trajectory = shown.episode, shown.trajectory
    about: dict[str, Any] = {
        "id": trajectory.id,
        "file": shown.file,
        "task": trajectory.task,
        "persona": trajectory.persona,
        "model": trajectory.model,
        "seed": trajectory.seed,
    }
    if episode is not None:
        kept = episode.model_dump(
            mode="json",
            include={"scripted", "ending", "findings", "attempts", "versions", "started"},
        )
        about |= kept | {
            "seconds": episode.seconds,
            "succeeded": episode.succeeded,
            "tripped": episode.tripped,
            "spent": episode.spent.model_dump(mode="json"),
        }
    return about | {"steps": [_step(each) for each in shown.steps]}


def _step(shown: ShownStep) -> dict[str, Any]:
    step = shown.step.model_dump(mode="json", exclude_none=True)
    if step.get("result"):
        step["result"].pop("raw", None)
    return step | {
        "sources": [_leaf(leaf) for leaf in shown.leaves],
        "events": {
            unit: dict(event)
            for unit, event in (("call", shown.before), ("step", shown.after))
            if event
        },
        "intended": shown.intended,
    }


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
