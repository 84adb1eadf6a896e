"""What `vepa run` shows while a run happens."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from vepa.cli.run_views import near

if TYPE_CHECKING:
    from pathlib import Path

    from vepa.bench.runs.run import Run
    from vepa.collect.runs.session import CorpusPlan

__all__ = ["EpisodeWatcher", "Watcher", "corpus_line", "line"]


class Watcher:
    """Shows on stderr what appears in a run's folder, as it appears.

    Parameters
    ----------
    planned
        The run.
    """

    def __init__(self, planned: Run):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self.run = planned
        self.store = planned.store
        self.shown: set[str] = set()
        self.stop = threading.Event()
        self.progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True, highlight=False),
            transient=True,
        )
        self.task = self.progress.add_task("starting Prefect", total=len(planned.needs))
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        from vepa.bench.comparison import counted

        self.progress.start()
        console = self.progress.console
        console.print(
            f"run {self.run.id} in {near(self.run.folder)}/", markup=False, soft_wrap=True
        )
        kept = [stage for stage in self.run.needs if self.run.done(stage)]
        for stage in kept:
            self._show(stage)
        if kept:
            were = "was" if len(kept) == 1 else "were"
            console.print(f"{counted(len(kept), 'stage')} {were} done before; going on")
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
        self._look()
        self.progress.stop()

    def _watch(self) -> None:
        while not self.stop.wait(0.1):
            self._look()

    def _look(self) -> None:
        for stage in self.run.needs:
            # Only what comes next can appear; a damaged stage shows when it was made again.
            if stage not in self.shown and not self._show(stage):
                return

    def _show(self, stage: str) -> bool:
        record = self.run.done(stage)
        if record is None:
            return False
        self.shown.add(stage)
        text = line(stage, record.figures)
        if text:
            self.progress.console.print(text, markup=False, soft_wrap=True)
        self.progress.update(self.task, completed=len(self.shown), description=f"{stage} done")
        return True


class EpisodeWatcher:
    """Shows on stderr how many episodes are there, as they appear.

    Parameters
    ----------
    plan
        What is collected.
    missing
        How many episodes are still to be played.
    """

    def __init__(self, plan: CorpusPlan, missing: int):
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
        )

        self.files = [plan.folder / "episodes" / order.file for order in plan.all_orders]
        self.missing = missing
        self.began, self.told = 0.0, 0
        self.stop = threading.Event()
        self.progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True, highlight=False),
            transient=True,
        )
        self.task = self.progress.add_task("episodes", total=len(self.files))
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        import time

        self.began = time.time()
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
        self._look(last=True)
        self.progress.stop()

    def _watch(self) -> None:
        while not self.stop.wait(0.5):
            self._look()

    def _look(self, *, last: bool = False) -> None:
        new = sum(self._is_new(path) for path in self.files)
        there = len(self.files) - self.missing + new
        self.progress.update(self.task, completed=there)
        # Without a terminal the bar is not drawn: a line now and then shows that it goes on.
        due = new - self.told >= max(1, len(self.files) // 10) or (last and new > self.told)
        if due and not self.progress.console.is_terminal:
            self.told = new
            text = f"{there} of {len(self.files)} episodes"
            self.progress.console.print(text, markup=False, soft_wrap=True)

    def _is_new(self, path: Path) -> bool:
        try:
            return path.stat().st_mtime >= self.began
        except OSError:
            return False


def corpus_line(plan: CorpusPlan, missing: int) -> str:
    """What stands in a corpus' folder, and what is still to be played."""
    from vepa.bench.comparison import counted

    left = f"{missing} to play" if missing else "all of them are there"
    return f"corpus of {counted(len(plan.all_orders), 'episode')} in {near(plan.folder)}/: {left}"


def line(stage: str, figures: Mapping[str, Any]) -> str:
    """One stage as a line for people: what was decided, then what the update made of it."""
    from vepa.bench.comparison import counted, method_name

    if stage.startswith("round-"):
        filled = round(10 * figures["coverage"])
        bar = "█" * filled + "░" * (10 - filled)
        score = f"{figures['covered_macro_f1']:.3f}" if figures["coverage"] else "  –  "
        tried, accepted = figures["patches"]["tried"], figures["patches"]["accepted"]
        rules = figures["rules"]
        return (
            f"round {figures['round']:2}  {bar} {figures['coverage']:4.0%} covered, F1 {score}  "
            f"→ update: {tried:2} tried, {accepted} accepted "
            f"→ {rules['active']} of {counted(rules['archive'], 'rule')} active"
        )
    if stage.startswith("baseline-"):
        name = method_name(stage.removeprefix("baseline-"))
        return f"{name}: the same stream and feedback, for comparison"
    return ""
