"""Services are started, stopped and reset all at once: they wait more than they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

__all__ = ["each"]

_I = TypeVar("_I")
_T = TypeVar("_T")


def each(
    items: Iterable[_I], work: Callable[[_I], _T], abort: Callable[[], None] | None = None
) -> list[_T]:
    """Work on all at once and wait for all, then raise the first error.

    An interrupt waits for them too, so that none goes on behind the caller's back; `abort` hurries
    them.
    """
    listed = list(items)
    if not listed:
        return []
    with ThreadPoolExecutor(max_workers=len(listed)) as pool:
        futures = [pool.submit(work, item) for item in listed]
        try:
            wait(futures)
        except BaseException:
            while wait(futures, timeout=0.2).not_done:
                if abort is not None:
                    abort()
            raise
    return [future.result() for future in futures]
