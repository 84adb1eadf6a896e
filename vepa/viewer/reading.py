"""Trajectories from files, for the viewer: one after the other, or one of them by its id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from vepa.corpus.importing import AUTO, Import
from vepa.errors import InputError, Where
from vepa.files import name_of
from vepa.viewer.signs import visible
from vepa.viewer.view import Subject

__all__ = ["Traces", "find", "near"]

#: So many ids are named in a message, and so many are compared with one that is not there.
_NAMED, _COMPARED = 12, 10_000
_LONGEST = 120


class Traces:
    """The trajectories of a file of any known format; iterate over it once.

    Parameters
    ----------
    path
        File, folder or archive; `-` is standard input.
    format
        As `Import` takes it; None finds out, and takes standard input as this project's own.

    Raises
    ------
    InputError
        While it is iterated: when the file cannot be read or no format fits.
    """

    def __init__(self, path: str | Path, format: str | None = None):
        self.path = path
        # What stands in a pipe cannot be looked at twice to find its format.
        self._import = Import(path, format or ("vepa" if str(path) == "-" else AUTO))

    def __iter__(self) -> Iterator[Subject]:
        for trajectory in self._import:
            yield Subject(trajectory, name_of(self.path))

    @property
    def broken(self) -> list[str]:
        """What was wrong with records that could not be read, so far."""
        report = self._import.report
        more = report.skipped - len(report.told)
        return [*map(str, report.told), *([f"and {more:,} more records"] if more else [])]


def find(traces: Traces, wanted: str) -> Subject:
    """The trajectory of a file that has an id.

    Raises
    ------
    InputError
        When there is none; the remedy names those that come near.
    """
    ids: list[str] = []
    for subject in traces:
        if subject.trajectory.id == wanted:
            return subject
        if len(ids) < _COMPARED:
            ids.append(subject.trajectory.id)
    raise InputError(
        f"no trajectory {wanted!r}",
        where=Where(name_of(traces.path)),
        remedy=near(wanted, ids) or "check the id",
    )


def near(name: str, ids: Sequence[str]) -> str:
    """What somebody may have meant, in words; empty where there is nothing at all."""
    close = get_close_matches(name, ids, n=5, cutoff=0.5)
    parts = {each.split("/")[0]: each for each in ids}
    close += [parts[part] for part in get_close_matches(name, list(parts), n=3)]
    if close:
        return "nearest: " + ", ".join(map(_told, dict.fromkeys(close)))
    if not ids:
        return ""
    more = " …" if len(ids) > _NAMED else ""
    return "there are: " + ", ".join(map(_told, islice(dict.fromkeys(ids), _NAMED))) + more


def _told(name: str) -> str:
    """An id in a message: in one line, and no longer than one can read."""
    line = visible(name).replace("\n", "\\n")
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
