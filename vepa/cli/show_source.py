"""What `vepa show` is asked for: one trajectory, or those of a file or folder that are wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import typer

from vepa.cli.console import Output
from vepa.cli.inputs import one_stdin, policy_of, schema_of
from vepa.collect.episodes.listing import Episodes
from vepa.collect.episodes.shelf import SUFFIX, folders_of, holds_episodes, open_episode
from vepa.errors import SettingError
from vepa.files import name_of
from vepa.project import Project
from vepa.viewer.events import EventBook
from vepa.viewer.judging import Judge
from vepa.viewer.labels import LabelBook
from vepa.viewer.reading import Traces, find
from vepa.viewer.view import Shown, Subject, show_all
from vepa.viewer.wanted import Wanted

__all__ = ["Source", "source_of"]

_OTHER_UNITS = (
    " (--events FILE takes what `vepa parse --parser llm:MODEL` wrote; a policy that begins with "
    "`unit: step` decides about the events that need no model)"
)


@dataclass(slots=True)
class Source:
    """Where trajectories come from, and what is put to them.

    Attributes
    ----------
    title
        What it is called.
    many
        All of them, read while they are iterated.
    one
        The only one, where one was named.
    wanted
        Which of many.
    judge
        The policy, or none.
    books
        Events and labels of files.
    limit
        Rows of a list; None: all for machines, some for people.
    """

    title: str
    many: Episodes | Traces
    one: Subject | None
    wanted: Wanted
    judge: Judge
    books: Sequence[EventBook | LabelBook]
    limit: int | None

    def wanted_subjects(self) -> Iterator[Subject]:
        """The trajectories that are wanted, one at a time."""
        for subject in self.many if self.one is None else [self.one]:
            whole = subject
            for book in self.books:
                whole = book.put_to(whole)
            if self.wanted.takes(whole, self.judge):
                yield whole

    def shown(self) -> Shown:
        """The one, with all that belongs to it."""
        return show_all(next(self.wanted_subjects()), self.judge)

    @property
    def broken(self) -> list[str]:
        """What could not be read so far."""
        return self.many.broken

    def tell(self, out: Output) -> None:
        """Say what was left out; exit 1 where something could not be read."""
        for each in self.broken:
            out.note(f"not shown: {each}")
        for book in self.books if self.one is None else ():
            if book.unused:
                what = "events" if isinstance(book, EventBook) else "labels"
                out.note(f"{book.unused:,} {what} are of no trajectory that was read")
        for unit in self.judge.units if self.judge.asked and not self.judge.answered else ():
            out.note(
                f"the policy says nothing here: it is for events of unit {unit}, and there are none"
                + (_OTHER_UNITS if unit == "trajectory" else "")
            )
        if self.broken:
            raise typer.Exit(1)


def source_of(
    project: Project,
    what: str | None,
    id: str | None,
    folder: Path | None,
    wanted: Wanted,
    files: tuple[Sequence[Path], Sequence[Path]],
    policy: Path | None,
    schema: Path | None,
    limit: int | None,
    format: str | None,
) -> Source:
    """What the arguments of the command mean; `files` are those of events and of labels.

    Raises
    ------
    InputError
        When one of them means nothing, or several do not go together.
    """
    events, labels = files
    one_stdin(Path(what) if what else None, *events, *labels, policy, schema)
    folders = folders_of(project, folder)
    judge = Judge(policy_of(policy, schema) if policy else None, schema_of(schema))
    wanted.checked(judge.schema, policy=policy is not None)
    many, one = _found(what, id, folders, format)
    if format is not None and not isinstance(many, Traces):
        raise SettingError(
            "--format says how a file is read, and episodes have a form of their own",
            remedy="name a file; --imported keeps what was imported from a format",
        )
    if one is not None and (used := _used(wanted, limit)):
        raise SettingError(
            f"{', '.join(used)} and an episode do not go together",
            remedy="filters are for lists: name a file or a folder alone, or nothing at all",
        )
    books: list[EventBook | LabelBook] = []
    books += [EventBook.read(events, judge.schema)] if events else []
    books += [LabelBook.read(labels)] if labels else []
    title = one.trajectory.id if one else name_of(what) if what else "episodes"
    return Source(title, many, one, wanted, judge, books, limit)


def _found(
    what: str | None, id: str | None, folders: list[Path], format: str | None
) -> tuple[Episodes | Traces, Subject | None]:
    if what is None:
        return Episodes(folders), None
    file, mark, wanted = (what, "", "") if _is_path(what) else what.partition("#")
    if id is not None and not mark:
        mark, wanted = "#", id
    if mark and (_is_path(file) or file.endswith(".jsonl")):
        traces = Traces(file, format)
        return traces, find(traces, wanted)
    if not what.endswith(SUFFIX) and (_is_path(what) or what.endswith(".jsonl")):
        place = Path(what)
        return (Episodes([place]) if holds_episodes(place) else Traces(what, format)), None
    if id is not None:
        raise SettingError(
            f"{what!r} is no file, so there is no {id!r} in it",
            remedy="vepa show FILE ID, or vepa show TASK/MODEL/SEED",
        )
    return Episodes([]), open_episode(what, folders)


def _is_path(name: str) -> bool:
    try:
        return name == "-" or Path(name).exists()
    except (OSError, ValueError):  # longer than any path may be, or with signs that none may have
        return False


def _used(wanted: Wanted, limit: int | None) -> list[str]:
    names = [each.name for each in fields(wanted) if getattr(wanted, each.name)]
    names += ["limit"] if limit is not None else []
    return [f"--{'field' if name == 'fields' else name}" for name in names]
