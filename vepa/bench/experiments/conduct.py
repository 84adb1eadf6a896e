"""Playing what a plan takes, in processes, and working out the report."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from vepa.bench.experiments.catalogue import load_catalogue
from vepa.bench.experiments.document import Report
from vepa.bench.experiments.keeping import Play, PlayStore
from vepa.bench.experiments.measuring import Resamples
from vepa.bench.experiments.planning import Options, Plan, make_plan
from vepa.bench.experiments.plays import PolicyMethod, perform
from vepa.bench.experiments.working_out import work_out
from vepa.bench.processes import Progress, run_each
from vepa.bench.runs.versions import versions
from vepa.corpus.events import EventTable
from vepa.errors import RunError
from vepa.evolution.proposers.llm.opening import Desk
from vepa.files import canonical_json

__all__ = ["Job", "jobs_of", "perform_job", "perform_named", "play_all", "report_of"]

#: Where a model's answers and the ledger lie, beside the plays.
_ASKED = "asked"


@dataclass(frozen=True, eq=False)
class Job:
    """A play that is missing, with all that it takes to play it elsewhere.

    Attributes
    ----------
    play
        What is played.
    tables
        The events of its condition.
    folder
        Of the plays.
    desk
        For a play that asks a model.
    """

    play: Play
    tables: tuple[EventTable, ...]
    folder: Path
    desk: Desk | None = None

    @property
    def rounds(self) -> int:
        """Rounds that it takes: what progress counts."""
        return self.play.condition.stream.rounds


def jobs_of(plan: Plan, folder: Path, project: Path | None = None) -> list[Job]:
    """The plays of a plan that are not there yet; those that take longest first.

    Plays that ask a model come last, so that an empty budget keeps nobody else from playing. Each
    of them may take an even share of the budget.
    """
    store = PlayStore(folder)
    missing = [job for job in _every_job(plan, folder, project) if not store.has(job.play)]
    return sorted(missing, key=lambda job: (job.desk is not None, -_effort(job), job.play.key))


def _every_job(plan: Plan, folder: Path, project: Path | None) -> list[Job]:
    asked = sum(play.asks for play in plan.distinct)
    desk = Desk(folder / _ASKED, share=1 / asked, project=project) if asked else None
    return [
        Job(
            play,
            tuple(plan.tables[name] for name in play.condition.events),
            folder,
            desk if play.asks else None,
        )
        for play in plan.distinct
    ]


def _effort(job: Job) -> float:
    """A guess at how long a play takes, so that no long one starts last."""
    method = job.play.method
    slow = isinstance(method, PolicyMethod) and "paper" not in method.authority
    return job.rounds * sum(len(table) for table in job.tables) * (5.0 if slow else 1.0)


def perform_job(job: Job, progress: Progress = lambda _: None) -> str:
    """Play, and keep the answers; the play's key. Nothing is sent back but that."""
    play = job.play
    found = perform(play.condition, play.method, play.seed, job.tables, job.desk, progress)
    PlayStore(job.folder).write(play, found)
    return play.key


def perform_named(where: Mapping[str, Any], key: str) -> str:
    """Play one of the plays of a plan, found by names alone; nothing where it is there.

    Parameters
    ----------
    where
        `catalogue`, `options`, `folder` and `project`, as JSON data.
    key
        Of the play.

    Raises
    ------
    RunError
        When the plan has no such play: code, packages or events differ from those of who asks.
    """
    job = _jobs_named(canonical_json(dict(where))).get(key)
    if job is None:
        raise RunError(
            f"the play {key[:12]} is not one of this checkout's\n"
            "  remedy: run workers on the same code, packages and events"
        )
    return key if PlayStore(job.folder).has(job.play) else perform_job(job)


@lru_cache(maxsize=1)
def _jobs_named(where: str) -> dict[str, Job]:
    given = json.loads(where)
    project = None if given["project"] is None else Path(given["project"])
    options = Options.model_validate(given["options"])
    plan = make_plan(load_catalogue(given["catalogue"]), options, project)
    return {job.play.key: job for job in _every_job(plan, Path(given["folder"]), project)}


def play_all(
    jobs: Sequence[Job], *, workers: int = 1, progress: Progress = lambda _: None
) -> list[str]:
    """Play every job; the keys. What is finished is kept, whatever ends this.

    Raises
    ------
    RunError
        When a process dies.
    InputError, ModelError, BudgetError
        As the play raises it.
    """
    asking = [job for job in jobs if job.desk is not None]
    others = [job for job in jobs if job.desk is None]
    keys = run_each(perform_job, others, jobs=workers, progress=progress)
    return keys + run_each(perform_job, asking, jobs=workers, progress=progress)


def report_of(
    plan: Plan,
    folder: Path,
    command: Sequence[str],
    tell: Callable[[str], None] = lambda _: None,
) -> Report:
    """Work out every experiment of a plan whose plays are all there.

    Parameters
    ----------
    plan
        The plan.
    folder
        Of the plays.
    command
        Words of the command that makes this again, without `--only`.
    tell
        Called with the name of each experiment before it is worked out.
    """
    store, resamples = PlayStore(folder), dict[str, Resamples]()
    found = []
    for name in plan.experiments:
        tell(name)
        words = [*command, "--only", name]
        found.append(work_out(name, plan, store, shlex.join(words), resamples))
    only = ["--only", ",".join(plan.options.only)] if plan.options.only else []
    return Report(
        title=plan.catalogue.title,
        notes=plan.catalogue.notes,
        experiments=tuple(found),
        command=shlex.join([*command, *only]),
        versions=versions(),
        config=_config(plan.options),
    )


def _config(options: Options) -> dict[str, object]:
    return {
        "seeds": list(options.shuffles),
        "models": {role: cast.model for role, cast in options.cast.items()},
        "embedder": options.embedder,
    }
