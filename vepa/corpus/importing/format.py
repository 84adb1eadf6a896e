"""What a format is, and how one is told from another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ValidationError

from vepa.corpus.importing.draft import Draft
from vepa.corpus.importing.grouping import Gathered
from vepa.corpus.importing.report import Notes
from vepa.corpus.trajectory import Trajectory
from vepa.errors import InputError, Where
from vepa.policy.document import plain_words

__all__ = ["Format", "GroupedFormat", "checked", "within"]

M = TypeVar("M", bound=BaseModel)


class Format(ABC):
    """One format of traces: a record of a file is one trajectory (or several).

    Attributes
    ----------
    name
        What `--format` takes.
    title
        For people.
    inside
        Keys under which one document holds an array of records.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    inside: ClassVar[Sequence[str]] = ()

    @abstractmethod
    def recognise(self, data: Any) -> bool:
        """Whether a record is probably of this format; looks at few keys, raises nothing."""

    def recognise_turn(self, data: Any) -> bool:
        """Whether it is one turn of a record that is a bare array of turns."""
        return False

    def dataset(self, stem: str) -> str | None:
        """First part of the ids, by the file's name without its ending; None takes that name."""
        return None

    @abstractmethod
    def read(
        self, data: Any, head: Mapping[str, Any], notes: Notes
    ) -> Iterable[Draft | Trajectory]:
        """The trajectories of one record.

        Parameters
        ----------
        data
            The record, any JSON value.
        head
            What the document says about all its records; mostly empty.
        notes
            Takes unknown keys and remarks.

        Raises
        ------
        InputError
            When it is no such record, with the field in `where`.
        """


class GroupedFormat(Format):
    """A format whose records are pieces (spans, runs): those of one key are a trajectory."""

    @abstractmethod
    def pieces(self, data: Any, head: Mapping[str, Any], notes: Notes) -> Iterator[tuple[str, Any]]:
        """The pieces of one record: key of the trajectory, and a JSON value to be kept.

        A `Link` in place of the value says that all pieces of the key belong to another key.

        Raises
        ------
        InputError
            When it is no such record, with the field in `where`.
        """

    @abstractmethod
    def join(self, key: str, pieces: Sequence[Any], notes: Notes) -> Iterable[Draft]:
        """The trajectories of all pieces of a key, which come in the order of the file.

        Raises
        ------
        InputError
            When they are none, with the field in `where`.
        """

    def complete(self, data: Any) -> bool:
        """Whether a record has all pieces of its trajectories, so that `read` takes it at once."""
        return False

    def group(self, key: str, file: str) -> str:
        """The key among all files; a format whose pieces do not name theirs goes by the file."""
        return key

    def read(
        self, data: Any, head: Mapping[str, Any], notes: Notes
    ) -> Iterable[Draft | Trajectory]:
        """All pieces of one record, where it stands alone."""
        with Gathered() as gathered:
            for key, piece in self.pieces(data, head, notes):
                gathered.add(key, piece, 1)
            for key, _, found in gathered.groups():
                yield from self.join(key, found, notes)


def word(data: Any, key: str) -> str | None:
    """The text under a key of an object; None when there is none, whatever stands there."""
    found = data.get(key) if isinstance(data, dict) else None
    return found if isinstance(found, str) else None


def checked(model: type[M], data: Any, notes: Notes | None = None, path: str = "") -> M:
    """A piece of a foreign format, its unknown keys counted.

    Parameters
    ----------
    model
        Derived from `Foreign`.
    data
        The JSON value.
    notes
        Takes the unknown keys; None leaves them.
    path
        Where it stands in the record, with a dot at its end.

    Raises
    ------
    InputError
        With the field of the first fault.
    """
    try:
        found = model.model_validate(data)
    except ValidationError as error:
        at, words = _first(error, data)
        field = path + ".".join(map(str, at))
        raise InputError(words, where=Where(field=field.strip(".") or None)) from None
    if notes is not None:
        notes.extras(found, path)
    return found


@contextmanager
def within(place: str) -> Iterator[None]:
    """Tell errors of what is done here with the place of the piece in front of the field."""
    try:
        yield
    except InputError as error:
        field = f"{place}.{error.where.field}" if error.where.field else place
        error.where = replace(error.where, field=field)
        raise


def _first(error: ValidationError, data: Any) -> tuple[list[str | int], str]:
    """Path and words of the first fault; of the branches of a union, the one that got furthest."""
    faults = error.errors(include_url=False)
    paths = [_real(each["loc"], data, each["type"] == "missing") for each in faults]
    start = paths[0]
    best = max(
        (at for at, each in enumerate(paths) if each[: len(start)] == start),
        key=lambda at: (len(paths[at]), -at),
    )
    return paths[best], plain_words(faults[best])


def _real(path: Sequence[str | int], data: Any, missing: bool) -> list[str | int]:
    """A path without the names of the branches that pydantic tried."""
    real: list[str | int] = []
    for at, part in enumerate(path):
        in_list = isinstance(data, list) and isinstance(part, int) and part < len(data)
        if in_list or (isinstance(data, dict) and part in data):
            data = data[part]
        elif not (missing and at == len(path) - 1):
            continue
        real.append(part)
    return real
