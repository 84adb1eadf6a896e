"""Work in parallel processes: no state inherited, progress told, interrupts and deaths handled."""

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
from functools import partial
from typing import Any, TypeVar

from vepa.errors import RunError

__all__ = ["Progress", "run_each"]

#: Called with the number of rounds that were finished since the last call.
Progress = Callable[[int], None]
Item = TypeVar("Item")
Result = TypeVar("Result")


def run_each(
    work: Callable[[Item, Progress], Result],
    items: Sequence[Item],
    *,
    jobs: int = 1,
    progress: Progress = lambda _: None,
) -> list[Result]:
    """Do the same work on every item; the results in their order, whatever the number of jobs.

    Parameters
    ----------
    work
        A function of a module, called with an item and with where to tell progress.
    items
        What to work on; they and the results are sent between processes.
    jobs
        Processes at a time; with 1 everything runs in this one.
    progress
        Called as rounds are finished, in this process.

    Raises
    ------
    RunError
        When a process dies.
    """
    if jobs <= 1 or len(items) <= 1:
        return [work(item, progress) for item in items]
    context = multiprocessing.get_context("spawn")  # no state is inherited, on any system
    ticks = context.Queue()
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        min(jobs, len(items)), mp_context=context, initializer=_connect, initargs=(ticks,)
    )
    try:
        with _interrupts_later():  # the workers start here, and keep what is blocked
            futures = [pool.submit(partial(_connected, work), item) for item in items]
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


def _connected(work: Callable[[Item, Progress], Result], item: Item) -> Result:
    return work(item, _worker["ticks"].put)
