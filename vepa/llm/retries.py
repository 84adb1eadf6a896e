"""When a request is sent again, and after how long."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

from vepa.llm.budget import Budget
from vepa.llm.failures import AttemptError
from vepa.llm.settings import ModelSettings

__all__ = ["with_retries"]

T = TypeVar("T")


def with_retries(
    attempt: Callable[[], T], settings: ModelSettings, until: float, budget: Budget
) -> T:
    """Call `attempt` until it answers, fails for good, or its attempts or its time are used up.

    Parameters
    ----------
    attempt
        Raises `AttemptError` when it gives no answer.
    settings
        Attempts and waits.
    until
        Deadline, on the monotonic clock.
    budget
        Nobody waits past the end of its seconds.

    Raises
    ------
    AttemptError
        The last one.
    """
    from tenacity import Retrying, retry_if_exception, stop_after_attempt

    def wait(state: Any) -> float:
        failure = state.outcome.exception()
        return _wait(failure, state.attempt_number, settings)

    def out_of_time(state: Any) -> bool:
        """A wait that ends after the deadline is not begun."""
        failure = state.outcome.exception()
        left = until - time.monotonic()
        seconds = budget.seconds_left()
        left = left if seconds is None else min(left, seconds)
        shortest = failure.wait if failure.wait is not None else 0.0
        return bool(left <= shortest)

    runner = Retrying(
        retry=retry_if_exception(lambda error: isinstance(error, AttemptError) and error.again),
        stop=lambda state: stop_after_attempt(settings.max_attempts)(state) or out_of_time(state),
        wait=wait,
        sleep=lambda seconds: time.sleep(min(seconds, max(0.0, until - time.monotonic()))),
        reraise=True,
    )
    return runner(attempt)


def _wait(failure: AttemptError, attempt: int, settings: ModelSettings) -> float:
    """Seconds; jittered, so that callers who failed together do not come back together."""
    doubled = min(settings.first_wait * 2 ** (attempt - 1), settings.longest_wait)
    if failure.wait is not None:
        return failure.wait + random.uniform(0, min(doubled, settings.first_wait))
    return random.uniform(doubled / 2, doubled)
