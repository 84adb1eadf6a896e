"""Reads the traces of any known format, and tells what became of every record."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from vepa.corpus.importing.containers import BadRecord, Record, records
from vepa.corpus.importing.draft import Draft
from vepa.corpus.importing.format import Format, GroupedFormat
from vepa.corpus.importing.formats import AUTO, arrays, format_of, recognised
from vepa.corpus.importing.grouping import Gathered
from vepa.corpus.importing.report import ImportReport
from vepa.corpus.trajectory import Trajectory
from vepa.errors import InputError, Where
from vepa.files import name_of
from vepa.policy.document import complaint

__all__ = ["Import", "read_traces"]

#: So many records are looked at to find the format.
_LOOKED_AT = 5
#: So many numbers of an id are tried each time; what is taken more often is remembered.
_TRIED_AGAIN = 8
_TAKEN = "traces are JSON Lines or JSON: in a file, a folder or an archive, with gzip or without"
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


class Import:
    """The trajectories of a file, one at a time; iterate over it once.

    Parameters
    ----------
    path
        File, folder or archive; `-` is standard input.
    format
        Name of a format; `auto` finds out.
    strict
        Whether the first bad record ends it.
    dataset
        First part of the ids; that of the format or of the file's name when left out.
    ids
        Digests of the ids that are in use; imports that share the set give no id twice.

    Attributes
    ----------
    report
        What became of the records so far; whole after the last trajectory.

    Raises
    ------
    InputError
        While it is iterated: when the path cannot be read, no format fits, or, if `strict`, at the
        first bad record; with file, record, line and field.
    """

    def __init__(
        self,
        path: str | Path,
        format: str = AUTO,
        *,
        strict: bool = False,
        dataset: str | None = None,
        ids: set[bytes] | None = None,
    ):
        self.path = path
        self.strict = strict
        self.report = ImportReport(name_of(path), format)
        self._format = None if format == AUTO else format_of(format)
        self._dataset = dataset
        self._prefix: str | None = None
        #: Eight bytes an id: what 2 GB of traces have of them fits.
        self._ids: set[bytes] = ids if ids is not None else set()
        #: Id that came often -> number that may be free; thousands of files may hold a record 1.
        self._tried: dict[str, int] = {}

    def __iter__(self) -> Iterator[Trajectory]:
        kind, whole = self._decide()
        self.report.format = kind.name
        source = records(self.path, kind.inside, whole=whole)
        if isinstance(kind, GroupedFormat):
            yield from self._grouped(kind, source)
            return
        for record in source:
            yield from self._read(kind, record)

    # -- which format -----------------------------------------------------------------------------

    def _decide(self) -> tuple[Format, bool]:
        """The format, and whether an array is one record of it."""
        if _passes_by(self.path):
            if self._format is None:
                what = "standard input" if str(self.path) == "-" else "a pipe"
                raise InputError(
                    f"the format of {what} cannot be found out",
                    where=Where(name_of(self.path)),
                    remedy="say it: --format NAME, or keep it in a file",
                )
            return self._format, False
        if self._format is not None:
            looked = self._look(self._format.inside)
            known = any(self._format.recognise(data) for data in looked)
            return self._format, not known and any(map(self._format.recognise_turn, looked))
        # A document may be larger than memory, so it is first looked at item by item.
        kind, whole = recognised(self._look(arrays()))
        if kind is None or not (whole or any(map(kind.recognise, self._look(kind.inside)))):
            looked = self._look(())
            kind, whole = recognised(looked)
            kind = kind or self._unknown(looked)
        return kind, whole

    def _look(self, inside: Sequence[str]) -> list[Any]:
        """The first records."""
        found = (each.data for each in records(self.path, inside) if isinstance(each, Record))
        return list(islice(found, _LOOKED_AT))

    def _unknown(self, looked: list[Any]) -> Format:
        if not looked:
            for first in records(self.path):
                assert isinstance(first, BadRecord)  # otherwise it would have been looked at
                error = first.error.at(file=first.file, line=first.line)
                raise InputError(error.message, where=error.where, remedy=error.remedy or _TAKEN)
            raise InputError("no records", where=Where(name_of(self.path)))
        keys = sorted(looked[0])[:8] if isinstance(looked[0], dict) else type(looked[0]).__name__
        raise InputError(
            f"no known format of traces (the first record has {keys})",
            where=Where(name_of(self.path)),
            remedy="name it with --format if it is one that `vepa import --formats` lists",
        )

    # -- records ----------------------------------------------------------------------------------

    def _read(self, format: Format, record: Record | BadRecord) -> Iterator[Trajectory]:
        self.report.records += 1
        if isinstance(record, BadRecord):
            self._skip(record, record.error)
            return
        try:
            drafts = list(format.read(record.data, record.head, self.report.notes))
            finished = [
                self._finish(format, draft, record.number, at if len(drafts) > 1 else None)
                for at, draft in enumerate(drafts, 1)
            ]
        except InputError as error:
            self._skip(record, self._of_another(format, record, error))
            return
        except RecursionError:
            self._skip(record, InputError("nested too deep"))
            return
        for each in finished:
            self.report.trajectories += 1
            yield each

    def _of_another(self, format: Format, record: Record, error: InputError) -> InputError:
        """The error, or, where the record is of another format, that it is."""
        other, _ = recognised([record.data])
        if other is None or other.name == format.name:
            return error
        return InputError(
            f"a record of {other.name} in a file that is read as {format.name} ({error.message})",
            where=error.where,
            remedy="read each format by itself: a file or a folder is taken as one format",
        )

    def _grouped(
        self, format: GroupedFormat, source: Iterable[Record | BadRecord]
    ) -> Iterator[Trajectory]:
        with Gathered() as gathered:
            for record in source:
                if isinstance(record, BadRecord) or format.complete(record.data):
                    yield from self._read(format, record)
                    continue
                self.report.records += 1
                try:
                    for key, piece in format.pieces(record.data, record.head, self.report.notes):
                        gathered.add(format.group(key, record.file), piece, record.number)
                except InputError as error:
                    self._skip(record, self._of_another(format, record, error))
                except RecursionError:
                    self._skip(record, InputError("nested too deep"))
            for key, number, pieces in gathered.groups():
                place = Record(name_of(self.path), number, None, None)
                try:
                    drafts = list(format.join(key, pieces, self.report.notes))
                    finished = [self._finish(format, draft, number, None) for draft in drafts]
                except InputError as error:
                    self._skip(place, error)
                    continue
                except RecursionError:
                    self._skip(place, InputError("nested too deep"))
                    continue
                for each in finished:
                    self.report.trajectories += 1
                    yield each

    def _skip(self, record: Record | BadRecord, error: InputError) -> None:
        skipped = self.report.skip(record.file, record.number, record.line, error)
        if self.strict:
            raise InputError(
                f"record {skipped.record}: {error.message}",
                where=Where(skipped.file, skipped.line, skipped.field),
                remedy=skipped.remedy or "mend it, or leave --strict out to skip it",
            ) from None

    def _finish(
        self, format: Format, draft: Draft | Trajectory, number: int, at: int | None
    ) -> Trajectory:
        if isinstance(draft, Trajectory):
            return draft.model_copy(update={"id": self._distinct(draft.id)})
        if not len(draft):
            raise InputError("nothing happens in it", remedy="a trace has at least one turn")
        own = draft.id if draft.id is not None else str(number)
        name = own if at is None or draft.id is not None else f"{own}.{at}"
        if self._prefix is None:
            self._prefix = self._first_part(format)
        wanted = f"{self._prefix}/{name}"
        try:
            return draft.finish(self._distinct(wanted), format.name)
        except ValidationError as error:
            path, words = complaint(error)
            raise InputError(words, where=Where(field=".".join(map(str, path)) or None)) from None

    def _first_part(self, format: Format) -> str:
        if self._dataset is not None:
            return self._dataset
        own = format.dataset(Path(str(self.path)).stem)
        stem = "stdin" if str(self.path) == "-" else Path(str(self.path)).name.split(".")[0]
        return own or _NOT_IN_A_NAME.sub("-", stem).strip("-") or format.name

    def _distinct(self, name: str) -> str:
        found, number = name, 2
        while (key := hashlib.blake2b(found.encode(), digest_size=8).digest()) in self._ids:
            if number == 2:
                number = self._tried.get(name, 2)
            found, number = f"{name}~{number}", number + 1
        if found != name:
            self.report.notes.remark("id used twice, a number was added")
            if number > _TRIED_AGAIN:
                self._tried[name] = number
        self._ids.add(key)
        return found


def _passes_by(path: str | Path) -> bool:
    """Whether what is read once is gone: standard input, a pipe, a terminal."""
    place = Path(path)
    return str(path) == "-" or (place.exists() and not place.is_file() and not place.is_dir())


def read_traces(
    path: str | Path, format: str = AUTO, *, strict: bool = True, dataset: str | None = None
) -> Iterator[Trajectory]:
    """Stream the trajectories of a file of any known format; see `Import`.

    Raises
    ------
    InputError
        As `Import`; at the first bad record, unless `strict` is off.
    """
    yield from Import(path, format, strict=strict, dataset=dataset)
