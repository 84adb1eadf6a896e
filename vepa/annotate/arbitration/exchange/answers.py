"""What comes back from another tool: records, the answers in them, and the verdicts these make."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from vepa.corpus.labels import Judgement, Label
from vepa.errors import InputError, SettingError, Where
from vepa.policy.document import complaint

__all__ = ["SURE", "Answer", "Names", "Record", "fault", "verdict_of"]

#: How sure somebody is who does not say.
SURE = 0.8
_KEYS = ("decision", "risk_source", "harm", "severity", "rationale")


def fault(message: str, field: str, remedy: str | None) -> InputError:
    """Something wrong at a place of a record."""
    return InputError(message, where=Where(field=field), remedy=remedy)


@dataclass(frozen=True)
class Record:
    """One record of a file: its number from 1, its line where it has one, and what it holds."""

    number: int
    line: int | None
    data: Any

    def object(self) -> Mapping[str, Any]:
        """What it holds; raises `InputError` when that is no object or could not be read."""
        if isinstance(self.data, InputError):
            raise self.data
        if not isinstance(self.data, dict):
            raise fault("a record is an object", "", "hand in the file as the tool exported it")
        try:
            json.dumps(self.data, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            message = "an escape that stands for no character (half of a surrogate pair)"
            raise fault(message, "", "write the character itself, in UTF-8") from None
        return self.data

    def told(self, error: InputError, file: str, place: str = "") -> InputError:
        """The error with file, record and field."""
        inner = error.where.field or ""
        path = inner if not place or inner.startswith(place) else f"{place}.{inner}".rstrip(".")
        where = Where(
            file, self.line, path or None, f"record {self.number}{f', {path}' if path else ''}"
        )
        return InputError(error.message, where=where, remedy=error.remedy)


@dataclass(frozen=True)
class Answer:
    """What one person said about one record.

    Attributes
    ----------
    record, place
        Where it stands.
    item, who, also, at, meta
        Content hash, the person as the tool knows them, other ids of theirs, when, and what else it
        tells.
    given
        Question -> answer; `evidence` as (step, quote), `parts` as (step, start, end) in the step's
        text, `spans` as (start, end) in the text of all steps.
    error
        Why it cannot be read.
    unanswered, skipped
        Nobody answered; somebody left it to others or did not hand it in.
    """

    record: Record
    item: str = ""
    place: str = ""
    who: str | None = None
    also: Sequence[str] = ()
    at: Any = None
    meta: dict[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)
    error: InputError | None = None
    unanswered: bool = False
    skipped: bool = False


class Names:
    """How people are called in the queue.

    Parameters
    ----------
    given
        `NAME` for the one person of a file, or `ID=NAME` for each.
    """

    def __init__(self, given: Sequence[str]):
        pairs = [each.partition("=") for each in given]
        self._known = {name: new for name, sign, new in pairs if sign}
        plain = [name for name, sign, _ in pairs if not sign]
        if len(plain) > 1:
            raise SettingError("one name is for one person", remedy="--as ID=NAME for each")
        self._one = plain[0] if plain else None

    def check(self, answers: Iterable[Answer]) -> None:
        """Refuse one name for several people: their verdicts could not be told apart."""
        left = sorted({str(each.who) for each in answers if self._named(each) is None})
        if self._one is not None and len(left) > 1:
            raise SettingError(
                f"the file has answers of {len(left)} people: {', '.join(left[:5])}",
                where=Where(field="--as"),
                remedy="name each: --as ID=NAME",
            )

    def of(self, answer: Answer) -> str:
        """The name of whoever answered; raises `InputError` when there is none."""
        name = self._named(answer) or self._one or answer.who
        if not name:
            raise fault("nobody is named for this answer", "who", "name them with --as NAME")
        return name

    def _named(self, answer: Answer) -> str | None:
        ids = [answer.who or "", *answer.also]
        return next((self._known[each] for each in ids if each in self._known), None)


def verdict_of(answer: Answer, name: str, taxonomy: str, evidence: Sequence[Any]) -> Label:
    """The verdict that an answer makes.

    Parameters
    ----------
    answer
        The answer.
    name
        Of the person.
    taxonomy
        `ID/VERSION`.
    evidence
        Step and quote each.

    Raises
    ------
    InputError
        Names what is missing or wrong.
    """
    given = answer.given
    data = {key: given[key] for key in _KEYS if given.get(key) not in (None, "")}
    data["triggers"] = _ordered(given.get("triggers") or [], given.get("primary"))
    confidence = given.get("confidence")
    data["confidence"] = SURE if confidence is None else confidence
    data["evidence"] = [{"step": step, "quote": quote} for step, quote in evidence]
    return Label(
        trajectory="",
        step=0,
        item=answer.item,
        annotator=name,
        origin="person",
        taxonomy=taxonomy,
        at=moment(answer.at),
        judgement=judgement_of(data),
        note=note_of(given.get("note")),
        meta=answer.meta,
    )


def judgement_of(data: Mapping[str, Any]) -> Judgement:
    """A judgement; raises `InputError` with the field."""
    try:
        return Judgement.model_validate(data)
    except ValidationError as error:
        path, words = complaint(error)
        raise fault(words, ".".join(map(str, path)), "answer it again, or leave it out") from None


def moment(at: Any) -> str | None:
    """A moment as verdicts have it; raises `InputError` for what is none."""
    if at in (None, ""):
        return None
    try:
        read = datetime.fromisoformat(str(at))
        if read.tzinfo is None:
            read = read.replace(tzinfo=UTC)
        text = read.astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        raise fault(f"{at!r} is no moment", "at", "ISO 8601: 2026-03-01T12:00:00Z") from None
    return text.replace("+00:00", "Z")


def note_of(note: Any) -> str | None:
    """A note; raises `InputError` for what is no text."""
    if note is None or isinstance(note, str):
        return note or None
    raise fault("a note is a text", "note", "write it as text, or leave it out")


def _ordered(triggers: Any, primary: Any) -> Any:
    if not primary or not isinstance(triggers, list):
        return triggers
    if primary not in triggers:
        raise fault(
            f"the primary trigger {primary!r} is not among the triggers",
            "primary",
            "choose it among the triggers too",
        )
    return [primary, *(key for key in triggers if key != primary)]
