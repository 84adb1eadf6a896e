"""A bar on stderr that is kept up to date from a thread of its own, while work goes on."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

__all__ = ["Looking"]


class Looking:
    """Looks at what is there again and again, from `with` to its end; a subclass says at what.

    However the block ends, the thread ends with it, a last look is taken and the bar is gone.

    Parameters
    ----------
    title
        Beside the bar until the first look.
    total
        How many there will be; None where nobody knows, so there is no bar.
    every
        Seconds between two looks.
    counted
        Whether numbers stand beside the bar.
    """

    def __init__(self, title: str, total: int | None, every: float, *, counted: bool = False):
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
        )

        columns: list[ProgressColumn] = [
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
        ]
        if total is not None:
            columns.append(BarColumn())
        if counted:
            columns.append(MofNCompleteColumn())
        self.progress = Progress(
            *columns,
            TimeElapsedColumn(),
            console=Console(stderr=True, highlight=False),
            transient=True,
        )
        self.task = self.progress.add_task(title, total=total)
        self._every = every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def begin(self) -> None:
        """Before the first look."""

    def look(self, *, last: bool = False) -> None:
        """Show what is there now.

        Parameters
        ----------
        last
            Whether the work has ended.
        """
        raise NotImplementedError

    @property
    def on_terminal(self) -> bool:
        """Whether the bar is drawn; elsewhere lines show that it goes on."""
        return self.progress.console.is_terminal

    def say(self, text: str) -> None:
        """A line that stays, above the bar."""
        self.progress.console.print(text, markup=False, soft_wrap=True)

    def __enter__(self) -> Self:
        self.progress.start()
        self.begin()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()
        try:
            self.look(last=True)
        finally:
            self.progress.stop()

    def _watch(self) -> None:
        while not self._stop.wait(self._every):
            self.look()
