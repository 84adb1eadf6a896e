"""`vepa run`: the main job, shown while it happens."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from vepa.cli.console import AsJson, Output, ProjectDir

if TYPE_CHECKING:
    from vepa.bench.runs import Run

__all__ = ["run"]

_FIGURES = (
    "covered_macro_f1",
    "full_macro_f1",
    "final_coverage",
    "final3_coverage",
    "mean_coverage",
    "regression_rate",
    "adaptation_f1",
)


def run(
    profile: Annotated[
        str,
        typer.Option(
            "--profile", metavar="NAME", help="Profile under flows/profiles/, or its path."
        ),
    ] = "demo",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done; write nothing.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Make everything again, even what is done.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show Prefect's log too.")] = False,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Let a policy evolve over a stream of events; ends with a report.

    A run that was interrupted goes on where it stopped; one that is finished is not made again.
    """
    from vepa.bench.conduct import check_packages, conduct
    from vepa.bench.runs import begin, plan
    from vepa.project import Project

    out = Output(json)
    place = Project(project)
    planned = plan(place, profile)
    if dry_run:
        _tell_plan(out, planned)
        return
    begun = time.monotonic()
    stood = planned.finished and not fresh
    if not stood:
        check_packages(planned)
        begin(planned, fresh=fresh)
        try:
            with _Watcher(planned):
                conduct(planned, place, verbose=verbose)
        except KeyboardInterrupt:
            out.note("interrupted; what is done is kept, and the same command goes on from there")
            raise
    _tell_result(out, planned, stood, time.monotonic() - begun)


def _tell_plan(out: Output, planned: Run) -> None:
    from vepa.bench.conduct import estimate

    expected = estimate(planned)
    folder = planned.folder
    done = len(planned.needs) - len(planned.missing)
    out.document(
        {
            "dry_run": True,
            "id": planned.id,
            "folder": str(folder),
            "finished": planned.finished,
            "stages": {"all": len(planned.needs), "done": done},
            **expected.to_dict(),
        }
    )
    if out.json:
        return
    rows = [
        ("run", planned.id),
        ("rounds", f"{expected.rounds} over {expected.events} events"),
        ("feedback", f"{expected.labels} labels"),
        ("updates", f"{expected.updates}, at most {expected.patches} patches in all"),
        ("baselines", ", ".join(expected.baselines) or "none"),
        ("model calls", str(expected.model_calls)),
        ("cost", f"{expected.cost_usd:.2f} USD"),
        ("time", f"about {expected.seconds:.0f} s"),
        ("done already", f"{done} of {len(planned.needs)} stages"),
        ("products", f"{_near(folder)}/"),
    ]
    for name, value in rows:
        out.text(f"{name:13} {value}")
    out.text("\nNothing was written. Without --dry-run it runs.")


def _tell_result(out: Output, planned: Run, stood: bool, seconds: float) -> None:
    from vepa.bench.stages import read_summary

    folder = planned.folder
    summary = read_summary(folder)
    out.document(
        {
            "id": planned.id,
            "folder": str(folder),
            "report": str(folder / "report.html"),
            "policy": str(folder / "policy.yaml"),
            "policy_hash": summary["policy_hash"],
            "already_finished": stood,
            "figures": {name: summary[name] for name in _FIGURES},
            "rules": summary["rules"],
            "model_calls": planned.model_calls,
            "cost_usd": planned.cost_usd,
            "seconds": round(seconds, 3),
        }
    )
    if out.json:
        return
    rules = summary["rules"]
    if stood:
        out.note("This run is finished already, all products stand; --fresh makes it again.")
    out.text(f"\n{planned.profile.title or planned.name}")
    out.text(f"  covered macro-F1  {summary['covered_macro_f1']:.3f}")
    out.text(
        f"  coverage          {summary['final_coverage']:.1%} in the last round, "
        f"{summary['mean_coverage']:.1%} over all"
    )
    out.text(f"  full macro-F1     {summary['full_macro_f1']:.3f} (abstaining is a miss)")
    out.text(f"  rules             {rules['active']} active of {rules['archive']} verified")
    out.text(
        f"  cost              {planned.model_calls} model calls, {planned.cost_usd:.2f} USD, "
        f"{seconds:.1f} s"
    )
    policy, events = _near(folder / "policy.yaml"), _near(planned.files[0])
    out.text(f"\nReport  {_near(folder / 'report.html')}")
    out.text(f"Policy  {policy}")
    command = _command()
    out.text("\nNext:")
    out.text(f"  {command} policy show {policy}")
    out.text(f"  {command} policy explain {policy} {events} --id {planned.stream.table.ids[0]}")
    out.text(f"  {command} decide --policy {policy} {events}")


def _near(path: Path) -> str:
    """A path as short as it can be typed here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _command() -> str:
    """How this command was called: `vepa` where the shell finds it, else its path."""
    called = Path(sys.argv[0]).absolute()
    found = shutil.which("vepa")
    same = found is not None and Path(found).absolute() == called
    return "vepa" if same or not os.access(called, os.X_OK) else _near(called)


class _Watcher:
    """Shows on stderr what appears in a run's folder, as it appears."""

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
        self.progress.start()
        console = self.progress.console
        console.print(
            f"run {self.run.id} in {_near(self.run.folder)}/", markup=False, soft_wrap=True
        )
        kept = [stage for stage in self.run.needs if self.run.done(stage)]
        for stage in kept:
            self._show(stage)
        if kept:
            console.print(f"{len(kept)} stages were done before; going on")
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
        text = _line(stage, record.figures)
        if text:
            self.progress.console.print(text, markup=False, soft_wrap=True)
        self.progress.update(self.task, completed=len(self.shown), description=f"{stage} done")
        return True


def _line(stage: str, figures: Any) -> str:
    """One stage as a line for people."""
    if stage.startswith("round-"):
        filled = round(10 * figures["coverage"])
        bar = "█" * filled + "░" * (10 - filled)
        score = f"{figures['covered_macro_f1']:.3f}" if figures["coverage"] else "  –  "
        tried, kept = figures["patches"]["tried"], figures["patches"]["accepted"]
        rules = figures["rules"]
        return (
            f"round {figures['round']:2}  {bar} {figures['coverage']:4.0%} covered  "
            f"F1 {score}  {tried:2} tried, {kept} kept  "
            f"{rules['active']}/{rules['archive']} rules active"
        )
    if stage.startswith("baseline-"):
        return f"{stage.removeprefix('baseline-')}: the same stream and feedback, for comparison"
    return ""
