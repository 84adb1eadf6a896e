"""What `vepa reproduce` does once its options are settled: play, work out, write, show."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from vepa.bench.experiments.conduct import Job, play_all, report_of
from vepa.bench.experiments.document import Beside, Experiment, Report
from vepa.bench.experiments.planning import Plan
from vepa.bench.experiments.telling import NOT_RUN, mean_and_deviation, value
from vepa.cli.console import Output
from vepa.cli.findings import counted
from vepa.cli.progress import rounds_bar
from vepa.errors import SettingError, Where

__all__ = ["Workplace", "carry_out", "tell_dry_run"]

_RUNNERS = ("processes", "dask", "ray")
#: Seconds a round of a thousand events takes, about: of a policy, of the slowest learner.
_SECONDS = 0.25


@dataclass(frozen=True)
class Workplace:
    """Where a reproduction is carried out.

    Attributes
    ----------
    folder
        Where all goes; plays lie in `plays/`.
    catalogue, project
        Files of the experiments; folder of the project.
    runner, address
        Processes of this machine, or a Prefect sweep on Dask or Ray.
    jobs
        Processes.
    """

    folder: Path
    catalogue: Path
    project: Path | None
    runner: str
    address: str | None
    jobs: int | None

    def __post_init__(self) -> None:
        if self.runner not in _RUNNERS:
            raise SettingError(
                f"{self.runner!r} is no runner",
                where=Where(field="--runner"),
                remedy=f"one of {', '.join(_RUNNERS)}",
            )

    @property
    def plays(self) -> Path:
        """Folder of the plays."""
        return self.folder / "plays"

    @property
    def workers(self) -> int:
        """Processes at a time."""
        return self.jobs or os.cpu_count() or 1


def carry_out(
    out: Output, plan: Plan, missing: Sequence[Job], place: Workplace, command: Sequence[str]
) -> None:
    """Play what is missing, write the report, and show it."""
    from vepa.bench.experiments.writing import write_report

    begun = time.monotonic()
    if missing:
        out.note(f"{counted(len(missing), 'play')} to do of {len(plan.distinct)}")
        _play(out, plan, missing, place)
    played = time.monotonic() - begun
    report = report_of(plan, place.plays, command)
    written = write_report(report, place.folder)
    seconds = time.monotonic() - begun
    page = place.folder / "index.html"
    out.document(
        {
            **report.model_dump(mode="json"),
            "folder": str(place.folder),
            "page": str(page),
            "files": written,
            "played": len(missing),
            "seconds": {"playing": round(played, 1), "all": round(seconds, 1)},
        }
    )
    if not out.json:
        _show(out, report)
        out.text(f"{len(missing)} played, {seconds:.0f} s; report: {page}")


def _play(out: Output, plan: Plan, missing: Sequence[Job], place: Workplace) -> None:
    rounds = sum(job.rounds for job in missing)
    try:
        if place.runner == "processes":
            with rounds_bar(rounds) as progress:
                play_all(missing, workers=place.workers, progress=progress)
        else:
            _sweep(plan, missing, place)
    except KeyboardInterrupt:
        out.note("interrupted; what was played is kept, the same command goes on")
        raise


def _sweep(plan: Plan, missing: Sequence[Job], place: Workplace) -> None:
    """The plays as tasks of a Prefect flow, on worker processes of Dask or Ray."""
    from vepa.bench.runs.conduct import load_flow, prefect_server
    from vepa.lifecycle.profile import ScaleProfile
    from vepa.lifecycle.scaling import check_runner
    from vepa.project import Project

    workers = None if place.address else place.workers
    scale = ScaleProfile.model_validate(
        {"runner": place.runner, "workers": workers, "address": place.address}
    )
    check_runner(scale)
    project = Project(place.project)
    with prefect_server(project.artifacts_path / "prefect", verbose=False):
        sweep = load_flow(project.find("flows", "reproduce.py"), "sweep")
        sweep(
            catalogue=str(place.catalogue),
            options=plan.options.model_dump(mode="json"),
            folder=str(place.plays),
            project=str(place.project) if place.project else None,
            scale=scale.model_dump(),
            keys=[job.play.key for job in missing],
        )


def tell_dry_run(out: Output, plan: Plan, missing: Sequence[Job], place: Workplace) -> None:
    """What would be played, asked and spent; nothing is."""
    from vepa.bench.experiments.forecast import forecast_jobs

    found = forecast_jobs(missing, place.project)
    events = sum(sum(len(table) for table in job.tables) / 1000 * job.rounds for job in missing)
    minutes = events * _SECONDS / place.workers / 60
    lacking = [pair for name in plan.experiments for pair in plan.lacking(name)]
    needs = [f"{what}: {need}" for what, need in dict.fromkeys(lacking)]
    out.document(
        {
            "dry_run": True,
            "experiments": list(plan.experiments),
            "plays": len(plan.distinct),
            "missing": asdict(found),
            "minutes": round(minutes, 1),
            "not_run": needs,
        }
    )
    if out.json:
        return
    out.text(
        f"{counted(len(plan.experiments), 'experiment')}, {counted(len(plan.distinct), 'play')}, "
        f"{len(missing)} of them to do: about {minutes:.0f} min on {place.workers} processes"
    )
    if found.asking:
        price = "price not known" if found.dollars is None else f"{found.dollars:.2f} USD"
        out.text(
            f"{counted(found.asking, 'play')} ask a model: at most {found.questions:,} questions, "
            f"{found.prompt:,} tokens to read, {found.completion:,} to write, {price}"
        )
    for need in needs:
        out.text(f"NOT RUN  {need}")


def _show(out: Output, report: Report) -> None:
    rows = []
    for experiment in report.experiments:
        first = experiment.beside[:1]
        rows.append(
            (
                experiment.name,
                *(_beside(first[0]) if first else ("", "", "")),
                _state(experiment),
            )
        )
    out.table(("experiment", "beside", "source", "ours", "state"), rows, title=report.title)


def _beside(found: Beside) -> tuple[str, str, str]:
    told = value(found.source, found.unit, signed=found.signed)
    if found.ours is None:
        return found.what, told, NOT_RUN
    ours = mean_and_deviation(found.ours, found.unit, signed=found.signed)
    return found.what, told, ours


def _state(experiment: Experiment) -> str:
    rows = experiment.tables[0].rows
    absent = sum(bool(row.needs) for row in rows)
    done = counted(len(rows) - absent, "row")
    return f"{done}, {absent} NOT RUN" if absent else done
