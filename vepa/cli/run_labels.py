"""What `vepa run` shows while annotators judge."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from vepa.cli.looking import Looking

if TYPE_CHECKING:
    from pathlib import Path

    from vepa.annotate.runs.plan import AnnotationPlan

__all__ = ["LabelWatcher"]

#: Seconds between two lines where there is no terminal.
_TELL = 10.0


class LabelWatcher(Looking):
    """Shows on stderr how many judgements are there, as they come.

    Parameters
    ----------
    plan
        What is annotated.
    """

    def __init__(self, plan: AnnotationPlan):
        super().__init__("annotators begin", None, 0.5)
        self.files = {
            seat.name: plan.folder / "judged" / f"{seat.name}.jsonl"
            for seat in plan.panel.annotators
        }
        self.lines = dict.fromkeys(self.files, 0)
        self.read = dict.fromkeys(self.files, 0)
        self.told, self.due = "", 0.0

    def begin(self) -> None:
        """The first line waits as long as the others."""
        self.due = time.monotonic() + _TELL

    def look(self, *, last: bool = False) -> None:
        """Count the judgements; the end of the work is told by others."""
        if last:
            return
        text = self._text()
        self.progress.update(self.task, description=text)
        if not self.on_terminal and text != self.told and time.monotonic() >= self.due:
            self.told, self.due = text, time.monotonic() + _TELL
            self.say(text)

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
