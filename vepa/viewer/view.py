"""What there is to see of a trajectory, before it becomes a terminal's text or a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vepa.corpus.events import EventRecord
from vepa.corpus.trajectory import Step, Trajectory
from vepa.parsing.sources import Leaf
from vepa.policy.explain import Explanation
from vepa.viewer.judging import Judge, Judged

__all__ = [
    "QUIET_FIELDS",
    "SCRIPT",
    "Fact",
    "Label",
    "Shown",
    "ShownEvent",
    "ShownStep",
    "Subject",
    "Table",
    "conversation_of",
    "show_all",
]

#: Fields of an event that tell most about a step.
QUIET_FIELDS = (
    "agent_outcome", "action_kind", "recipient", "sensitivity", "instruction_origin", "injection",
)  # fmt: skip
#: Who labels the steps of a scripted agent.
SCRIPT = "script meant"

#: Name, value, and whether it is bad news.
Fact = tuple[str, str, bool]


@dataclass(frozen=True, slots=True)
class Label:
    """What somebody says about a trajectory or one of its steps; several may say different things.

    Attributes
    ----------
    by
        Who: an annotator, a file, a script.
    value
        `allow`, `refuse`, a trigger, or what else the annotator had to choose from.
    step
        Index of the step; None for the whole trajectory.
    unit
        Unit of the event that was labelled, where it was one.
    note
        Why.
    """

    by: str
    value: str
    step: int | None = None
    unit: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Something beside the steps, as a folded table.

    Attributes
    ----------
    title
        What it shows.
    columns
        Headings.
    rows
        Cells of each row, and whether it is bad news.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[tuple[Sequence[str], bool]]


@dataclass(frozen=True, slots=True)
class Subject:
    """A trajectory with what is known about it; nothing of it is derived yet.

    Attributes
    ----------
    trajectory
        What happened.
    file
        Where it was read.
    events
        Its known events; those of the instrumented parser are added (see `Judge.events_of`).
    labels
        Beside the label of the trajectory and those of its events.
    facts, tables
        What else stands above the steps.
    ending, succeeded, tripped
        How it ended, and what checks of its outcome found, where that is known.
    about
        For machines: what else was kept.
    """

    trajectory: Trajectory
    file: str
    events: Sequence[EventRecord] = ()
    labels: Sequence[Label] = ()
    facts: Sequence[Fact] = ()
    tables: Sequence[Table] = ()
    ending: str | None = None
    succeeded: bool | None = None
    tripped: Sequence[str] = ()
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShownEvent:
    """An event with the answer of the policy, where there is one of its unit."""

    record: EventRecord
    why: Explanation | None = None


@dataclass(frozen=True, slots=True)
class ShownStep:
    """One step with all that belongs to it.

    Attributes
    ----------
    step
        As it is recorded.
    leaves
        Values of the arguments of a call, with their sources.
    events
        Of this step, the `call` event before the `step` event.
    labels
        What people and scripts say about it.
    offered
        Whether there was a tool of the call's name; true where the tools are not known.
    marked
        Whether somebody holds it to be the decisive mistake.
    opens
        Whether another conversation begins with it than that of the step before.
    """

    step: Step
    leaves: Sequence[Leaf]
    events: Sequence[ShownEvent]
    labels: Sequence[Label]
    offered: bool = True
    marked: bool = False
    opens: bool = False

    @property
    def where(self) -> str:
        """The service that a call acts on, in words; empty where it is not known."""
        if not self.offered:
            return "no such tool was offered"
        return (self.step.call.environment if self.step.call else None) or ""

    @property
    def quiet(self) -> list[tuple[str, str]]:
        """The telling fields of the last event of the step."""
        event = self.events[-1].record.event if self.events else {}
        return [(name, event[name]) for name in QUIET_FIELDS if name in event]


@dataclass(frozen=True, slots=True)
class Shown:
    """A trajectory for people.

    Attributes
    ----------
    subject
        What was read.
    steps
        In order.
    events
        Of the whole trajectory.
    labels
        Of the whole trajectory.
    judged
        What the policy makes of it; empty without one.
    """

    subject: Subject
    steps: Sequence[ShownStep]
    events: Sequence[ShownEvent]
    labels: Sequence[Label]
    judged: Judged

    @property
    def trajectory(self) -> Trajectory:
        """What happened."""
        return self.subject.trajectory


def show_all(subject: Subject, judge: Judge | None = None) -> Shown:
    """A trajectory with the sources of its arguments, its events, labels and rules.

    Parameters
    ----------
    subject
        What was read.
    judge
        A policy that answers; none when left out.

    Raises
    ------
    EventError
        When an event does not fit the schema of the policy.
    """
    judge = judge or Judge()
    trajectory = subject.trajectory
    records, leaves = judge.events_and_sources(trajectory, subject.events)
    events = [ShownEvent(record, judge.why(record)) for record in records]
    labels = [*_labels(trajectory, records), *subject.labels]
    return Shown(
        subject,
        _steps(trajectory, leaves, events, labels),
        [each for each in events if each.record.unit == "trajectory"],
        [each for each in labels if each.step is None],
        judge.judged(trajectory, records),
    )


def _labels(trajectory: Trajectory, records: Sequence[EventRecord]) -> Iterator[Label]:
    if trajectory.label is not None:
        yield Label("label", trajectory.label)
    for record in records:
        if record.label is not None:
            step = None if record.unit == "trajectory" else step_of(record)
            trigger = record.meta.get("trigger")
            note = trigger if isinstance(trigger, str) else ""
            yield Label("label of the event", record.label, step, record.unit, note)


def step_of(record: EventRecord) -> int | None:
    """Index of the step that an event is about, where it says so."""
    step = record.meta.get("step")
    return step if isinstance(step, int) else None


def _steps(
    trajectory: Trajectory,
    leaves: Mapping[int, Sequence[Leaf]],
    events: Sequence[ShownEvent],
    labels: Sequence[Label],
) -> list[ShownStep]:
    at: dict[int | None, list[ShownEvent]] = {}
    for each in events:
        if each.record.unit != "trajectory":
            at.setdefault(step_of(each.record), []).append(each)
    said: dict[int | None, list[Label]] = {}
    for label in labels:
        said.setdefault(label.step, []).append(label)
    offered = {tool.name for tool in trajectory.tools}
    before = trajectory.steps[0].conversation if trajectory.steps else None
    shown = []
    for step in trajectory.steps:
        shown.append(
            ShownStep(
                step,
                leaves.get(step.index, []),
                sorted(at.get(step.index, []), key=lambda each: each.record.unit != "call"),
                said.get(step.index, []),
                step.call is None or not offered or step.call.tool in offered,
                trajectory.marked == step.index,
                step.conversation != before,
            )
        )
        before = step.conversation
    return shown


def conversation_of(step: Step) -> str:
    """Where a step belongs, in words, where a trajectory holds several conversations."""
    return "no conversation" if step.conversation is None else f"conversation {step.conversation}"
