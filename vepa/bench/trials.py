"""Trials: one seed of one stream in one view, alone or many of them in parallel processes."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from vepa.bench.baselines import make_baselines
from vepa.bench.prequential import Prequential, start
from vepa.bench.scores import score, score_baselines, worked_off
from vepa.bench.streams import StreamSettings
from vepa.bench.views import stream_in_view, view_of
from vepa.corpus.events import EventTable
from vepa.errors import RunError
from vepa.evolution import update
from vepa.evolution.proposers import Counted, proposer
from vepa.evolution.settings import EvolutionSettings, Gates

if TYPE_CHECKING:
    from vepa.evolution.proposers.llm.opening import Desk

__all__ = ["START_LABELS", "Trial", "TrialSettings", "run_trial", "run_trials"]

#: Labels behind the figure `start40`.
START_LABELS = 40
#: Called with the number of rounds that were finished since the last call.
Progress = Callable[[int], None]


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
    if jobs <= 1 or len(trials) <= 1:
        return [run_trial(trial, progress) for trial in trials]
    context = multiprocessing.get_context("spawn")  # no state is inherited, on any system
    ticks = context.Queue()
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        min(jobs, len(trials)), mp_context=context, initializer=_connect, initargs=(ticks,)
    )
    try:
        with _interrupts_later():  # the workers start here, and keep what is blocked
            futures = [pool.submit(_run_connected, trial) for trial in trials]
        _follow(futures, ticks, progress)
        return [future.result() for future in futures]
    except BrokenProcessPool:
        raise RunError(
            "a process of the benchmark died, perhaps for want of memory; try fewer --jobs"
        ) from None
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        ticks.close()


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Put interrupts off until the end; children that start meanwhile never get any.

    The mask is what children inherit. It does not keep an interrupt from this process, which may
    have other threads (those of a linear algebra library) to take it: hence the handler.
    """
    noted: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, lambda *_: noted.append(1)) if main else None
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if main:
            signal.signal(signal.SIGINT, handler)
    if noted:
        raise KeyboardInterrupt


def _follow(futures: Iterable[Future[Any]], ticks: Any, progress: Progress) -> None:
    """Pass progress on until all trials are done, or until one fails."""
    waiting = set(futures)
    while waiting:
        try:
            progress(ticks.get(timeout=0.1))
            continue  # drain first, so that the last ticks are not lost
        except queue.Empty:
            pass
        done = {future for future in waiting if future.done()}
        for future in done:
            future.result()
        waiting -= done


#: What a worker process was given at its start.
_worker: dict[str, Any] = {}


def _connect(ticks: Any) -> None:
    """Set up a worker: it reports progress, and dies with its parent."""
    _worker["ticks"] = ticks
    parent = multiprocessing.parent_process()
    assert parent is not None

    def outlive() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=outlive, daemon=True).start()


def _run_connected(trial: Trial) -> dict[str, Any]:
    return run_trial(trial, _worker["ticks"].put)
