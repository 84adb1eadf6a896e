"""What `vepa run` shows while a run happens."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vepa.cli.looking import Looking
from vepa.cli.run_views import near

if TYPE_CHECKING:
    from pathlib import Path

    from vepa.bench.runs.run import Run
    from vepa.collect.runs.session import CorpusPlan

__all__ = ["EpisodeWatcher", "Watcher", "corpus_line", "line"]


class Watcher(Looking):
    """Shows on stderr what appears in a run's folder, as it appears.

    Parameters
    ----------
    planned
        The run.
    """

    def __init__(self, planned: Run):
        super().__init__("starting Prefect", len(planned.needs), 0.1)
        self.run = planned
        self.shown: set[str] = set()

    def begin(self) -> None:
        """Say which run it is, and show what was done before."""
        from vepa.bench.comparison import counted
        from vepa.bench.runs.interventions import left_behind

        self.say(f"run {self.run.id} in {near(self.run.folder)}/")
        for name in left_behind(self.run):
            self.say(
                f"a policy of {name} was edited by a person; this run begins without that edit, as "
                "code, settings or events are others"
            )
        kept = [stage for stage in self.run.needs if self.run.done(stage)]
        for stage in kept:
            self._show(stage)
        if kept:
            were = "was" if len(kept) == 1 else "were"
            self.say(f"{counted(len(kept), 'stage')} {were} done before; going on")

    def look(self, *, last: bool = False) -> None:
        """Show stages that are done now."""
        del last
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
            self.say(text)
        self.progress.update(self.task, completed=len(self.shown), description=f"{stage} done")
        return True


class EpisodeWatcher(Looking):
    """Shows on stderr how many episodes are there, as they appear.

    Parameters
    ----------
    plan
        What is collected.
    missing
        How many episodes are still to be played.
    """

    def __init__(self, plan: CorpusPlan, missing: int):
        self.files = [plan.folder / "episodes" / order.file for order in plan.all_orders]
        super().__init__("episodes", len(self.files), 0.5, counted=True)
        self.missing = missing
        self.began, self.told = 0.0, 0

    def begin(self) -> None:
        """What is written from now on is new."""
        self.began = time.time()

    def look(self, *, last: bool = False) -> None:
        """Count the episodes that are new."""
        new = sum(self._is_new(path) for path in self.files)
        there = len(self.files) - self.missing + new
        self.progress.update(self.task, completed=there)
        # Without a terminal the bar is not drawn: a line now and then shows that it goes on.
        due = new - self.told >= max(1, len(self.files) // 10) or (last and new > self.told)
        if due and not self.on_terminal:
            self.told = new
            self.say(f"{there} of {len(self.files)} episodes")

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
    if stage.startswith("edit-"):
        edits = ", ".join(f"{count} {name}" for name, count in figures["edits"].items())
        return f"edited by {figures['by']} after round {figures['after']}: {edits}"
    if stage.startswith("baseline-"):
        name = method_name(stage.removeprefix("baseline-"))
        return f"{name}: the same stream and feedback, for comparison"
    return ""
