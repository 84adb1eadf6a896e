"""Events from files, put to the trajectories and steps that they are about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from vepa.corpus.events import EventRecord, stream_events
from vepa.policy.schema import Schema
from vepa.viewer.view import Subject, step_of

__all__ = ["EventBook"]

#: How the instrumented parser and those that follow it name an event: `TRAJECTORY/STEP/UNIT`.
_NAME = re.compile(r"(.*)/(\d+)/(call|step)", re.DOTALL)


class EventBook:
    """Events by their trajectory; all of them are held in memory.

    An event names its trajectory in `meta.episode`, or by its own id: that of the trajectory, or
    `TRAJECTORY/STEP/UNIT`. The step stands in `meta.step`, or in such an id.

    Parameters
    ----------
    records
        The events.
    """

    def __init__(self, records: Iterable[EventRecord]):
        self._of: dict[str, list[EventRecord]] = {}
        self._used: set[str] = set()
        for record in records:
            owner, placed = _placed(record)
            self._of.setdefault(owner, []).append(placed)

    @classmethod
    def read(cls, paths: Sequence[Path], schema: Schema) -> EventBook:
        """The events of some files.

        Raises
        ------
        EventError
            At the first line that holds none of this schema, with file and line.
        """
        return cls(record for path in paths for record in stream_events(path, schema))

    def put_to(self, subject: Subject) -> Subject:
        """The subject with the events of the files instead; unchanged where there are none."""
        found = self._of.get(subject.trajectory.id)
        if found is None:
            return subject
        self._used.add(subject.trajectory.id)
        return replace(subject, events=found)

    @property
    def unused(self) -> int:
        """Events of trajectories that were not asked for yet."""
        return sum(len(found) for owner, found in self._of.items() if owner not in self._used)


def _placed(record: EventRecord) -> tuple[str, EventRecord]:
    """The id of the trajectory, and the event with its step in its meta."""
    owner, step = record.meta.get("episode"), step_of(record)
    named = _NAME.fullmatch(record.id) if record.unit != "trajectory" else None
    if not isinstance(owner, str):
        owner = named[1] if named else record.id
    if step is None and named:
        record = record.model_copy(update={"meta": {**record.meta, "step": int(named[2])}})
    return owner, record
