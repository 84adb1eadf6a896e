"""An annotation under way: journals are held, one budget is shared, readers judge side by side.

The tasks of `flows/corpus.py` run in threads of one process and share one session; it is found by
the folder of its labels.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from vepa.annotate.arbitration.queue import ArbitrationQueue
from vepa.annotate.asking import Annotator
from vepa.annotate.dual import DualAnnotation
from vepa.annotate.opening import budget_of, open_reader
from vepa.annotate.panel import Seat
from vepa.annotate.runs.plan import AnnotationPlan
from vepa.corpus.trajectory import stream_trajectories
from vepa.errors import RunError
from vepa.llm import Budget, Ledger

__all__ = ["AnnotationSession", "close_session", "open_session", "session_of"]

_SESSIONS: dict[str, AnnotationSession] = {}
_GUARD = threading.Lock()


class AnnotationSession:
    """What the stages of one annotation share.

    Parameters
    ----------
    plan
        What is annotated.

    Raises
    ------
    SettingError
        When another process annotates there, or a model's name leads nowhere.
    """

    def __init__(self, plan: AnnotationPlan):
        self.plan = plan
        self.trajectories = list(stream_trajectories(plan.trajectories))
        self.budget: Budget = budget_of(plan.panel)
        self.ledger = Ledger(plan.folder / "ledger.jsonl")
        ledger = self.ledger.tagged(purpose="annotate")
        readers = [self.reader(seat, ledger) for seat in plan.panel.annotators]
        with ExitStack() as stack:
            dual = DualAnnotation(readers, plan.folder, self.trajectories, plan.profile.workers)
            self.dual = stack.enter_context(dual)
            self.queue: ArbitrationQueue = stack.enter_context(plan.queue())
            self._held = stack.pop_all()
        self.asked: dict[str, int] = {}

    def reader(self, seat: Seat, ledger: Ledger) -> Annotator:
        """A seat with its model behind it."""
        plan = self.plan
        return open_reader(
            seat, plan.panel, plan.rules, budget=self.budget, ledger=ledger, project=plan.project
        )

    def judge(self, reader: str, progress: Callable[[str, int, int], None] | None = None) -> int:
        """Let one reader judge what it has not judged; returns how many it was asked for."""
        self.asked[reader] = self.dual.judge(reader, progress)
        return self.asked[reader]

    def close(self) -> None:
        """Let go of journals and queue."""
        self._held.close()


def open_session(plan: AnnotationPlan) -> AnnotationSession:
    """Begin an annotation in this process."""
    session = AnnotationSession(plan)
    with _GUARD:
        _SESSIONS[str(plan.folder)] = session
    return session


def session_of(folder: str | Path) -> AnnotationSession:
    """The session of a folder.

    Raises
    ------
    RunError
        When this process has none.
    """
    with _GUARD:
        session = _SESSIONS.get(str(folder))
    if session is None:
        raise RunError(f"nothing is being annotated into {folder} by this process")
    return session


def close_session(folder: str | Path) -> None:
    """End the session of a folder; does nothing when there is none."""
    with _GUARD:
        session = _SESSIONS.pop(str(folder), None)
    if session is not None:
        session.close()
