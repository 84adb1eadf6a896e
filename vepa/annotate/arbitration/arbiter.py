"""A model as arbiter: it claims cases like a person, and sees no more than one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from vepa.annotate.arbitration.queue import ArbitrationQueue
from vepa.annotate.asking import Annotator, Failure

__all__ = ["Arbitrated", "arbitrate"]


@dataclass
class Arbitrated:
    """What an arbiter did.

    Attributes
    ----------
    settled
        Verdicts that it gave.
    failures
        Cases that it gave no usable judgement of; they are left to people.
    """

    settled: int = 0
    failures: list[Failure] = field(default_factory=list)


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
    """
    done = Arbitrated()
    lock, stop = threading.Lock(), threading.Event()

    def work(number: int) -> None:
        # One claim a name: each worker claims under its own, the verdict carries the seat's.
        while not stop.is_set():
            claim = queue.claim(arbiter.seat.name, gold=False, desk=str(number))
            if claim is None:
                return
            try:
                judged = arbiter.judge(claim.case.as_item)
            except BaseException:
                stop.set()
                queue.release(claim.token)
                raise
            if isinstance(judged, Failure):
                queue.skip(claim.token, why=f"{judged.kind}: {judged.reason}")
            else:
                queue.settle(
                    claim.token,
                    judged.judgement,
                    origin=judged.origin,
                    model=judged.model,
                    template=judged.template,
                )
            with lock:
                if isinstance(judged, Failure):
                    done.failures.append(judged)
                else:
                    done.settled += 1
                if progress is not None:
                    progress(done.settled + len(done.failures))

    with ThreadPoolExecutor(max_workers=workers) as pool:
        for future in [pool.submit(work, number) for number in range(workers)]:
            future.result()
    return done
