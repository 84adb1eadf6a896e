"""Who looks on while stages are made in this process: the command line shows their progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

__all__ = ["Watch", "stage", "watched_by"]

#: Given a stage's name, something that looks on from its beginning to its end.
Watch = Callable[[str], AbstractContextManager[object]]

_WATCHES: list[Watch] = []


@contextmanager
def watched_by(watch: Watch) -> Iterator[None]:
    """Let somebody look on at every stage that is made inside."""
    _WATCHES.append(watch)
    try:
        yield
    finally:
        _WATCHES.remove(watch)


@contextmanager
def stage(name: str, seconds: dict[str, float]) -> Iterator[None]:
    """A stage that is made; its wall time is put down.

    Parameters
    ----------
    name
        Of the stage.
    seconds
        Stage -> wall time, filled in at the end.
    """
    began = time.monotonic()
    with ExitStack() as stack:
        for watch in _WATCHES:
            stack.enter_context(watch(name))
        yield
    seconds[name] = round(time.monotonic() - began, 1)
