"""A corpus that several processes collect: they deal its tasks among themselves as they go.

The process that runs the flow holds the folder, puts up a board (`vepa.bench.runs.board`) and
waits. Each of the others opens offices of its own and takes one task after the other that nobody
else holds; episodes, journals and the ledger lie where a run in one process has them, so either
kind of run goes on where the other one stopped.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from pathlib import Path
from typing import Any

from vepa.bench.runs.board import Board
from vepa.collect.collecting import TOO_MANY, Collected, Failure
from vepa.collect.episode import RUN
from vepa.collect.playing import Player
from vepa.collect.pool import OfficePool
from vepa.collect.runs.products import task_row
from vepa.collect.runs.session import CorpusPlan, plan_corpus
from vepa.collect.runs.stages import session_of
from vepa.collect.settings import CollectSettings
from vepa.corpus.episode import Episode
from vepa.errors import RunError
from vepa.files import canonical_json, sha256_of
from vepa.llm.sharing import SharedBudget, dealt
from vepa.project import Project

__all__ = [
    "collect_share",
    "gather",
    "missing",
    "settled",
    "share_out",
    "shared_settings",
    "withdraw",
]

#: Seconds between two looks for a task that nobody holds, while others hold all that are left.
_PAUSE = 0.2
#: Held around a task: a slot of the providers' limits.
Around = Callable[[], AbstractContextManager[None]]


def missing(folder: str | Path) -> int:
    """Episodes of the collection that this process holds which are not there."""
    return len(session_of(folder).plan.missing())


def share_out(folder: str | Path, project: str | None, workers: int) -> dict[str, Any]:
    """Put up the board of a collection that this process holds.

    Parameters
    ----------
    folder
        Of `begin_corpus`.
    project
        As of `begin_corpus`.
    workers
        Processes that will collect.

    Returns
    -------
    dict
        `token` of the run, and `where`: profile, project and artifacts as absolute paths.
    """
    plan = session_of(folder).plan
    board = Board.begin(plan.folder, _inputs(plan), workers)
    SharedBudget.begin(board.budget, plan.collection.spent())
    places = (plan.file, Project(project).candidates[0], plan.folder.parents[1])
    return {"token": board.token, "where": [str(place.absolute()) for place in places]}


def settled(folder: str | Path, token: str) -> int:
    """How many tasks are settled."""
    return Board(Path(folder), token).count()


def gather(folder: str | Path, token: str) -> list[dict[str, Any]]:
    """Take up what the processes made: the rows of all tasks; `end_corpus` tells what is missing.

    Raises
    ------
    RunError
        When episodes that were played elsewhere are not here.
    """
    session, board = session_of(folder), Board(Path(folder), token)
    result, rows = Collected(stopped=board.stopped), []
    for outcome in board.outcomes():
        rows.append(outcome["row"])
        result.played += outcome["played"]
        result.kept += outcome["kept"]
        result.endings += Counter(outcome["endings"])
        result.failures += [Failure(order, reason) for order, reason in outcome["failures"]]
    there = len(session.plan.all_orders) - len(session.plan.missing())
    if there < result.played + result.kept:
        raise RunError(
            f"workers told of {result.played + result.kept} episodes, and {there} are in {folder}: "
            "what they write does not come here"
        )
    if result.whole and len(rows) < len(session.plan.orders):
        result.stopped = "the workers left before all tasks were settled"
    session.take(result)
    board.end()
    return rows


def withdraw(folder: str | Path, token: str) -> None:
    """End early: processes at work leave before the next task."""
    Board(Path(folder), token).withdraw()


def collect_share(
    where: Sequence[str], token: str, number: int, around: Around = nullcontext
) -> int:
    """Play tasks that nobody else holds until all are settled; how many were settled here.

    Parameters
    ----------
    where, token
        Of `share_out`.
    number
        Of this share, from 0; one process at a time has it.
    around
        Entered around every task.

    Raises
    ------
    SettingError
        When this process does not see the folder of the run, or would play something else.
    RunError
        When another run took the folder over; and whatever ends a collection early.
    """
    profile, project, artifacts = where
    folder = Path(artifacts) / "corpus" / Path(profile).stem
    board = Board(folder, token)
    about = board.about()
    with board.alive(f"share-{number}"):
        plan = plan_corpus(Project(project), profile, artifacts=Path(artifacts))
        if plan is None:
            raise RunError(f"{profile} collects nothing any more")
        board.check(_inputs(plan))
        return _Share(plan, board, number, int(about["workers"]), around).run()


class _Share:
    """One process of a collection."""

    def __init__(self, plan: CorpusPlan, board: Board, number: int, workers: int, around: Around):
        self._plan, self._board, self._around = plan, board, around
        settings = shared_settings(plan.profile.collect, workers)
        limited = (settings.tokens, settings.dollars, settings.minutes)
        budget = None
        if any(limit is not None for limit in limited):
            seconds = None if settings.minutes is None else settings.minutes * 60
            budget = SharedBudget(
                board.budget, str(number), tokens=settings.tokens, dollars=settings.dollars,
                seconds=seconds, name=RUN,
            )  # fmt: skip
        self._player: Player = plan.collection.player(plan.materials, settings, budget)
        self._pool = OfficePool(
            plan.environments, plan.materials.world_file, settings.offices,
            runtime=plan.profile.runtime,
        )  # fmt: skip
        # Each begins elsewhere, so that they seldom reach for the same task.
        tasks = list(plan.orders)
        at = number * len(tasks) // workers
        self._tasks = [*tasks[at:], *tasks[:at]]
        self._halted = threading.Event()
        self._lock = threading.Lock()
        self._in_a_row = 0
        self._settled = 0

    def run(self) -> int:
        with self._pool, ThreadPoolExecutor(self._pool.size, "share") as threads:
            # Limits of providers are asked of the server that the context of the task names.
            running = [
                threads.submit(copy_context().run, self._work) for _ in range(self._pool.size)
            ]
            try:
                for future in running:
                    future.result()
            except BaseException:
                self._halted.set()
                self._player.stop()
                raise
        return self._settled

    def _work(self) -> None:
        try:
            while (open_ := self._open()) and not self._over():
                if not any(self._settle(task) for task in open_):
                    time.sleep(_PAUSE)  # held elsewhere; whoever holds them may be killed
        except BaseException:
            self._halted.set()
            self._player.stop()
            raise

    def _open(self) -> list[str]:
        return [task for task in self._tasks if not self._board.done(task)]

    def _over(self) -> bool:
        return self._halted.is_set() or self._board.stopped is not None

    def _settle(self, task: str) -> bool:
        """Settle a task, unless somebody else does or did."""
        if self._over() or self._board.done(task):
            return False
        with self._board.claim(task) as mine:
            if not mine or self._board.done(task):
                return False
            began, found = time.monotonic(), list[tuple[Episode, bool]]()
            round_ = self._plan.collection.round(
                self._player, self._pool, lambda _, episode, kept: found.append((episode, kept))
            )
            with self._around():
                for order in self._plan.orders[task]:
                    round_.settle(order)
            result = round_.result
            reason = result.stopped or self._gone(result)
            if not self._halted.is_set():  # else it may be settled by half
                outcome = {
                    "row": task_row(task, found, time.monotonic() - began),
                    "played": result.played,
                    "kept": result.kept,
                    "failures": [(each.order, each.reason) for each in result.failures],
                    "endings": dict(result.endings),
                }
                self._board.put(task, outcome)
            if reason is not None:
                self._board.stop(reason)
        with self._lock:
            self._settled += 1
        return True

    def _gone(self, result: Collected) -> str | None:
        """Why it is no use to go on: a service or a provider failed every episode of late."""
        with self._lock:
            if result.played:
                self._in_a_row = 0
            self._in_a_row += len(result.failures)
            if self._in_a_row < TOO_MANY:
                return None
            return f"{self._in_a_row} episodes failed in a row: {result.failures[-1].reason}"


def shared_settings(settings: CollectSettings, workers: int) -> CollectSettings:
    """The part of one process in what is meant for all: offices, requests at once and a minute."""
    asked = {
        name: dealt(settings.settings_of(name), workers)
        for name in {*settings.models, settings.user, *settings.model_settings}
    }
    offices = max(1, settings.offices // workers)
    return settings.model_copy(update={"offices": offices, "model_settings": asked})


def _inputs(plan: CorpusPlan) -> str:
    return sha256_of(canonical_json(sorted([order.id, order.key] for order in plan.all_orders)))
