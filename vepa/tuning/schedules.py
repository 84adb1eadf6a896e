"""Learning rate over the steps."""

from __future__ import annotations

from math import cos, pi

__all__ = ["rate_at"]

#: Share of the rate that is left at the end of a cosine.
_LEAST = 0.05


def rate_at(step: int, steps: int, rate: float, warmup: int, schedule: str) -> float:
    """Learning rate of a step.

    Parameters
    ----------
    step
        From 0.
    steps
        Of the whole training.
    rate
        The highest.
    warmup
        Steps in which it rises to that.
    schedule
        `cosine`, `linear` or `constant`.
    """
    if step < warmup:
        return rate * (step + 1) / warmup
    done = min(1.0, (step - warmup) / max(1, steps - warmup))
    left = {"cosine": (1 + cos(pi * done)) / 2, "linear": 1 - done, "constant": 1.0}[schedule]
    return rate * (left * (1 - _LEAST) + _LEAST)
