"""What R-Judge, ASSEBench and ATBench have in common: conversations of turns with a role.

A record has `contents`, a list of conversations, each a list of turns: `{"role": "user" |
"environment", "content"}` or `{"role": "agent", "thought", "action"}`; any of the texts may be
null. What an agent does stands in the text of its `action`. `label` is 1 for unsafe, 0 for safe.

The record can be restored from its trajectory: a step whose parts do not give its turns back keeps
them in `written` (JSON of the turn, or of a list of turns), and what a record has beside the turns
is in `meta`: annotations by their own names, everything else (prose of the annotators, the goal of
a judge, …) under `rationale`, which is no annotation and goes into no event.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from vepa.corpus.importing.draft import Draft
from vepa.corpus.importing.format import Format, checked
from vepa.corpus.importing.formats.actions import read_action
from vepa.corpus.importing.formats.role_conversations import (
    Parts,
    Turn,
    read_conversation,
    turns_of,
)
from vepa.corpus.importing.report import Foreign, Notes
from vepa.corpus.trajectory import Trajectory
from vepa.errors import InputError, Where

__all__ = ["RATIONALE", "Flag", "Parts", "Record", "RoleTurns", "Turn", "is_record"]

#: Key of `meta` for what is no annotation; never part of an event.
RATIONALE = "rationale"
#: Keys that the source left out, under `rationale`.
_ABSENT = "(absent)"
#: Keys that a trajectory has a place of its own for.
_OWN = ("id", "label", "profile")
_ROLES = ("user", "agent", "environment")
_LABELS: dict[int, Literal["allow", "refuse"]] = {0: "allow", 1: "refuse"}


def _no_truth(value: Any) -> Any:
    if isinstance(value, bool):  # equal to 0 or 1, and not what could be restored
        raise ValueError(f"0 or 1 belongs here, not {str(value).lower()}")
    return value


Flag = Annotated[Literal[0, 1], BeforeValidator(_no_truth)]


class Record(Foreign):
    """A record; each benchmark adds its annotations."""

    contents: list[list[Turn]]
    id: int | str | None = None
    label: Flag | None = None
    profile: str | None = None
    goal: str | None = None
    risk_description: str | None = None


class RoleTurns(Format):
    """A benchmark of such records.

    Attributes
    ----------
    prefix
        First part of the ids.
    keys
        Keys of a record in their usual order.
    annotations
        Those of them that are annotations.
    model
        What a record is held against.
    """

    prefix: ClassVar[str]
    keys: ClassVar[Sequence[str]]
    annotations: ClassVar[Sequence[str]]
    model: ClassVar[type[Record]]

    def dataset(self, stem: str) -> str | None:
        """The benchmark's own name."""
        return self.prefix

    def parts(self, turn: Turn, answered: bool, heard: str) -> Parts:
        """What an agent's turn becomes."""
        act = read_action(turn.action or "", answered=answered, heard=heard)
        return Parts(act, turn.thought or None)

    def observed(self, turn: Mapping[str, Any]) -> str | None:
        """A result that stands inside the agent's own turn."""
        return None

    @abstractmethod
    def spell(self, parts: Parts) -> dict[str, Any]:
        """The agent's turn as this benchmark mostly spells it."""

    # -- reading ----------------------------------------------------------------------------------

    def read(self, data: Any, head: Mapping[str, Any], notes: Notes) -> Iterator[Draft]:
        """One trajectory a record."""
        record = checked(self.model, data, notes)
        draft = Draft(notes, id=None if record.id is None else str(record.id))
        draft.instruct(record.profile or "")
        draft.label = None if record.label is None else _LABELS[record.label]
        if not record.contents:
            raise InputError("no conversation", where=Where(field="contents"))
        for at, turns in enumerate(record.contents):
            place = f"contents.{at}"
            if not turns:
                raise InputError("a conversation without turns", where=Where(field=place))
            draft.conversation = at if len(record.contents) > 1 else None
            read_conversation(turns, data["contents"][at], place, draft, self)
        self.offer(draft, data)
        self._annotate(draft, data)
        yield draft

    def offer(self, draft: Draft, data: Mapping[str, Any]) -> None:
        """The tools that a record offers."""

    def kept(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """What of a record stands elsewhere in the trajectory, as it will be restored."""
        own = data.get("id")
        found = {
            "id": own if isinstance(own, int) else None,
            "label": data.get("label"),
            "profile": data.get("profile") or None,
        }
        found = {name: value for name, value in found.items() if name in self.keys}
        return (
            found
            | {"contents": data["contents"]}
            | {name: data[name] for name in self.annotations if name in data}
        )

    def beside(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """What else has to be kept so that the record can be restored."""
        return {}

    def annotated(self, name: str, value: Any) -> Any:
        """An annotation as events have it."""
        return value

    def _annotate(self, draft: Draft, data: Mapping[str, Any]) -> None:
        kept = self.kept(data)
        rest = {
            name: value
            for name, value in data.items()
            if name not in kept or kept[name] is not value
        } | self.beside(data)
        absent = [name for name in _OWN if name in self.keys and name not in data]
        if absent:
            rest[_ABSENT] = absent
        draft.meta = {
            name: self.annotated(name, data[name]) for name in self.annotations if name in data
        }
        if rest:
            draft.meta[RATIONALE] = rest

    # -- restoring --------------------------------------------------------------------------------

    def restore(self, trajectory: Trajectory) -> dict[str, Any]:
        """The record that a trajectory of this benchmark was read from."""
        rest = dict(trajectory.meta.get(RATIONALE, {}))
        absent = rest.pop(_ABSENT, [])
        own = {
            "id": _own_id(trajectory.id),
            "label": next((n for n, word in _LABELS.items() if word == trajectory.label), None),
            "profile": trajectory.system,
        }
        found = {
            **{name: value for name, value in own.items() if name in self.keys},
            "contents": self._contents(trajectory),
            **self.tools(trajectory, rest),
            **self._annotations(trajectory),
            **rest,
        }
        order = [*self.keys, *(name for name in found if name not in self.keys)]
        return {name: found[name] for name in order if name in found and name not in absent}

    def tools(self, trajectory: Trajectory, rest: dict[str, Any]) -> dict[str, Any]:
        """What was offered, as the record has it; takes what it needs out of `rest`."""
        return {}

    def unannotated(self, name: str, value: Any) -> Any:
        """An annotation as the record has it."""
        return value

    def _annotations(self, trajectory: Trajectory) -> dict[str, Any]:
        return {
            name: self.unannotated(name, value)
            for name, value in trajectory.meta.items()
            if name != RATIONALE
        }

    def _contents(self, trajectory: Trajectory) -> list[list[dict[str, Any]]]:
        found: dict[int, list[dict[str, Any]]] = {}
        for step in trajectory.steps:
            found.setdefault(step.conversation or 0, []).extend(turns_of(step, self))
        return [found[at] for at in sorted(found)]


def _own_id(name: str) -> int | str:
    own = name.rpartition("/")[2].partition("~")[0]
    return int(own) if own.lstrip("-").isdecimal() else own


def is_record(data: Any) -> bool:
    """Whether a record has conversations of turns with these roles."""
    contents = data.get("contents") if isinstance(data, dict) else None
    first = contents[0] if isinstance(contents, list) and contents else None
    turn = first[0] if isinstance(first, list) and first else None
    return isinstance(turn, dict) and turn.get("role") in _ROLES
