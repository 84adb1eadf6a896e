"""What became of the records of a file: how many, what was skipped, what was not understood."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, get_args

from pydantic import BaseModel, ConfigDict

from vepa.errors import InputError

__all__ = ["Foreign", "ImportReport", "Notes", "Skipped", "keys"]

#: So many skipped records are told one by one; all are counted.
MOST_TOLD = 100
#: So many different unknown keys are told; records may use their keys as data.
MOST_KEYS = 1000
_POSITION = re.compile(r"\.\d+(?=\.|$)")


def keys(names: str) -> frozenset[str]:
    """Keys, from a text with blanks between them."""
    return frozenset(names.split())


class Foreign(BaseModel):
    """A piece of somebody else's format; keys that it does not know are kept to be counted.

    Attributes
    ----------
    unused
        Keys that are known and say nothing of what happened (sampling, billing): not counted.
    """

    unused: ClassVar[frozenset[str]] = frozenset()

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record that could not be read.

    Attributes
    ----------
    record, line
        Its place in the file.
    field
        Dotted path of what is wrong.
    message, remedy
        In words.
    """

    file: str
    record: int
    line: int | None
    field: str | None
    message: str
    remedy: str | None

    def __str__(self) -> str:
        place = f"{self.file}, record {self.record}" + (f", line {self.line}" if self.line else "")
        field = f", {self.field}" if self.field else ""
        remedy = f" ({self.remedy})" if self.remedy else ""
        return f"{place}{field}: {self.message}{remedy}"


class Notes:
    """What an importer meets and does not understand; counted, never lost without a word."""

    def __init__(self) -> None:
        #: Dotted path, without positions -> how often.
        self.unknown: Counter[str] = Counter()
        #: What had to be done to fit -> how often ("result without a call", "id renamed").
        self.remarks: Counter[str] = Counter()

    def key(self, path: str) -> None:
        """Count a key that was not understood; positions in its path are left out."""
        path = _POSITION.sub("[]", path)
        if path in self.unknown or len(self.unknown) < MOST_KEYS:
            self.unknown[path] += 1
        else:
            self.unknown["(other keys)"] += 1

    def remark(self, what: str) -> None:
        """Count something else that the reader of a report should know."""
        self.remarks[what] += 1

    def extras(self, model: BaseModel, path: str = "") -> None:
        """Count the keys that a piece of a foreign format, or anything below, did not know."""
        if not model.__pydantic_extra__ and not _fields_of_models(model.__class__):
            return
        found: list[str] = []
        _unknown(model, path, found)
        for name in found:
            self.key(name)


def _unknown(model: BaseModel, path: str, found: list[str]) -> None:
    """Paths of unknown keys, positions in lists left out."""
    extra = model.__pydantic_extra__
    if extra:
        unused: frozenset[str] = getattr(model, "unused", frozenset())
        if not extra.keys() <= unused:
            found += [f"{path}{name}" for name in extra if name not in unused]
    values = model.__dict__
    for name in _fields_of_models(model.__class__) or ():
        value = values[name]
        if value.__class__ is list:
            _unknown_in(value, f"{path}{name}[]", found)
        elif _fields_of_models(value.__class__) is not None:
            _unknown(value, f"{path}{name}.", found)


def _unknown_in(values: list[Any], path: str, found: list[str]) -> None:
    within = f"{path}."
    for each in values:
        if each.__class__ is list:
            _unknown_in(each, f"{path}[]", found)
            continue
        fields = _fields_of_models(each.__class__)
        if fields or (fields is not None and each.__pydantic_extra__):
            _unknown(each, within, found)


@lru_cache(maxsize=1024)
def _fields_of_models(kind: type) -> tuple[str, ...] | None:
    """The fields of a model that may hold models, so that no other is looked at; else None."""
    if not issubclass(kind, BaseModel):
        return None
    fields = kind.model_fields.items()
    return tuple(name for name, field in fields if _may_be_model(field.annotation))


def _may_be_model(annotation: Any) -> bool:
    """Whether values of a type are models, or lists of them (of `Any` nothing makes a model)."""
    if isinstance(annotation, type):
        return issubclass(annotation, BaseModel)
    return any(map(_may_be_model, get_args(annotation)))


@dataclass
class ImportReport:
    """What became of a file's records.

    Attributes
    ----------
    file, format
        What was read, and as what.
    records, trajectories
        How many records were read, skipped ones included, and what came of them.
    skipped, told
        How many could not be read, and the first of them.
    notes
        Unknown keys and remarks.
    """

    file: str
    format: str = "auto"
    records: int = 0
    trajectories: int = 0
    skipped: int = 0
    told: list[Skipped] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)

    def skip(self, file: str, record: int, line: int | None, error: InputError) -> Skipped:
        """Note a record that could not be read."""
        found = Skipped(
            file, record, line, error.where.field, error.message, error.remedy
        )  # fmt: skip
        self.skipped += 1
        if len(self.told) < MOST_TOLD:
            self.told.append(found)
        return found

    def as_json(self) -> dict[str, Any]:
        """The report for machines."""
        return {
            "file": self.file,
            "format": self.format,
            "records": self.records,
            "trajectories": self.trajectories,
            "skipped": self.skipped,
            "skipped_records": [
                {
                    "file": each.file,
                    "record": each.record,
                    "line": each.line,
                    "field": each.field,
                    "message": each.message,
                    "remedy": each.remedy,
                }
                for each in self.told
            ],
            "unknown_keys": dict(sorted(self.notes.unknown.items())),
            "remarks": dict(sorted(self.notes.remarks.items())),
        }
