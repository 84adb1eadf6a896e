"""What is judged: one step of a trajectory, with all that went before it and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from vepa.corpus.trajectory import Trajectory
from vepa.files import canonical_json, sha256_of

__all__ = ["StepItem", "distinct_items", "items_of"]


@dataclass(frozen=True)
class StepItem:
    """One step to be judged.

    Attributes
    ----------
    trajectory
        Id of the trajectory that it stands in; a reader never sees it.
    step
        Index of the step.
    shown
        What a reader is shown: the steps up to this one. Neither the task, the persona, the model,
        its temperament, the seed, a label nor any annotation is in it.
    """

    trajectory: str
    step: int
    shown: Trajectory

    @cached_property
    def hash(self) -> str:
        """Content hash of what is shown: the same course of events has the same, in any episode."""
        return sha256_of(canonical_json({"content": self.shown.content_hash, "judged": "step"}))


def items_of(trajectory: Trajectory) -> Iterator[StepItem]:
    """Every step of an agent: its calls and its answers, in order."""
    for step in trajectory.steps:
        if step.kind in ("call", "answer"):
            yield StepItem(trajectory.id, step.index, _neutral(trajectory, step.index))


def distinct_items(trajectories: Iterable[Trajectory]) -> Iterator[StepItem]:
    """Every item whose content was not there before."""
    seen: set[str] = set()
    for trajectory in trajectories:
        for item in items_of(trajectory):
            if item.hash not in seen:
                seen.add(item.hash)
                yield item


def _neutral(trajectory: Trajectory, last: int) -> Trajectory:
    """A new record of what may be seen: whatever is read of it later, nothing else is there."""
    return Trajectory(
        id="",
        tools=trajectory.tools,
        offered=trajectory.offered,
        premises=trajectory.premises,
        system=trajectory.system,
        steps=trajectory.steps[: last + 1],
    )
