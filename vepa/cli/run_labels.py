"""What `vepa run` shows while annotators judge."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

    from vepa.annotate.runs.plan import AnnotationPlan

__all__ = ["LabelWatcher"]

#: Seconds between two looks; lines are told less often where there is no terminal.
_LOOK, _TELL = 0.5, 10.0


class LabelWatcher:
    """Shows on stderr how many judgements are there, as they come.

    Parameters
    ----------
    plan
        What is annotated.
    """

    def __init__(self, plan: AnnotationPlan):
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self.files = {
            seat.name: plan.folder / "judged" / f"{seat.name}.jsonl"
            for seat in plan.panel.annotators
        }
        self.lines = dict.fromkeys(self.files, 0)
        self.read = dict.fromkeys(self.files, 0)
        self.stop = threading.Event()
        self.progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=Console(stderr=True, highlight=False),
            transient=True,
        )
        self.task = self.progress.add_task("annotators begin", total=None)
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self.progress.start()
        self.thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop.set()
        self.thread.join()
        self.progress.stop()

    def _watch(self) -> None:
        told, waited = "", 0.0
        while not self.stop.wait(_LOOK):
            waited += _LOOK
            text = self._text()
            self.progress.update(self.task, description=text)
            plain = not self.progress.console.is_terminal
            if plain and text != told and waited >= _TELL:
                told, waited = text, 0.0
                self.progress.console.print(text, markup=False, soft_wrap=True)

    def _text(self) -> str:
        """Judgements of each annotator."""
        for name, path in self.files.items():
            self.lines[name] += self._new(name, path)
        parts = (f"{name}: {count:,}" for name, count in self.lines.items())
        return "judgements of annotators " + ", ".join(parts)

    def _new(self, name: str, path: Path) -> int:
        """Lines that were written since the last look."""
        try:
            with open(path, "rb") as stream:
                stream.seek(self.read[name])
                data = stream.read()
        except OSError:
            return 0
        self.read[name] += len(data)
        return data.count(b"\n")
