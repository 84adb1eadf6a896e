"""What there is to see of an episode, before it becomes a terminal's text or a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from vepa.corpus.episode import Episode
from vepa.corpus.events import EventRecord
from vepa.corpus.trajectory import Step, Trajectory
from vepa.parsing.instrumented import parse_trajectory
from vepa.parsing.sources import Leaf, Source, sources_of

__all__ = [
    "LETTERS",
    "QUIET_FIELDS",
    "Piece",
    "Shown",
    "ShownStep",
    "mark_of",
    "name_of_path",
    "pieces",
    "shown_episode",
    "shown_trajectory",
]

#: Kind of a source -> its letter and its meaning; the agent's own words have no mark.
LETTERS = {
    "user": ("U", "the user said it"),
    "message": ("M", "a message, or what the user quoted"),
    "document": ("D", "a document or record that was read"),
    "tool": ("T", "the answer of a tool"),
    "agent": ("", "the agent's own words"),
}
#: Fields of an event that tell most about a step.
QUIET_FIELDS = (
    "agent_outcome", "action_kind", "recipient", "sensitivity", "instruction_origin", "injection",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text; without a source it holds no traced word."""

    text: str
    source: Source | None


@dataclass(frozen=True, slots=True)
class ShownStep:
    """One step with all that belongs to it.

    Attributes
    ----------
    step
        As it is recorded.
    leaves
        Values of the arguments of a call, with their sources.
    before, after
        The `call` and the `step` event; empty where there is none.
    intended
        What a script meant it to be.
    offered
        Whether there was a tool of the call's name.
    """

    step: Step
    leaves: Sequence[Leaf]
    before: Mapping[str, str]
    after: Mapping[str, str]
    intended: str | None
    offered: bool = True

    @property
    def where(self) -> str:
        """The service that a call acts on, in words; empty where it is not known."""
        if not self.offered:
            return "no such tool was offered"
        return (self.step.call.environment if self.step.call else None) or ""

    @property
    def quiet(self) -> list[tuple[str, str]]:
        """The telling fields of the event of the step."""
        return [(name, self.after[name]) for name in QUIET_FIELDS if name in self.after]


@dataclass(frozen=True, slots=True)
class Shown:
    """An episode, or a trajectory alone.

    Attributes
    ----------
    file
        Where it was read.
    trajectory
        What happened.
    episode
        None for a trajectory alone: its end, checks and cost are not known.
    steps
        In order.
    """

    file: str
    trajectory: Trajectory
    episode: Episode | None
    steps: Sequence[ShownStep]


def shown_episode(episode: Episode, file: str) -> Shown:
    """An episode for people."""
    steps = _steps(episode.trajectory, episode.events, episode.intended)
    return Shown(file, episode.trajectory, episode, steps)


def shown_trajectory(trajectory: Trajectory, file: str) -> Shown:
    """A trajectory for people; its events are those of the instrumented parser."""
    return Shown(file, trajectory, None, _steps(trajectory, list(parse_trajectory(trajectory)), []))


def _steps(
    trajectory: Trajectory, events: Sequence[EventRecord], intended: Sequence[str | None]
) -> list[ShownStep]:
    leaves = sources_of(trajectory)
    known = {(record.meta.get("step"), record.unit): record.event for record in events}
    meant = iter(intended)
    offered = {tool.name for tool in trajectory.tools}
    return [
        ShownStep(
            step,
            leaves.get(step.index, []),
            known.get((step.index, "call"), {}),
            known.get((step.index, "step"), {}),
            None if step.kind == "user" else next(meant, None),
            step.call is None or step.call.tool in offered,
        )
        for step in trajectory.steps
    ]


def pieces(leaf: Leaf) -> Iterator[Piece]:
    """The whole text of a leaf, cut where its source changes."""
    at = 0
    for span in leaf.spans:
        if span.start > at:
            yield Piece(leaf.text[at : span.start], None)
        yield Piece(leaf.text[span.start : span.end], span.source)
        at = span.end
    if at < len(leaf.text):
        yield Piece(leaf.text[at:], None)


def mark_of(source: Source) -> str:
    """A source in short: `M3`, `M3!` for a third party's request; empty for the agent's words."""
    letter = LETTERS[source.kind][0]
    if not letter:
        return ""
    return f"{letter}{source.step}{'!' if source.request else ''}"


def name_of_path(path: Sequence[str | int]) -> str:
    """Where a value stands in the arguments: `attendees[0].email`."""
    name = ""
    for part in path:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    return name
