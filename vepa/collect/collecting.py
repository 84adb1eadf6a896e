"""Many orders to a folder of episodes: side by side, resumable, exactly one result an order."""

from __future__ import annotations

import fcntl
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from vepa.collect.episode import RUN
from vepa.collect.journal import NotKeptError
from vepa.collect.orders import Materials, Order
from vepa.collect.playing import Player, ServiceFailedError
from vepa.collect.pool import OfficePool
from vepa.collect.settings import CollectSettings
from vepa.collect.stopping import StoppedError
from vepa.corpus.episode import Episode, read_episode
from vepa.errors import BudgetError, InputError, ModelError, SettingError, Where
from vepa.files import write_atomic
from vepa.llm import Budget, Ledger
from vepa.llm.messages import Usage

__all__ = ["TOO_MANY", "Collected", "Collection", "Failure", "Round"]

#: Kinds of a model's errors that would meet every episode alike: they end the collection.
_ALIKE = ("refused_key", "not_recorded")
#: Failures in a row after which a provider or a service counts as gone.
TOO_MANY = 5

#: Told about every order that is settled: itself, its episode, whether it was there already.
Told = Callable[[Order, Episode, bool], None]


@dataclass(frozen=True, slots=True)
class Failure:
    """An order without an episode.

    Attributes
    ----------
    order
        Its id.
    reason
        Why.
    """

    order: str
    reason: str


@dataclass(slots=True)
class Collected:
    """What became of the orders.

    Attributes
    ----------
    played, kept
        Episodes played now, and those that were there already.
    failures
        Orders without an episode; a second run tries them again.
    stopped
        What ended it early (a budget of the run, a provider that is gone); None when it went
        through.
    endings
        How many episodes ended how.
    """

    played: int = 0
    kept: int = 0
    failures: list[Failure] = field(default_factory=list)
    stopped: str | None = None
    endings: Counter[str] = field(default_factory=Counter)

    @property
    def whole(self) -> bool:
        """Whether every order has its episode."""
        return not self.failures and self.stopped is None


class Collection:
    """A folder of episodes.

    An episode's file is written last and whole: what is there was played to its end. A file whose
    key is another (its task, persona, prompt, settings, services or model changed) is played again.

    Parameters
    ----------
    folder
        It is made when it is not there.
    """

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        self.ledger = Ledger(self.folder / "ledger.jsonl")

    def path(self, order: Order) -> Path:
        """Where the episode of an order lies."""
        return self.folder / "episodes" / order.file

    def kept(self, order: Order) -> Episode | None:
        """The episode of an order, if it is there and made from the same."""
        path = self.path(order)
        if not path.is_file():
            return None
        try:
            episode = read_episode(path)
        except InputError:
            return None  # damaged, or of another version: it is played again
        return episode if episode.key == order.key and episode.id == order.id else None

    def missing(self, orders: Sequence[Order]) -> list[Order]:
        """Orders without an episode."""
        return [order for order in orders if self.kept(order) is None]

    def collect(
        self,
        orders: Sequence[Order],
        materials: Materials,
        settings: CollectSettings,
        pool: OfficePool,
        told: Told | None = None,
    ) -> Collected:
        """Play what is not there yet.

        Parameters
        ----------
        orders
            What is wanted.
        materials, settings
            What episodes are made from.
        pool
            Offices; as many episodes are played at once.
        told
            Called after every order, from any thread.

        Raises
        ------
        SettingError
            When another process collects into this folder, or a model cannot be opened.
        ModelError
            When a model refuses the key: every episode would fail alike.
        NotKeptError
            When the disk does not take an episode or an answer.
        """
        with self.locked():
            return self.round(self.player(materials, settings), pool, told).run(orders)

    def player(
        self, materials: Materials, settings: CollectSettings, budget: Budget | None = None
    ) -> Player:
        """Plays orders into this folder; its budget counts what earlier runs took.

        Parameters
        ----------
        materials, settings
            What episodes are made from.
        budget
            One that is shared with other processes, instead.
        """
        budget = budget or Budget(
            tokens=settings.tokens,
            seconds=settings.minutes * 60 if settings.minutes is not None else None,
            dollars=settings.dollars,
            name=RUN,
            spent=self.spent(),
        )
        return Player(materials, settings, self.folder / "journals", self.ledger, budget)

    def round(self, player: Player, pool: OfficePool, told: Told | None = None) -> Round:
        """One pass over orders; hold the folder (`locked`) while it lasts."""
        return Round(self, player, pool, told)

    def keep(self, order: Order, episode: Episode) -> None:
        """Write an episode, atomically.

        Raises
        ------
        NotKeptError
            When the disk does not take it.
        """
        path = self.path(order)
        data = episode.model_dump_json(exclude_none=True).encode() + b"\n"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, data)
        except OSError as error:
            raise NotKeptError(
                f"the episode {path} cannot be written: {error.strerror or error}; "
                "make room, or check the rights, and run the same command again"
            ) from error

    def spent(self) -> Usage:
        """What earlier runs into this folder took, by the ledger."""
        total = self.ledger.totals()["all"]
        # What was cut may have been counted by the provider: a budget must not forget it.
        return Usage(total.prompt + total.lost, total.completion, total.dollars, total.requests)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder.

        Raises
        ------
        SettingError
            When another process holds it, or it cannot be written to.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle = open(self.folder / ".lock", "wb")  # noqa: SIM115 - held below
        except OSError as error:
            raise SettingError(
                f"the folder cannot be written to: {error.strerror}",
                where=Where(str(self.folder)),
                remedy="name another one, or set VEPA_ARTIFACTS",
            ) from None
        with handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise SettingError(
                    "another process collects into this folder",
                    where=Where(str(self.folder)),
                    remedy="wait for it, or name another folder",
                ) from None
            yield


