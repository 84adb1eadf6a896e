"""The tables of a release: every line a record, and parquet the same as the JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from vepa.corpus.events import EventRecord
from vepa.corpus.labels import Label
from vepa.corpus.lines import MAX_RECORD_BYTES
from vepa.corpus.settled import SettledLabel
from vepa.corpus.trajectory import Trajectory
from vepa.errors import InputError
from vepa.files import read_lines
from vepa.policy.document import complaint
from vepa.release.frames import frame_of
from vepa.release.layout import jsonl_path, parquet_path
from vepa.release.problems import Problem
from vepa.release.records import SPLITS, TABLES, Split, StepRow
from vepa.release.references import References

__all__ = ["MAKE_AGAIN", "check_tables"]

#: In the order in which they are read: what others refer to comes first.
_MODELS: dict[str, type[BaseModel]] = {
    "trajectories": Trajectory,
    "settled": SettledLabel,
    "labels": Label,
    "steps": StepRow,
    "events_step": EventRecord,
    "events_call": EventRecord,
}
assert set(_MODELS) == set(TABLES)
MAKE_AGAIN = "make the release again with `vepa corpus release`"
#: Problems of one kind that are told one by one.
_TOLD = 20

Rows = dict[str, dict[str, int]]


def check_tables(folder: Path, provenance: Mapping[str, Any] | None) -> tuple[Rows, list[Problem]]:
    """Read all tables once, a file at a time.

    Parameters
    ----------
    folder
        Of the release.
    provenance
        `labels` of its provenance; None where that cannot be read.

    Returns
    -------
    tuple
        Table -> split -> records that were read, and everything that is wrong. A missing file is
        left to the hashes.
    """
    references = References(provenance)
    rows: Rows = {table: {} for table in TABLES}
    problems: list[Problem] = []
    for table in _MODELS:
        for split in SPLITS:
            reading = _Reading(folder, table, split, references)
            problems += _some(jsonl_path(table, split), reading.problems())
            rows[table][split] = reading.count
    problems += _some(
        "data/steps",
        (
            Problem("data/steps", f"{name} step {step} has no row", MAKE_AGAIN)
            for name, step in references.missing
        ),
    )
    problems += _some(
        "data/settled",
        (Problem("data/settled", what, MAKE_AGAIN) for what in references.unsupported()),
    )
    remedy = f"what shares a task, a text or a group stands in one split; {MAKE_AGAIN}"
    problems += _some(
        "data/trajectories",
        (Problem("data/trajectories", what, remedy) for what in references.leaks()),
    )
    return rows, problems


def _some(file: str, problems: Iterable[Problem]) -> list[Problem]:
    """The first of them, and how many there are beside."""
    several = iter(problems)
    told = list(islice(several, _TOLD))
    more = sum(1 for _ in several)
    if more:
        told.append(Problem(file, f"{more} more of this kind", MAKE_AGAIN))
    return told


class _Reading:
    """One file of a table."""

    def __init__(self, folder: Path, table: str, split: Split, references: References):
        self.folder, self.table, self.split = folder, table, split
        self.references = references
        self.count = 0
        self._records: list[dict[str, Any]] = []
        self._sound = True

    def problems(self) -> Iterator[Problem]:
        name = jsonl_path(self.table, self.split)
        if not (self.folder / name).is_file():
            return
        try:
            for number, text in read_lines(self.folder / name, limit=MAX_RECORD_BYTES):
                for what, field in self._line(text):
                    yield Problem(name, what, MAKE_AGAIN, line=number, field=field)
        except InputError as error:
            self._sound = False
            yield Problem(name, error.message, MAKE_AGAIN, line=error.where.line)
        self.count = len(self._records)
        if self._sound:
            yield from self._parquet()
        self._records = []

    def _line(self, text: str) -> Iterator[tuple[str, str | None]]:
        try:
            data = json.loads(text)
            record = _MODELS[self.table].model_validate(data)
        except ValidationError as error:
            path, message = complaint(error)
            self._sound = False
            yield message, ".".join(map(str, path)) or None
        except (ValueError, RecursionError):
            self._sound = False
            yield "the line is no JSON", None
        else:
            self._records.append(data)
            yield from self.references.see(self.table, record, self.split)

    def _parquet(self) -> Iterator[Problem]:
        name = parquet_path(self.table, self.split)
        path = self.folder / name
        if not path.is_file():
            return
        wanted = frame_of(self.table, self._records)  # tells when polars is not installed
        import polars

        try:
            found = polars.read_parquet(path.read_bytes())
        except (polars.exceptions.PolarsError, OSError) as error:
            what = str(error).partition("\n")[0]
            yield Problem(name, f"the file is no parquet that can be read: {what}", MAKE_AGAIN)
            return
        if found.schema != wanted.schema or not found.equals(wanted):
            where = next(
                (each for each in wanted.columns if _differs(found, wanted, each)), "its rows"
            )
            yield Problem(name, f"says something else than the JSON Lines: {where}", MAKE_AGAIN)


def _differs(found: Any, wanted: Any, column: str) -> bool:
    return column not in found.columns or not found[column].equals(wanted[column])
