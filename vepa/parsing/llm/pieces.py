"""What of a trace one event describes, and all that may be seen of it for that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from vepa.corpus.trajectory import Step, Trajectory
from vepa.policy.event import Unit

__all__ = ["Piece", "pieces_of"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A trace, or its steps up to the one that is described.

    Attributes
    ----------
    id, unit, meta
        Of the event.
    trajectory
        What happened until then, without id, label, mark, format and annotations.
    """

    id: str
    unit: Unit
    trajectory: Trajectory
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def proposed(self) -> bool:
        """Whether the last step is a call that has not run."""
        return self.unit == "call"


def pieces_of(trajectory: Trajectory, unit: Unit) -> Iterator[Piece]:
    """What the events of one unit describe, named as the instrumented parser names them.

    Parameters
    ----------
    trajectory
        The trace.
    unit
        `trajectory`: one piece. `call`: one a call, without its result. `step`: one a call with
        its result, and one an answer of the agent.
    """
    if unit == "trajectory":
        yield Piece(trajectory.id, unit, _blind(trajectory, trajectory.steps))
        return
    for step in trajectory.steps:
        if step.call is None and (unit == "call" or step.kind != "answer"):
            continue
        meta: dict[str, Any] = {"episode": trajectory.id, "step": step.index}
        if step.call is not None:
            meta |= {"call": step.call.id, "tool": step.call.tool}
        before = trajectory.steps[: step.index]
        shown = _not_run(step) if unit == "call" else step
        name = f"{trajectory.id}/{step.index}/{unit}"
        yield Piece(name, unit, _blind(trajectory, [*before, shown]), meta)


def _blind(trajectory: Trajectory, steps: list[Step]) -> Trajectory:
    """A new record of what is hashed: whatever is read of it later, a verdict is not there."""
    return Trajectory(
        id="",
        task=trajectory.task,
        persona=trajectory.persona,
        model=trajectory.model,
        seed=trajectory.seed,
        environments=trajectory.environments,
        tools=trajectory.tools,
        offered=trajectory.offered,
        premises=trajectory.premises,
        system=trajectory.system,
        steps=steps,
    )


def _not_run(step: Step) -> Step:
    return Step(
        index=step.index,
        kind=step.kind,
        call=step.call,
        thought=step.thought,
        speaker=step.speaker,
        conversation=step.conversation,
    )