class Round:
    """One pass over orders, on as many threads as there are offices.

    Attributes
    ----------
    result
        What became of them so far.
    """

    def __init__(self, collection: Collection, player: Player, pool: OfficePool, told: Told | None):
        self._collection = collection
        self._player = player
        self._pool = pool
        self._told = told
        self._halted = threading.Event()
        self._lock = threading.Lock()
        self.result = Collected()
        self._in_a_row = 0

    def run(self, orders: Sequence[Order]) -> Collected:
        """Settle all of them; what is there already is left alone."""
        waiting = iter(orders)
        running: set[Future[None]] = set()
        with ThreadPoolExecutor(self._pool.size, thread_name_prefix="episode") as threads:
            try:
                for order in waiting:
                    running.add(threads.submit(self.settle, order))
                    if len(running) >= 2 * self._pool.size:
                        running = self._drain(running)
                while running:
                    running = self._drain(running)
            except BaseException:  # an interrupt too: nobody waits for episodes in the middle
                self._player.stop()
                raise
            finally:
                self._halted.set()
        return self.result

    def _drain(self, running: set[Future[None]]) -> set[Future[None]]:
        done, rest = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()
        return rest

    def settle(self, order: Order) -> None:
        """Settle one; any thread may. Does nothing once the pass was halted."""
        if self._halted.is_set():
            return
        known = self._collection.kept(order)
        if known is not None:
            self._player.settle(order)  # a kill may have come between the episode and this
            self._count(order, known, kept=True)
            return
        try:
            with self._pool.lent() as lent:
                if self._halted.is_set():
                    return
                episode = self._player.play(order, lent)
        except BudgetError as error:
            self._halted.set()
            with self._lock:
                self.result.stopped = str(error)
            return
        except ModelError as error:
            if error.kind in _ALIKE:
                raise
            self._fail(order, str(error))
            return
        except ServiceFailedError as error:
            self._fail(order, str(error))
            return
        except StoppedError:
            return
        self._collection.keep(order, episode)
        self._player.settle(order)
        self._count(order, episode, kept=False)

    def _count(self, order: Order, episode: Episode, *, kept: bool) -> None:
        with self._lock:
            if kept:
                self.result.kept += 1
            else:
                self.result.played += 1
            self.result.endings[episode.ending.reason] += 1
            if not kept:
                self._in_a_row = 0
        if self._told is not None:
            self._told(order, episode, kept)

    def _fail(self, order: Order, reason: str) -> None:
        with self._lock:
            self.result.failures.append(Failure(order.id, reason))
            self._in_a_row += 1
            if self._in_a_row >= TOO_MANY:
                self.result.stopped = f"{self._in_a_row} episodes failed in a row: {reason}"
                self._halted.set()
