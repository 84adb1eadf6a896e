"""Streams: a data set as seeded rounds of events, part of which is labelled by feedback.

Four independent random sources per seed (order, choice of feedback, wrong feedback, masked cells),
so that changing one setting leaves the others' draws alone: the same shuffle at every flip rate,
the same flips for every method. Draws are nested: more feedback reveals a superset, a higher flip
rate flips a superset. All are drawn over events in their canonical order (`arrange`), so figures
depend on which events there are, not on the order of lines in a file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from vepa.corpus.events import EventTable
from vepa.errors import EventError, SettingError, Where
from vepa.policy.matching import ABSTAIN

__all__ = [
    "MAX_SEED",
    "FlipTarget",
    "Stream",
    "StreamRound",
    "StreamSettings",
    "arrange",
    "check_labelled",
    "join_tables",
    "make_stream",
    "mask_generator",
]

#: Learners of other packages take seeds of 32 bits.
MAX_SEED = 2**32 - 1

Indices = npt.NDArray[np.intp]
Codes = npt.NDArray[np.int8]


class FlipTarget(BaseModel):
    """Wrong feedback aimed at one slice of the events.

    Attributes
    ----------
    key, value
        The slice: events whose `meta[key]` equals `value`.
    share
        Chance that the feedback for an event of the slice is wrong; it takes the place of `flip`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    value: str
    share: float = Field(ge=0.0, le=1.0)


class StreamSettings(BaseModel):
    """How a table becomes a stream.

    Attributes
    ----------
    rounds
        Number of rounds.
    feedback
        Share of a round whose labels feedback reveals: `round(share * n)` events.
    flip
        Chance that a revealed label is wrong, for each event on its own.
    target
        Wrong feedback aimed at a slice.
    shift
        For a stream of several tables: None shuffles them into one; a number in [0, 1] lets their
        shares of a round move linearly, from the first table's events to the last one's, the more
        the higher (at 1 some table's share falls to nothing, or starts from it).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rounds: int = Field(10, ge=1)
    feedback: float = Field(0.5, ge=0.0, le=1.0)
    flip: float = Field(0.0, ge=0.0, le=1.0)
    target: FlipTarget | None = None
    shift: float | None = Field(None, ge=0.0, le=1.0)


@dataclass(frozen=True, eq=False)
class StreamRound:
    """One round of a stream.

    Attributes
    ----------
    number
        From 1.
    indices
        Rows of the stream's table, in the order of their arrival.
    feedback
        The rows among them whose label is revealed, in the same order.
    observed
        What feedback says about those rows; flipped where feedback is wrong.
    """

    number: int
    indices: Indices
    feedback: Indices
    observed: Codes

    @property
    def revealed(self) -> npt.NDArray[np.bool_]:
        """For each event of the round whether feedback reveals its label."""
        return np.isin(self.indices, self.feedback)


@dataclass(frozen=True, eq=False)
class Stream:
    """Events in rounds, with the feedback that every method gets.

    Attributes
    ----------
    table
        The events with their true labels, which only scoring may look at; in the order of
        `arrange`.
    rounds
        The rounds, in order.
    settings, seed
        What the stream was made of.
    """

    table: EventTable
    rounds: tuple[StreamRound, ...]
    settings: StreamSettings
    seed: int

    @property
    def order(self) -> Indices:
        """All rows in the order of their arrival."""
        return np.concatenate([part.indices for part in self.rounds])

    def asked(self, part: StreamRound) -> EventTable:
        """The events of a round as a method is asked about them: no label, no annotation."""
        hidden = np.full(len(part.indices), ABSTAIN, dtype=np.int8)
        return replace(self.table.take(part.indices).with_labels(hidden), meta=())

    def told(self, part: StreamRound) -> EventTable:
        """The feedback of a round as a method learns from it: observed labels, no annotation."""
        return replace(self.shown(part), meta=())

    def shown(self, part: StreamRound) -> EventTable:
        """The feedback of a round as events with their observed labels."""
        return self.table.take(part.feedback).with_labels(part.observed)


def make_stream(
    tables: EventTable | Sequence[EventTable], settings: StreamSettings, seed: int
) -> Stream:
    """Shuffle events into rounds and draw the feedback.

    Parameters
    ----------
    tables
        Labelled events in any order; several tables form one stream (see `arrange`).
    settings
        Rounds, feedback, flips.
    seed
        Seed of the four random sources.

    Raises
    ------
    EventError
        When an event has no label, a step no task, or two tables share an id.
    SettingError
        When there are fewer events (or tasks) than rounds, or nothing in the targeted slice.
    """
    parts = arrange([tables] if isinstance(tables, EventTable) else tables, settings)
    table = join_tables(parts)
    check_labelled(table)
    order, choice, wrong, _ = sources(seed)
    groups = _groups(table)
    owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])[groups.first]
    if len(groups) < settings.rounds:
        what = "events" if table.unit == "trajectory" else "tasks"
        raise SettingError(
            f"{len(groups)} {what} cannot fill {settings.rounds} rounds",
            where=Where(field="rounds"),
            remedy=f"ask for at most {len(groups)} rounds, or hand in more events",
        )
    if settings.shift is None:
        batches = np.array_split(order.permutation(len(groups)), settings.rounds)
    else:
        batches = _shifting(owners, settings.rounds, settings.shift, order)
    flipped = wrong.random(len(table)) < _chances(table, settings)
    observed = np.where(flipped, 1 - table.labels, table.labels).astype(np.int8)
    rounds = []
    for number, batch in enumerate(batches, 1):
        indices = groups.rows(batch)
        chosen = choice.permutation(len(indices))[: round(settings.feedback * len(indices))]
        feedback = indices[np.sort(chosen)]
        rounds.append(StreamRound(number, indices, feedback, observed[feedback]))
    return Stream(table, tuple(rounds), settings, seed)


def sources(seed: int) -> list[np.random.Generator]:
    """The independent random sources of a seed: order, choice of feedback, flips, masked cells."""
    children = np.random.SeedSequence(seed).spawn(4)
    return [np.random.default_rng(child) for child in children]


def mask_generator(seed: int, part: int = 0) -> np.random.Generator:
    """The random source of masked cells of one part of a stream, from the stream's seed."""
    if part == 0:
        return sources(seed)[3]
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(4)[3].spawn(part)[-1])


