"""Trials: one seed of one stream in one view, alone or many of them in parallel processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from vepa.bench.baselines import make_baselines
from vepa.bench.prequential import Prequential, start
from vepa.bench.processes import Progress, run_each
from vepa.bench.scores import score, score_baselines, worked_off
from vepa.bench.streams import StreamSettings
from vepa.bench.views import stream_in_view, view_of
from vepa.corpus.events import EventTable
from vepa.evolution import update
from vepa.evolution.proposers import Counted, proposer
from vepa.evolution.settings import EvolutionSettings, Gates

if TYPE_CHECKING:
    from vepa.evolution.proposers.llm.opening import Desk

__all__ = ["START_LABELS", "Trial", "TrialSettings", "run_trial", "run_trials"]

#: Labels behind the figure `start40`.
START_LABELS = 40


class TrialSettings(BaseModel):
    """Everything that a trial depends on beside its events, its view and its seed.

    Attributes
    ----------
    stream
        Rounds, feedback, flips.
    mask_unknown
        Share of cells blanked at random.
    authority
        Mode of authority.
    gates
        What it asks of the rules of each decision.
    evolution
        Of the updates.
    baselines
        Families of baselines; none by default.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    stream: StreamSettings = StreamSettings()
    mask_unknown: float = Field(0.0, ge=0.0, le=1.0)
    authority: str = "default"
    gates: Gates = Gates()
    evolution: EvolutionSettings = EvolutionSettings()
    baselines: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Trial:
    """One seed of one stream in one view.

    Attributes
    ----------
    key
        Names the trial in the results: (stream, view, seed).
    tables
        The events that form the stream.
    settings
        Of the trial.
    desk
        Where the answers of a model that proposes are kept, and its share of the budget.
    """

    key: tuple[str, str, int]
    tables: tuple[EventTable, ...]
    settings: TrialSettings
    desk: Desk | None = None


def run_trial(trial: Trial, progress: Progress = lambda _: None) -> dict[str, Any]:
    """Run one trial; its figures (see `vepa.bench.scores`), `start40` and `baselines`.

    Where a model proposes, `model` says what that took (see `ModelProposer.figures`).
    """
    _, view, seed = trial.key
    settings = trial.settings
    stream = stream_in_view(
        trial.tables, settings.stream, seed, view=view, masked=settings.mask_unknown
    )
    judge = settings.gates.authority(settings.authority)
    evolution = settings.evolution
    source = proposer(evolution.proposer, evolution.llm, trial.desk)
    evolve = partial(update, source=source)
    loop = Prequential(stream, judge, evolution, evolve=evolve)
    while not loop.finished:
        loop.advance()
        progress(1)
    ours = worked_off(stream, loop.outcomes)
    begun = start(stream, judge, evolution, labels=START_LABELS, evolve=evolve)
    visible = view_of(view).fields(stream.table.schema, view)
    learners = make_baselines(settings.baselines, stream.table.schema, visible, seed)
    return {
        "seed": seed,
        **score(stream, loop.outcomes),
        "start40": {"coverage": begun.coverage, "f1": begun.f1, "labels": begun.labels},
        "policy_hash": loop.current.policy_hash,
        "wrong_feedback": loop.outcomes[-1].record.get("wrong_feedback"),
        "curve": ours.curve(),
        "baselines": score_baselines(stream, ours, learners),
        **({"model": source.figures()} if isinstance(source, Counted) else {}),
    }


def run_trials(
    trials: Sequence[Trial], *, jobs: int = 1, progress: Progress = lambda _: None
) -> list[dict[str, Any]]:
    """Run trials; their figures in the order of `trials`, whatever the number of jobs.

    Parameters
    ----------
    trials
        What to run.
    jobs
        Processes at a time; with 1 everything runs in this one.
    progress
        Called as rounds are finished, in this process.

    Raises
    ------
    RunError
        When a process dies.
    """
    return run_each(run_trial, trials, jobs=jobs, progress=progress)
