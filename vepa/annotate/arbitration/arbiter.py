"""A model as arbiter: it claims cases like a person, and sees no more than one."""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from vepa.annotate.arbitration.queue import ArbitrationQueue, LostClaimError
from vepa.annotate.asking import Annotator, Failure, Judged
from vepa.errors import RunError, SettingError

__all__ = ["Arbitrated", "arbitrate"]

#: Seconds that a case is lent to a model: longer than one answer and its repair may take.
_LEASE = 1800.0


@dataclass
class Arbitrated:
    """What an arbiter did.

    Attributes
    ----------
    settled
        Verdicts that it gave.
    failures
        Cases that it gave no usable judgement of; they are left to people.
    lost
        Judgements that came when somebody else had the case.
    """

    settled: int = 0
    failures: list[Failure] = field(default_factory=list)
    lost: int = 0


def arbitrate(
    queue: ArbitrationQueue,
    arbiter: Annotator,
    *,
    workers: int = 8,
    progress: Callable[[int], None] | None = None,
) -> Arbitrated:
    """Let a model settle what is open and nobody works on.

    Parameters
    ----------
    queue
        The queue.
    arbiter
        A reader of the panel with an open model. A case that it failed on before is not put to it
        again (`ArbitrationQueue.forget_skips` brings them back).
    workers
        Cases at once.
    progress
        Told how many are done.

    Raises
    ------
    BudgetError
        When a budget is used up; what was settled is kept.
    ModelError
        `refused_key`.
    SettingError
        When another process lets an arbiter work on this queue: both would ask, and pay, for the
        same cases.
    """
    with _alone(queue.path):
        return _Work(queue, arbiter, progress).done_by(workers)


class _Work:
    """Workers who claim, ask and settle until nothing is left or one of them has to stop."""

    def __init__(
        self,
        queue: ArbitrationQueue,
        arbiter: Annotator,
        progress: Callable[[int], None] | None,
    ):
        self._queue, self._arbiter, self._progress = queue, arbiter, progress
        self._done, self._lock, self._stop = Arbitrated(), threading.Lock(), threading.Event()

    def done_by(self, workers: int) -> Arbitrated:
        self._queue.release_all(self._arbiter.seat.name)  # what a killed run held
        with ThreadPoolExecutor(max_workers=workers) as pool:
            try:
                for future in [pool.submit(self._worker, number) for number in range(workers)]:
                    future.result()
            finally:  # also when a person interrupts: what is on its way is kept, nothing is begun
                self._stop.set()
        return self._done

    def _worker(self, number: int) -> None:
        # One claim a name: each worker claims under its own, the verdict carries the seat's.
        while not self._stop.is_set():
            claim = self._queue.claim(
                self._arbiter.seat.name, gold=False, desk=str(number), lease=_LEASE
            )
            if claim is None:
                return
            try:
                judged = self._arbiter.judge(claim.case.as_item)
                kept = self._keep(claim.token, judged)
            except BaseException:
                self._stop.set()
                self._queue.release(claim.token)
                raise
            self._count(judged, kept)

    def _keep(self, token: str, judged: Judged) -> bool:
        try:
            if isinstance(judged, Failure):
                self._queue.skip(token, why=f"{judged.kind}: {judged.reason}")
            else:
                self._queue.settle(
                    token,
                    judged.judgement,
                    origin=judged.origin,
                    model=judged.model,
                    template=judged.template,
                )
        except LostClaimError:
            return False
        return True

    def _count(self, judged: Judged, kept: bool) -> None:
        with self._lock:
            done = self._done
            if not kept:
                done.lost += 1
            elif isinstance(judged, Failure):
                done.failures.append(judged)
            else:
                done.settled += 1
            if self._progress is not None:
                self._progress(done.settled + len(done.failures))


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """The arbiter's place at a queue; a killed process leaves it free."""
    place = path.with_name(f"{path.name}.arbiter")
    try:
        stream = open(place, "ab")  # noqa: SIM115 - closed below
    except OSError as error:
        raise RunError(f"{place} cannot be opened: {error.strerror}") from None
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SettingError(
                f"another process lets an arbiter work on {path}",
                remedy="wait for it, or stop it",
            ) from None
        yield
