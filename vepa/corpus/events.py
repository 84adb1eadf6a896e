"""Typed events as records (JSON Lines) and as tables (int8 columns).

A file whose name ends with `.parquet` is one of columns (`vepa.corpus.columns`), and read as such.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vepa.corpus.ordering import natural_order
from vepa.errors import EventError, InputError, UnitMismatchError, Where
from vepa.files import name_of, read_lines
from vepa.policy.collector import paused
from vepa.policy.document import complaint
from vepa.policy.event import Event, Unit, check_unit
from vepa.policy.matching import ABSTAIN, ALLOW, REFUSE
from vepa.policy.schema import Schema, bundled_schema

__all__ = ["LABELS", "EventRecord", "EventTable", "read_events", "stream_events"]

Label = Literal["allow", "refuse"]
#: Label -> code, the same codes as a batch's decisions; no label is `ABSTAIN`.
LABELS: dict[Label, int] = {"allow": ALLOW, "refuse": REFUSE}


class EventRecord(BaseModel):
    """One line of an events file.

    Attributes
    ----------
    id
        Names the event in messages and decisions.
    event
        Field -> value; fields that are left out are `unknown`.
    label
        The right decision, where it is known.
    unit
        What the event describes.
    meta
        Annotations of the source; never features.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    id: str
    event: dict[str, str]
    label: Label | None = None
    unit: Unit = "trajectory"
    meta: dict[str, Any] = Field(default_factory=dict)

    def encode(self, schema: Schema) -> Event:
        """The validated event; raises `EventError`."""
        return Event(schema.encode(self.event), schema, check_unit(self.unit))


