"""Trials: one seed of one stream in one view, alone or many of them in parallel processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from vepa.bench.baselines import FAMILIES, make_baselines
from vepa.bench.baselines.asked.opening import open_asking
from vepa.bench.baselines.asked.settings import AskedSettings
from vepa.bench.prequential import Prequential, start
from vepa.bench.processes import Progress, run_each
from vepa.bench.scores import score, score_baselines, worked_off
from vepa.bench.streams import StreamSettings
from vepa.bench.views import stream_in_view, view_of
from vepa.corpus.events import EventTable
from vepa.errors import BudgetError
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
    asked
        Who is asked by the families that ask a language model.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    stream: StreamSettings = StreamSettings()
    mask_unknown: float = Field(0.0, ge=0.0, le=1.0)
    authority: str = "default"
    gates: Gates = Gates()
    evolution: EvolutionSettings = EvolutionSettings()
    baselines: tuple[str, ...] = ()
    asked: AskedSettings | None = None

    @property
    def rounds(self) -> int:
        """Rounds that a trial tells progress of: its own, and those of baselines that ask."""
        return self.stream.rounds * (1 + len(_asking(self.baselines)))


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
        Where the answers of models are kept, and the trial's share of the budgets.
    """

    key: tuple[str, str, int]
    tables: tuple[EventTable, ...]
    settings: TrialSettings
    desk: Desk | None = None


def run_trial(trial: Trial, progress: Progress = lambda _: None) -> dict[str, Any]:
    """Run one trial; its figures (see `vepa.bench.scores`), `start40` and `baselines`.

    Where a model proposes, `model` says what that took (see `ModelProposer.figures`); `asked` says
    it of the model that baselines ask (see `Asking.figures`).

    Raises
    ------
    BudgetError
        When the baselines have used up their share: nothing stands in for the model.
    """
    _, view, seed = trial.key
    settings = trial.settings
    asking = None
    if settings.asked is not None:  # first: what is wrong with it shows before the work
        opened = open_asking(settings.asked, trial.desk)
        asking = replace(opened, verify=settings.evolution.verify)
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
    learners = make_baselines(settings.baselines, stream.table.schema, visible, seed, asking)
    policies = [outcome.before for outcome in loop.outcomes]
    return {
        "seed": seed,
        **score(stream, loop.outcomes),
        "start40": {"coverage": begun.coverage, "f1": begun.f1, "labels": begun.labels},
        "policy_hash": loop.current.policy_hash,
        "wrong_feedback": loop.outcomes[-1].record.get("wrong_feedback"),
        "curve": ours.curve(),
        "baselines": score_baselines(
            stream, ours, learners, policies, dict.fromkeys(_asking(learners), progress)
        ),
        **({"model": source.figures()} if isinstance(source, Counted) else {}),
        **({"asked": asking.figures()} if asking is not None else {}),
    }


def _asking(names: Iterable[str]) -> list[str]:
    """Those that ask a model: families of one baseline each, of the same name; they take long."""
    return [name for name in names if name in FAMILIES and FAMILIES[name].asks]


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
    BudgetError
        When baselines have used up the share of a trial. The others are finished first, so that
        all that they may ask is answered and kept.
    """
    return _whole(run_each(_outcome, trials, jobs=jobs, progress=progress), trials)


def _outcome(trial: Trial, progress: Progress) -> dict[str, Any] | BudgetError:
    """A used-up budget as a result: it ends no other trial."""
    try:
        return run_trial(trial, progress)
    except BudgetError as error:
        return error


def _whole(
    found: Sequence[dict[str, Any] | BudgetError], trials: Sequence[Trial]
) -> list[dict[str, Any]]:
    """The figures, when every trial has them."""
    short = [each for each in found if isinstance(each, BudgetError)]
    if short:
        desk = trials[0].desk
        kept = None if desk is None else desk.answers
        told = (
            "nothing is kept, since no folder for answers was named"
            if kept is None
            else f"every answer so far is kept in {kept}: the same command goes on from there, and "
            "pays for none of them again"
        )
        raise BudgetError(
            f"the budget of the baselines ran out in {len(short)} of {len(found)} trials, so no "
            f"figure is told; {short[0]}; {told}",
            short[0].budget,
            short[0].owner,
        )
    return [each for each in found if not isinstance(each, BudgetError)]
