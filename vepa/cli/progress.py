"""What is shown on stderr while services are installed, started or checked."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

__all__ = ["Count", "Steps", "rounds_bar"]

_TASK_WIDTH = 100


class Steps:
    """Told what happens, from any thread; shows it as it happens.

    On a terminal one line for each name moves in place; elsewhere every message is a line.

    Parameters
    ----------
    title
        What is going on.
    names
        Messages that begin with `NAME:` belong to that name.
    """

    def __init__(self, title: str, names: tuple[str, ...] = ()):
        self._title = title
        self._names = names
        self._lock = threading.Lock()
        self._progress: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            self._progress = Progress(
                SpinnerColumn(finished_text="✓"),
                TextColumn("{task.description}", markup=False),
                TimeElapsedColumn(),
                console=Console(stderr=True, highlight=False),
                transient=True,
            )
            self._tasks[""] = self._progress.add_task(self._title, total=1)
            for name in self._names:
                self._tasks[name] = self._progress.add_task(f"  {name}", total=1)
            self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, text: str) -> None:
        """Show a message."""
        name, _, _ = text.partition(":")
        with self._lock:
            if self._progress is None:
                sys.stderr.write(f"{text}\n")
                sys.stderr.flush()
                return
            own = name in self._tasks
            shown = f"  {text}" if own else f"{self._title}: {text}"
            done = 1 if own and ": up " in text else 0
            task = self._tasks[name if own else ""]
            self._progress.update(task, description=shown[:_TASK_WIDTH], completed=done)


class Count:
    """A bar over a known number of things, told about each from any thread.

    Parameters
    ----------
    title
        What is counted.
    total
        How many.
    """

    def __init__(self, title: str, total: int):
        self._title = title
        self._total = total
        self._done = 0
        self._lock = threading.Lock()
        self._progress: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )

            self._progress = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True, highlight=False),
                transient=True,
            )
            self._task = self._progress.add_task(self._title, total=self._total)
            self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, text: str, *, quiet: bool = False) -> None:
        """One more is done; `quiet` ones move the bar and say nothing."""
        with self._lock:
            self._done += 1
            if self._progress is not None:
                self._progress.update(
                    self._task, advance=1, description=f"{self._title}: {text}"[:_TASK_WIDTH]
                )
            elif not quiet:
                sys.stderr.write(f"{self._done}/{self._total} {text}\n")
                sys.stderr.flush()


@contextmanager
def rounds_bar(total: int) -> Iterator[Callable[[int], None]]:
    """A bar over the rounds of plays; a function that moves it on by so many."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("rounds"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("rounds", total=total)
        yield lambda count: bar.advance(task, count)
