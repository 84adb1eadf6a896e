"""Blind step files: batches of episodes for a reader who works through them in one sitting.

A reader sees each episode once, in order, and judges every step that is marked by what stands
before it. Which episode it is, how it was made and what anybody expects stands in a key file beside
the batch, which the reader never gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from vepa.annotate.items import StepItem, items_of
from vepa.corpus.tools import ToolMetadata
from vepa.corpus.trajectory import Trajectory
from vepa.llm.spelling import Writer
from vepa.parsing.llm.lines import known_line, offered_tools, operator_line, step_line

__all__ = ["Batch", "make_batches"]


@dataclass
class Batch:
    """Some episodes for one sitting.

    Attributes
    ----------
    number
        From 1.
    lines
        What the reader gets.
    items
        Mark of a step to be judged -> the step.
    places
        Address or id -> whether it lies inside the organisation; what all episodes agree on.
    """

    number: int
    lines: list[str] = field(default_factory=list)
    items: dict[str, StepItem] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    _episodes: int = 0

    @property
    def text(self) -> str:
        """The file for the reader: what holds for all of it, then the episodes."""
        places = f"places of addresses and ids: {Writer().value(self.places)}"
        return "\n".join([places, "", *self.lines]) + "\n"

    def add(self, trajectory: Trajectory, wanted: Sequence[StepItem]) -> None:
        """An episode, of which the wanted steps are to be judged."""
        self._episodes += 1
        name = f"B{self.number:03}-E{self._episodes}"
        marks = {item.step: f"{name}.{item.step}" for item in wanted}
        writer = Writer()
        self.lines += [f"=== episode {name} ===", *self._setting(trajectory, writer)]
        for step in trajectory.steps:
            line = step_line(step, writer)
            mark = marks.get(step.index)
            self.lines.append(line if mark is None else f"{line}\n>>> judge {mark}")
        self.lines += [f"=== end of {name} ===", ""]
        self.items |= {marks[item.step]: item for item in wanted}

    def _setting(self, trajectory: Trajectory, writer: Writer) -> list[str]:
        """The setting in short: of the tools their names and what they say about themselves."""
        lines = [] if trajectory.system is None else [operator_line(trajectory.system, writer)]
        premises = trajectory.premises
        own = {name: place for name, place in premises.known.items() if place == "self"}
        self.places |= {name: each for name, each in premises.known.items() if name not in own}
        known = known_line(premises.model_copy(update={"known": own}), writer)
        lines += [] if known is None else [known]
        called = {step.call.tool for step in trajectory.steps if step.call is not None}
        for tool in offered_tools(trajectory):
            service = f" ({tool.environment})" if isinstance(tool, ToolMetadata) else ""
            about = tool.description or ""
            shown = about if tool.name in called else about.split(". ")[0]
            lines.append(f"tool {tool.name}{service}: {writer.text(shown)}")
        return lines


def make_batches(
    trajectories: Iterable[Trajectory], steps: int = 50, known: Iterable[str] = ()
) -> list[Batch]:
    """Batches of about so many steps to be judged; content that was there before is only context.

    Parameters
    ----------
    trajectories
        In the order in which they are read.
    steps
        A batch is closed when it has this many.
    known
        Hashes of items that have been read already.
    """
    seen = set(known)
    batches = [Batch(1)]
    for trajectory in trajectories:
        wanted = [item for item in items_of(trajectory) if item.hash not in seen]
        if not wanted:
            continue
        seen |= {item.hash for item in wanted}
        if len(batches[-1].items) >= steps:
            batches.append(Batch(batches[-1].number + 1))
        batches[-1].add(trajectory, wanted)
    return batches
