"""Many questions on their way at once, their answers in the order of the questions."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future
from typing import Generic, TypeVar

__all__ = ["in_order"]

T = TypeVar("T")
R = TypeVar("R")


def in_order(items: Iterable[T], work: Callable[[T], R], workers: int) -> Iterator[tuple[T, R]]:
    """Work on items with several threads; only a few more than that are read ahead.

    Parameters
    ----------
    items
        Read as they are needed, in the caller's thread.
    work
        What is done with each. When it raises, nothing new is begun; what is on its way is still
        given out, and the error comes last.
    workers
        Items at the same time.

    Yields
    ------
    tuple
        The item and what came of it, in order.
    """
    pool: _Pool[T, R] = _Pool(work, workers)
    source = iter(items)
    waiting: deque[tuple[T, Future[R]]] = deque()
    fault: Exception | None = None
    more = True
    try:
        while True:
            while more and len(waiting) < 2 * workers:
                try:
                    item = next(source)
                except StopIteration:
                    more = False
                except Exception as error:  # noqa: BLE001 - raised again once the rest is given out
                    fault, more = error, False
                else:
                    waiting.append((item, pool.submit(item)))
            if not waiting:
                break
            item, future = waiting.popleft()
            try:
                result = future.result()
            except CancelledError:
                continue
            except Exception as error:  # noqa: BLE001 - raised again once the rest is given out
                fault, more = fault or error, False
                for _, other in waiting:
                    other.cancel()
                continue
            yield item, result
    finally:
        for _, other in waiting:
            other.cancel()
        pool.close()
    if fault is not None:
        raise fault


class _Pool(Generic[T, R]):
    """Threads that nobody waits for when the process ends: an interrupted run ends at once."""

    def __init__(self, work: Callable[[T], R], workers: int):
        self._work, self._left = work, workers
        self._queue: queue.SimpleQueue[tuple[T, Future[R]] | None] = queue.SimpleQueue()
        self._threads = 0
        self._failed = threading.Event()

    def submit(self, item: T) -> Future[R]:
        future: Future[R] = Future()
        self._queue.put((item, future))
        if self._left:
            self._left -= 1
            self._threads += 1
            threading.Thread(target=self._run, name="vepa-parse", daemon=True).start()
        return future

    def close(self) -> None:
        for _ in range(self._threads):
            self._queue.put(None)

    def _run(self) -> None:
        while (order := self._queue.get()) is not None:
            item, future = order
            if self._failed.is_set():
                future.cancel()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._work(item))
            except BaseException as error:  # noqa: BLE001 - raised where the result is taken
                self._failed.set()
                future.set_exception(error)