def arrange(tables: Sequence[EventTable], settings: StreamSettings) -> list[EventTable]:
    """The tables of a stream as everything random is drawn over them, events in canonical order.

    Without a shift they become one, so that it does not matter which event came in which file. With
    a shift each stays by itself, in the order given, since the shares move from the first to the
    last. Arranging twice changes nothing.

    Raises
    ------
    EventError
        When an id occurs in two of them.
    """
    if settings.shift is None:
        return [join_tables(tables).canonical()]
    return [table.canonical() for table in tables]


def join_tables(tables: Sequence[EventTable]) -> EventTable:
    """One table of several.

    Raises
    ------
    EventError
        When an id occurs in two of them.
    """
    seen: set[str] = set()
    for table in tables if len(tables) > 1 else ():
        twice = next((name for name in table.ids if name in seen), None)
        if twice is not None:
            raise EventError(
                f"the id {twice!r} occurs in two of the files that form one stream",
                where=Where(field="id"),
                remedy="give each event an id of its own, or score the files with --separate",
            )
        seen.update(table.ids)
    noted = any(table.meta for table in tables)
    padded = [
        replace(table, meta=tuple({} for _ in table.ids)) if noted and not table.meta else table
        for table in tables
    ]
    return EventTable.concat(padded)


def check_labelled(table: EventTable) -> None:
    """Raise `EventError` naming the first event without a label."""
    missing = np.flatnonzero(table.labels == ABSTAIN)
    if len(missing):
        raise EventError(
            f"event {table.ids[missing[0]]!r} has no label"
            + (f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""),
            where=Where(field="label"),
            remedy="a benchmark scores every event: label it `allow` or `refuse`, or leave it out",
        )