@dataclass(frozen=True, eq=False)
class EventTable:
    """Events of one unit as codes, with their labels.

    Attributes
    ----------
    schema
        The schema of the codes.
    ids
        One id an event.
    codes
        Shape (events, fields), int8.
    labels
        Shape (events,), int8: `ALLOW`, `REFUSE`, or `ABSTAIN` where no label is known.
    unit
        What the events describe.
    meta
        Annotations of the source; never features.
    """

    schema: Schema
    ids: tuple[str, ...]
    codes: npt.NDArray[np.int8]
    labels: npt.NDArray[np.int8]
    unit: Unit = "trajectory"
    meta: tuple[Mapping[str, Any], ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def columns(self) -> npt.NDArray[np.int8]:
        """Codes as contiguous columns, shape (fields, events)."""
        return np.ascontiguousarray(self.codes.T)

    @property
    def sha256(self) -> str:
        """Hash of ids, codes, labels, unit and schema: the same content, the same hash.

        The order counts; hash what `canonical` returns where it should not.
        """
        digest = hashlib.sha256()
        head = [self.schema.sha256, list(self.schema.names), self.unit, list(self.ids)]
        values = [list(field.values) for field in self.schema.fields]
        digest.update(json.dumps([head, values]).encode())
        digest.update(np.ascontiguousarray(self.codes).tobytes())
        digest.update(self.labels.tobytes())
        return digest.hexdigest()

    def take(self, rows: npt.NDArray[Any] | Sequence[int]) -> EventTable:
        """The events at `rows` (indices or a boolean mask), in that order."""
        where = np.asarray(rows)
        if where.dtype == np.bool_:
            where = np.flatnonzero(where)
        where = where.astype(np.intp)
        places = where.tolist()
        return replace(
            self,
            ids=tuple(map(self.ids.__getitem__, places)),
            codes=self.codes[where],
            labels=self.labels[where],
            meta=tuple(map(self.meta.__getitem__, places)) if self.meta else (),
        )

    def canonical(self) -> EventTable:
        """The same events in the natural order of their ids (`x/9` before `x/10`).

        Whatever is drawn over positions is then drawn over events, in whatever order they came.
        """
        order = natural_order(self.ids)
        return self if np.array_equal(order, np.arange(len(self))) else self.take(order)

    def with_codes(self, codes: npt.NDArray[np.int8]) -> EventTable:
        """The same events with other codes (a view, masked cells)."""
        return replace(self, codes=np.ascontiguousarray(codes, dtype=np.int8))

    def with_labels(self, labels: npt.NDArray[np.int8]) -> EventTable:
        """The same events with other labels."""
        return replace(self, labels=labels.astype(np.int8))

    @classmethod
    def empty(cls, schema: Schema, unit: Unit = "trajectory") -> EventTable:
        """A table without events."""
        codes = np.zeros((0, len(schema)), dtype=np.int8)
        return cls(schema, (), codes, np.zeros(0, dtype=np.int8), unit)

    @classmethod
    def from_records(cls, records: Iterable[EventRecord], schema: Schema) -> EventTable:
        """Encode records.

        Raises
        ------
        EventError
            When an event does not fit the schema, or the records are of several units.
        """
        return cls._of(((record, schema.encode(record.event)) for record in records), schema)

    @classmethod
    def _of(cls, rows: Iterable[tuple[EventRecord, tuple[int, ...]]], schema: Schema) -> EventTable:
        ids: list[str] = []
        codes = bytearray()  # a tenth of the memory of tuples; codes are small and never negative
        labels: list[int] = []
        meta: list[Mapping[str, Any]] = []
        unit: Unit | None = None
        for record, row in rows:
            if unit is not None and record.unit != unit:
                raise UnitMismatchError(
                    f"event {record.id!r} is a {record.unit}, those before are of unit {unit!r}",
                    where=Where(field="unit"),
                    remedy="keep the units in separate files",
                )
            unit = record.unit
            ids.append(record.id)
            codes += bytes(row)
            labels.append(ABSTAIN if record.label is None else LABELS[record.label])
            meta.append(record.meta)
        return cls(
            schema,
            tuple(ids),
            np.frombuffer(codes, dtype=np.int8).reshape(len(ids), len(schema)),
            np.array(labels, dtype=np.int8),
            unit or "trajectory",
            tuple(meta),
        )

    @classmethod
    def concat(cls, tables: Sequence[EventTable]) -> EventTable:
        """One table of several over the same schema and unit."""
        first = tables[0]
        for table in tables[1:]:
            if table.unit != first.unit:
                raise UnitMismatchError(
                    f"events of unit {first.unit!r} and of unit {table.unit!r} in one stream",
                    where=Where(field="unit"),
                    remedy="use --separate, or files of one unit",
                )
        return replace(
            first,
            ids=tuple(chain.from_iterable(table.ids for table in tables)),
            codes=np.concatenate([table.codes for table in tables]),
            labels=np.concatenate([table.labels for table in tables]),
            meta=tuple(chain.from_iterable(table.meta for table in tables)),
        )


def stream_events(
    path: str | Path, schema: Schema | None = None, *, unit: Unit | None = None
) -> Iterator[EventRecord]:
    """Stream the records of an events file (JSON Lines, `-` is standard input; or `.parquet`).

    A line is a record `{id, label?, event, unit?, meta?}` or a bare event, which is named after its
    line. Every event is held against the schema.

    Parameters
    ----------
    path
        The file.
    schema
        The schema of its events; the bundled one when left out.
    unit
        The unit that every record must be of (a policy's, for one); any when left out.

    Raises
    ------
    EventError
        At the first line that is no record, with file and line; at the end of a file without any.
    UnitMismatchError
        At the first line of another unit than `unit`, with file and line.
    """
    number = 0
    for number, record, _ in _encoded(path, schema or bundled_schema()):
        if unit is not None and record.unit != unit:
            raise UnitMismatchError(
                f"event {record.id!r} is a {record.unit}, the policy was made for events of unit "
                f"{unit!r}",
                where=Where(name_of(path), number, "unit"),
                remedy=f"use a policy of unit {record.unit!r}, or events of unit {unit!r} "
                "(an event that names no unit is a trajectory)",
            )
        yield record
    if not number:
        raise _no_events(path)


def _no_events(path: str | Path) -> EventError:
    return EventError(
        "no events in this file",
        where=Where(name_of(path), 1),
        remedy='one JSON record a line: {"id": ..., "event": {field: value}}',
    )


def read_events(path: str | Path, schema: Schema | None = None) -> EventTable:
    """Read a whole events file: JSON Lines (`-` is standard input), or columns (`.parquet`).

    Raises
    ------
    EventError
        When a line is no record, ids repeat, or the file holds no event.
    """
    from vepa.corpus.columns import is_columns, read_columns

    schema = schema or bundled_schema()
    if is_columns(path):
        return read_columns(path, schema)
    file = name_of(path)
    seen: set[str] = set()
    line = 1

    def distinct() -> Iterator[tuple[EventRecord, tuple[int, ...]]]:
        nonlocal line
        for number, record, row in _encoded(path, schema):
            line = number
            if record.id in seen:
                raise EventError(
                    f"the id {record.id!r} occurs twice",
                    where=Where(file, field="id"),
                    remedy="give each event an id of its own",
                )
            seen.add(record.id)
            yield record, row

    try:
        with paused():
            table = EventTable._of(distinct(), schema)
    except InputError as error:
        raise error.at(file=file, line=line) from None
    if not len(table):
        raise _no_events(path)
    return table


def _encoded(
    path: str | Path, schema: Schema
) -> Iterator[tuple[int, EventRecord, tuple[int, ...]]]:
    from vepa.corpus.columns import is_columns, read_columns

    if is_columns(path):
        yield from _recorded(read_columns(path, schema))
        return
    file = name_of(path)
    for number, text in read_lines(path):
        try:
            record = _record(text, number)
            row = schema.encode(record.event)
        except InputError as error:
            raise error.at(file=file, line=number) from None
        yield number, record, row


def _recorded(table: EventTable) -> Iterator[tuple[int, EventRecord, tuple[int, ...]]]:
    """The events of a table one by one, numbered from 1; `unknown` fields are left out."""
    names = {code: name for name, code in LABELS.items()}
    for at, row in enumerate(table.codes):
        codes = tuple(row.tolist())
        record = EventRecord.model_construct(
            id=table.ids[at],
            event={
                field.name: field.values[code]
                for field, code in zip(table.schema.fields, codes, strict=True)
                if code
            },
            label=names.get(int(table.labels[at])),
            unit=table.unit,
            meta=dict(table.meta[at]) if table.meta else {},
        )
        yield at + 1, record, codes


def _record(text: str, number: int) -> EventRecord:
    try:
        data = _DECODER.decode(text)
        if "\\u" in text:
            json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise EventError(
            "an escape that stands for no character (half of a surrogate pair)",
            remedy="write the character itself, in UTF-8",
        ) from None
    except json.JSONDecodeError as error:
        raise EventError(
            f"malformed JSON: {error.msg} (column {error.colno})",
            remedy="one JSON object a line (JSON Lines)",
        ) from None
    except RecursionError:
        raise EventError("nested too deep", remedy="one flat record a line") from None
    except ValueError as error:  # what Python's reader takes or trips over, and JSON does not have
        raise EventError(f"malformed JSON: {error}", remedy="write it as JSON has it") from None
    if not isinstance(data, dict):
        raise EventError("not an object", remedy='{"id": ..., "event": {field: value}}')
    if "event" not in data:
        data = {"id": f"line-{number}", "event": data}
    try:
        return EventRecord.model_validate(data)
    except ValidationError as error:
        path, message = complaint(error)
        raise EventError(
            message,
            where=Where(field=".".join(map(str, path)) or None),
            remedy='a record is {"id", "label"?, "event": {field: value}, "unit"?, "meta"?}, '
            "or a bare event",
        ) from None


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise EventError(f"duplicate key {twice!r}", remedy="keep one of the two")
    return data


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


#: Made once: `json.loads` with a hook would make a decoder for every line.
_DECODER = json.JSONDecoder(object_pairs_hook=_distinct_keys, parse_constant=_no_constant)
