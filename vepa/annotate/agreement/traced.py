"""What an agreement needs of trajectories: who acted on which service, and what people marked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vepa.annotate.agreement.ratings import Place, Rated
from vepa.corpus.trajectory import Step, Trajectory
from vepa.errors import InputError, Where

__all__ = ["ANSWERS", "OTHER_CALLS", "Acted", "Traced", "acted", "services_of", "traced_of"]

ANSWERS, OTHER_CALLS = "(answers)", "(other calls)"


@dataclass(frozen=True)
class Acted:
    """One step.

    Attributes
    ----------
    kind, speaker, service
        As in the step; the service is the environment of its call.
    """

    kind: str
    speaker: str | None
    service: str | None

    @property
    def judged(self) -> bool:
        """Whether it is a step of the agent, which annotators judge."""
        return self.kind in ("call", "answer")


@dataclass(frozen=True)
class Traced:
    """One trajectory.

    Attributes
    ----------
    steps
        In order.
    marked
        Index of the step that people marked.
    """

    steps: Sequence[Acted]
    marked: int | None


def traced_of(trajectories: Iterable[Trajectory]) -> dict[str, Traced]:
    """Id -> what is needed; contents are not kept."""
    return {
        each.id: Traced([_acted(step) for step in each.steps], each.marked) for each in trajectories
    }


def services_of(rated: Iterable[Rated], traced: Mapping[str, Traced]) -> dict[str, str]:
    """Item -> its service, or `ANSWERS`, or `OTHER_CALLS`.

    Raises
    ------
    InputError
        When a label is about a step that these trajectories do not have.
    """
    found = {}
    for each in rated:
        step = acted(each.place, traced)
        found[each.item] = step.service or (OTHER_CALLS if step.kind == "call" else ANSWERS)
    return found


def acted(place: Place, traced: Mapping[str, Traced]) -> Acted:
    """The step at a place; raises `InputError` when there is none that annotators judge."""
    trajectory, step = place
    if trajectory not in traced:
        message = f"the labels are about the trajectory {trajectory!r}, which the traces lack"
    elif step >= len(traced[trajectory].steps):
        message = f"{trajectory} has no step {step}, but a label is about it"
    elif not traced[trajectory].steps[step].judged:
        message = f"step {step} of {trajectory} is none of the agent's, but a label is about it"
    else:
        return traced[trajectory].steps[step]
    raise InputError(
        message,
        where=Where(field="trajectory"),
        remedy="name the traces that were annotated",
    )


def _acted(step: Step) -> Acted:
    service = None if step.call is None else step.call.environment
    return Acted(step.kind, step.speaker, service)