@dataclass(frozen=True, eq=False)
class _Groups:
    """What is shuffled as a whole: an event, or the steps of a task.

    Attributes
    ----------
    first
        First row of each group, in the order of the table.
    steps
        All rows of each group; None where each is one event.
    """

    first: Indices
    steps: tuple[Indices, ...] | None = None

    def __len__(self) -> int:
        return len(self.first)

    def rows(self, groups: Indices) -> Indices:
        """The rows of some groups, one group after the other."""
        if self.steps is None:
            return self.first[groups]
        return np.concatenate([self.steps[at] for at in groups.tolist()])


def _groups(table: EventTable) -> _Groups:
    if table.unit == "trajectory":
        return _Groups(np.arange(len(table), dtype=np.intp))
    members: dict[str, list[int]] = {}
    notes = table.meta or ({},) * len(table)
    for at, (name, meta) in enumerate(zip(table.ids, notes, strict=True)):
        task = meta.get("task")
        if not isinstance(task, str) or not task:
            raise EventError(
                f"event {name!r} of unit {table.unit!r} names no task",
                where=Where(field="meta.task"),
                remedy="steps are shuffled by task: put the task's id into `meta.task`",
            )
        members.setdefault(task, []).append(at)
    steps = tuple(np.array(rows, dtype=np.intp) for rows in members.values())
    return _Groups(np.array([rows[0] for rows in members.values()], dtype=np.intp), steps)


def _chances(table: EventTable, settings: StreamSettings) -> npt.NDArray[Any]:
    """For each event the chance that feedback about it is wrong."""
    chances = np.full(len(table), settings.flip)
    target = settings.target
    if target is not None:
        inside = np.array([str(meta.get(target.key)) == target.value for meta in table.meta])
        if not inside.any():
            values = sorted({str(meta[target.key]) for meta in table.meta if target.key in meta})
            raise SettingError(
                f"no event has meta {target.key} = {target.value!r}",
                where=Where(field="flip_target"),
                remedy=f"values of {target.key}: {', '.join(values[:20]) or 'none'}",
            )
        chances[inside] = target.share
    return chances


def _shifting(
    owners: npt.NDArray[np.intp], rounds: int, shift: float, order: np.random.Generator
) -> list[Indices]:
    """Rounds of near-equal size in which each table's share moves linearly; nothing is left out.

    Table t holds the share s of all and tilts by a: s * (1 + a) in the first round, s * (1 - a) in
    the last. With a proportional to 1 - 2m, m the middle of the table in the tables laid end to
    end, the shares of every round add up to one.
    """
    sizes = np.bincount(owners)
    shares = sizes / len(owners)
    tilt = 1.0 - 2.0 * (np.cumsum(shares) - shares / 2.0)
    tilt *= shift / max(np.abs(tilt).max(), 1e-12)
    waiting = [order.permutation(np.flatnonzero(owners == t)).tolist() for t in range(len(sizes))]
    # Plain numbers from here on, a million events at a time: the same sums in the same order.
    taken, due = [0] * len(sizes), [0.0] * len(sizes)
    batches = []
    for number, batch in enumerate(np.array_split(np.arange(len(owners)), rounds)):
        place = 1.0 - 2.0 * number / (rounds - 1) if rounds > 1 else 0.0
        steps = (shares * (1.0 + tilt * place)).tolist()
        picked = []
        for _ in range(len(batch)):
            table, most = 0, -math.inf
            for at, step in enumerate(steps):
                due[at] += step
                behind = due[at] - taken[at]
                if behind > most and waiting[at]:
                    table, most = at, behind
            taken[table] += 1
            picked.append(waiting[table].pop())
        batches.append(order.permutation(np.array(picked, dtype=np.intp)))
    return batches
