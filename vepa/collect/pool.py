"""Offices for a collection: as many as wanted, each lent to one episode at a time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from vepa.errors import RunError
from vepa.services.environment import Environment
from vepa.services.office import Office
from vepa.services.parallel import each
from vepa.services.runtimes import Progress, RuntimeName

__all__ = ["OfficePool"]


class OfficePool:
    """Several offices of the same environments; started when they are first needed.

    Parameters
    ----------
    environments, world_file, runtime
        Of every office.
    size
        How many at most.
    progress
        Told what happens.
    offices
        Offices that are up already, instead of starting any; they are not stopped.
    """

    def __init__(
        self,
        environments: Sequence[Environment],
        world_file: Path,
        size: int = 1,
        *,
        runtime: RuntimeName = "process",
        progress: Progress | None = None,
        offices: Sequence[Office] = (),
    ):
        self._environments = list(environments)
        self._world_file = world_file
        self._runtime = runtime
        self._progress = progress
        self._own: list[Office] = []
        self._free: queue.SimpleQueue[Office | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self.size = len(offices) or size
        for office in offices:
            self._free.put(office)
        for _ in range(0 if offices else size):
            self._free.put(None)  # a place for an office that is still to be started

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def lent(self) -> Iterator[Lent]:
        """An office for one episode; waits until one is free.

        Raises
        ------
        ServiceError
            When an office has to be started and does not come up.
        """
        lent = Lent(self, self._free.get())
        try:
            yield lent
        finally:
            self._free.put(lent.given)

    def close(self) -> None:
        """Stop the offices that were started here."""
        with self._lock:
            self._closed.set()
            offices, self._own = self._own, []
        each(offices, lambda office: office.stop())

    def _start(self) -> Office:
        if self._closed.is_set():
            raise RunError("the pool of offices is closed")
        office = Office.start(
            self._environments, self._world_file, runtime=self._runtime, progress=self._progress
        )
        with self._lock:
            late = self._closed.is_set()  # while it was coming up
            if not late:
                self._own.append(office)
        if late:
            office.stop()
            raise RunError("the pool of offices is closed")
        return office

    def _give_up(self, office: Office) -> None:
        """Stop an office that cannot be used any more."""
        with self._lock:
            mine = office in self._own
            if mine:
                self._own.remove(office)
        if not mine:
            raise RunError(f"office {office.id} cannot be reset; start it again")
        office.stop()


class Lent:
    """One place of the pool, while it is lent.

    Attributes
    ----------
    given
        The office, once it is up.
    """

    def __init__(self, pool: OfficePool, given: Office | None):
        self._pool = pool
        self.given = given

    @property
    def office(self) -> Office:
        """The office; started now when it is the first time."""
        if self.given is None:
            self.given = self._pool._start()
        return self.given

    def replace(self) -> None:
        """Start another office instead.

        Raises
        ------
        RunError
            When the office is not the pool's own.
        """
        if self.given is not None:
            self._pool._give_up(self.given)  # one that was handed in stays in its place
            self.given = None
        self.given = self._pool._start()
