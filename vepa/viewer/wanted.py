"""Which trajectories somebody wants to see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import get_args

from vepa.corpus.events import EventRecord
from vepa.errors import SettingError, Where
from vepa.policy.event import UNITS
from vepa.policy.matching import Verdict
from vepa.policy.schema import Schema, nearest
from vepa.viewer.judging import DISAGREEMENTS, Judge
from vepa.viewer.rows import label_of, tools_of
from vepa.viewer.texts import holds
from vepa.viewer.view import Subject

__all__ = ["NO_LABEL", "Wanted"]

NO_LABEL = "none"
_LABELS = ("allow", "refuse", NO_LABEL)
_VERDICTS: tuple[str, ...] = get_args(Verdict)
#: What `--differs` may ask for.
_DIFFERENCES = {"any": DISAGREEMENTS, "missed": ("missed",), "false-alarm": ("false alarm",)}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Conditions that all have to hold; None and empty: any.

    Attributes
    ----------
    task, model, imported, tool
        Patterns (`finance-*`); of the tools one has to match.
    label
        `allow`, `refuse`, or `none` for a trajectory without a label.
    tripped
        A trigger that a check of the outcome found.
    ending
        How it ended.
    grep
        A text that stands somewhere in it; letter case plays no part.
    verdict
        What the policy makes of it.
    differs
        `missed` (a refusal that the policy allows), `false-alarm`, or `any` of the two.
    fields
        `UNIT.FIELD=VALUE`: one of its events of that unit has that value; all of them have to hold.
    """

    task: str | None = None
    model: str | None = None
    imported: str | None = None
    tool: str | None = None
    label: str | None = None
    tripped: str | None = None
    ending: str | None = None
    grep: str | None = None
    verdict: str | None = None
    differs: str | None = None
    fields: Sequence[str] = ()

    def checked(self, schema: Schema, *, policy: bool) -> Wanted:
        """Itself, once its words are known to mean something.

        Parameters
        ----------
        schema
            Of the events.
        policy
            Whether there is a policy to ask.

        Raises
        ------
        SettingError
            Names the option and the words that it takes.
        """
        _check("label", self.label, _LABELS, "labels")
        _check("verdict", self.verdict, _VERDICTS, "verdicts")
        _check("differs", self.differs, list(_DIFFERENCES), "differences")
        if not policy and (self.verdict or self.differs):
            name = "--verdict" if self.verdict else "--differs"
            raise SettingError(f"{name} needs a policy", remedy="name one with --policy FILE")
        for each in self.fields:
            _check_field(each, schema)
        return self

    def takes(self, subject: Subject, judge: Judge) -> bool:
        """Whether a trajectory is wanted.

        Raises
        ------
        EventError
            When its events have to be judged and one does not fit the policy's schema.
        """
        return self._by_head(subject) and self._by_events(subject, judge) and self._by_text(subject)

    def _by_head(self, subject: Subject) -> bool:
        of = subject.trajectory
        patterns = ((self.task, of.task), (self.model, of.model), (self.imported, of.format))
        return (
            all(_fits(pattern, name or "") for pattern, name in patterns)
            and (self.tool is None or any(_fits(self.tool, name) for name in tools_of(of)))
            and self.ending in (None, subject.ending)
            and (self.tripped is None or self.tripped in subject.tripped)
            and (self.label is None or self.label == (label_of(subject) or NO_LABEL))
        )

    def _by_events(self, subject: Subject, judge: Judge) -> bool:
        if not (self.verdict or self.differs or self.fields):
            return True
        units = judge.units | {_parts(each)[0] for each in self.fields}
        records = judge.events_of(subject.trajectory, subject.events, units)
        judged = judge.judged(subject.trajectory, records)
        return (
            self.verdict in (None, judged.verdict)
            and (self.differs is None or judged.disagreement in _DIFFERENCES[self.differs])
            and all(_has(records, each) for each in self.fields)
        )

    def _by_text(self, subject: Subject) -> bool:
        return self.grep is None or holds(subject, self.grep)


def _fits(pattern: str | None, name: str) -> bool:
    return pattern is None or fnmatchcase(name, pattern)


def _has(records: Sequence[EventRecord], field: str) -> bool:
    unit, name, value = _parts(field)
    return any(
        record.unit == unit and record.event.get(name, "unknown") == value for record in records
    )


def _parts(field: str) -> tuple[str, str, str]:
    place, _, value = field.partition("=")
    unit, _, name = place.partition(".")
    return unit, name, value


def _check(option: str, word: str | None, words: Sequence[str], kind: str) -> None:
    if word is not None and word not in words:
        raise SettingError(
            f"{word!r} is none of the {kind}",
            where=Where(field=f"--{option}"),
            remedy=nearest(word, words, kind),
        )


def _check_field(field: str, schema: Schema) -> None:
    unit, name, value = _parts(field)
    if not (unit and name and value):
        raise SettingError(
            f"{field!r} is no field with its value",
            where=Where(field="--field"),
            remedy="write UNIT.FIELD=VALUE, such as step.recipient=external",
        )
    _check("field", unit, UNITS, "units")
    _check("field", name, schema.names, "fields")
    _check("field", value, schema[name].values, f"values of {name}")
