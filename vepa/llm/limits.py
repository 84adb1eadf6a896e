"""Limits of a provider: requests at once, requests and tokens a minute; first come first served."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from vepa.llm.settings import ModelSettings

__all__ = ["Limiter", "Slot", "limiter_for"]

_WINDOW = 60.0


@dataclass(eq=False)
class Slot:
    """A request that was let through.

    Attributes
    ----------
    at
        When, on the limiter's clock.
    tokens
        What it is counted with: first the worst case, then what it took.
    """

    at: float
    tokens: int
    _limiter: Limiter

    def settle(self, tokens: int) -> None:
        """Replace the worst case by what it took."""
        self._limiter.settle(self, tokens)

    def cancel(self) -> None:
        """Nothing was sent after all."""
        self._limiter.cancel(self)


class Limiter:
    """Lets requests through as a provider's limits allow; threads wait in line.

    Parameters
    ----------
    concurrency
        Requests at once.
    requests, tokens
        In any window; None is no limit. One request over the limit of tokens goes alone.
    window
        Seconds.
    clock
        Monotonic seconds.
    """

    def __init__(
        self,
        concurrency: int,
        requests: int | None = None,
        tokens: int | None = None,
        *,
        window: float = _WINDOW,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._concurrency, self._requests, self._tokens = concurrency, requests, tokens
        self._window, self._clock = window, clock
        self._changed = threading.Condition()
        self._line: deque[object] = deque()
        self._recent: deque[Slot] = deque()
        self._running = 0
        self._not_before = 0.0

    def tighten(self, concurrency: int, requests: int | None, tokens: int | None) -> None:
        """Take the stricter of each limit: models of one provider share it."""
        with self._changed:
            self._concurrency = min(self._concurrency, concurrency)
            self._requests = _least(self._requests, requests)
            self._tokens = _least(self._tokens, tokens)

    def pause(self, seconds: float) -> None:
        """Let nobody through for a while: the provider said so to one, and means all."""
        with self._changed:
            self._not_before = max(self._not_before, self._clock() + seconds)

    @contextmanager
    def slot(self, tokens: int, until: float) -> Iterator[Slot]:
        """Wait for a place, and hold it.

        Parameters
        ----------
        tokens
            The request's worst case.
        until
            When to give up, on the limiter's clock.

        Raises
        ------
        AttemptError
            `rate_limited`, when no place came in time.
        """
        slot = self._enter(tokens, until)
        try:
            yield slot
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def settle(self, slot: Slot, tokens: int) -> None:
        """See `Slot.settle`."""
        with self._changed:
            slot.tokens = tokens
            self._changed.notify_all()

    def cancel(self, slot: Slot) -> None:
        """See `Slot.cancel`."""
        with self._changed:
            if slot in self._recent:
                self._recent.remove(slot)
            self._changed.notify_all()

    def _enter(self, tokens: int, until: float) -> Slot:
        from vepa.llm.failures import AttemptError

        ticket = object()
        with self._changed:
            self._line.append(ticket)
            try:
                while True:
                    now = self._clock()
                    wait = self._wait(ticket, tokens, now)
                    if wait <= 0:
                        break
                    if now >= until:
                        raise AttemptError("rate_limited")
                    if self._not_before > until:  # no use in waiting for it
                        raise AttemptError("rate_limited", wait=self._not_before - now)
                    self._changed.wait(min(wait, until - now))
            finally:
                self._line.remove(ticket)
                self._changed.notify_all()
            slot = Slot(now, tokens, self)
            self._running += 1
            self._recent.append(slot)
            return slot

    def _wait(self, ticket: object, tokens: int, now: float) -> float:
        """Seconds after which it is worth looking again; 0 when the way is free."""
        while self._recent and self._recent[0].at <= now - self._window:
            self._recent.popleft()
        if self._line[0] is not ticket or self._running >= self._concurrency:
            return self._window  # whoever changes that wakes us
        if self._not_before > now:
            return self._not_before - now
        oldest = self._recent[0].at + self._window - now if self._recent else 0.0
        if self._requests is not None and len(self._recent) >= self._requests:
            return oldest
        used = sum(slot.tokens for slot in self._recent)
        if self._tokens is not None and used and used + tokens > self._tokens:
            return oldest
        return 0.0


def _least(one: int | None, other: int | None) -> int | None:
    known = [value for value in (one, other) if value is not None]
    return min(known, default=None)


_REGISTRY: dict[tuple[str, str], Limiter] = {}
_LOCK = threading.Lock()


def limiter_for(provider: tuple[str, str], settings: ModelSettings) -> Limiter:
    """The one limiter of a provider (name and address) in this process."""
    rates = settings.rates
    with _LOCK:
        limiter = _REGISTRY.get(provider)
        if limiter is None:
            limiter = Limiter(settings.concurrency, rates.requests, rates.tokens)
            _REGISTRY[provider] = limiter
        else:
            limiter.tighten(settings.concurrency, rates.requests, rates.tokens)
        return limiter
