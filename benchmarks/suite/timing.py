"""Clocks: latencies of single calls, times of whole loops, and how much the clock itself costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter, perf_counter_ns, process_time_ns
from typing import Any

import numpy as np

__all__ = ["Latency", "best", "clock_cost", "latencies", "per_call"]


@dataclass(frozen=True)
class Latency:
    """Latencies of single calls, in microseconds, the cost of the clock included.

    Attributes
    ----------
    calls
        Calls that were timed.
    p50, p99
        Percentiles of the wall time of a call.
    cpu
        Mean processor time of a call: what other work on the machine does not disturb.
    stopped
        True when the limit ended the loop.
    """

    calls: int
    p50: float
    p99: float
    cpu: float
    stopped: bool = False


def latencies(
    call: Callable[[Any], Any], arguments: Sequence[Any], *, limit: float, repeats: int = 1
) -> Latency:
    """Time each call on its own; stop after `limit` seconds."""
    clock = perf_counter_ns
    found: list[int] = []
    busy = process_time_ns()
    deadline = clock() + int(limit * 1e9)
    stopped = False
    for _ in range(repeats):
        for argument in arguments:
            start = clock()
            call(argument)
            end = clock()
            found.append(end - start)
            if end > deadline:
                stopped = True
                break
        if stopped:
            break
    cpu = (process_time_ns() - busy) / len(found) / 1000
    p50, p99 = np.percentile(found, [50, 99]) / 1000
    return Latency(len(found), float(p50), float(p99), cpu, stopped)


def clock_cost(calls: int = 100_000) -> float:
    """Median time between two readings of the clock with nothing between them, microseconds."""
    return latencies(_nothing, range(calls), limit=60).p50


def _nothing(_: Any) -> None:
    return None


def per_call(call: Callable[[Any], Any], arguments: Sequence[Any], repeats: int = 7) -> float:
    """Microseconds a call in a plain loop, no clock inside: the fastest of `repeats` loops."""

    def loop() -> None:
        for argument in arguments:
            call(argument)

    return best(loop, repeats)[0] / len(arguments) * 1e6


def best(call: Callable[[], Any], repeats: int = 5) -> tuple[float, float]:
    """Seconds of a call: the minimum and the median of `repeats`."""
    found = []
    for _ in range(repeats):
        start = perf_counter()
        call()
        found.append(perf_counter() - start)
    return min(found), float(np.median(found))
