"""How often somebody may ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Buckets", "Limits", "Rate"]

#: Of keys that are remembered; more of them, and those with nothing against them are forgotten.
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Rate:
    """So many requests at once, and so many a second in the long run."""

    burst: int
    a_second: float


@dataclass(frozen=True, slots=True)
class Limits:
    """What the server takes.

    Attributes
    ----------
    session
        Of one that is logged in.
    address
        Of all others at one address.
    login
        Attempts to log in from one address.
    body_bytes
        Of one request.
    body_seconds
        Until a request has to be there.
    """

    session: Rate = Rate(120, 12.0)
    address: Rate = Rate(60, 6.0)
    login: Rate = Rate(8, 0.1)
    body_bytes: int = 256 * 1024
    body_seconds: float = 15.0


class Buckets:
    """One allowance a key, which fills up again with time.

    Parameters
    ----------
    rate
        How large it is, and how fast it fills.
    clock
        Seconds.
    """

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic):
        self._rate = rate
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def wait(self, key: str) -> float:
        """Take one; seconds until there is one again, and 0 when there was one."""
        with self._lock:
            now = self._clock()
            left = self._now(key, now)
            if left < 1:
                return (1 - left) / self._rate.a_second
            if len(self._left) >= _MOST:
                self._left = {
                    each: state
                    for each, state in self._left.items()
                    if self._now(each, now) < self._rate.burst
                }
            self._left[key] = (left - 1, now)
            return 0.0

    def _now(self, key: str, now: float) -> float:
        left, then = self._left.get(key, (float(self._rate.burst), now))
        return min(float(self._rate.burst), left + (now - then) * self._rate.a_second)
