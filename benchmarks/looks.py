"""How often a rule of known precision ever passes an authority test that looks after each event.

Counts alone: no events, no policy. Labels of a rule's events are independent, each agrees with
probability `precision`. `ever_active` draws runs, `exactly` works the same chance out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from vepa.policy.authority import authority

__all__ = ["Crossings", "ever_active", "exactly", "interval", "needs"]

Ints = npt.NDArray[np.int64]
#: Runs that are drawn at once; bounds the memory.
BLOCK = 5_000


@dataclass(frozen=True)
class Crossings:
    """What became of simulated rules.

    Attributes
    ----------
    runs
        How many were drawn.
    active
        How many of them were active at some look.
    labels
        Labels until then: the median over all runs; None when fewer than half got there.
    """

    runs: int
    active: int
    labels: float | None


@lru_cache(maxsize=32)
def needs(mode: str, looks: int) -> tuple[int, ...]:
    """Contradictions -> supports that the mode asks for, as far as `looks` labels can reach."""
    gate = authority(mode)
    found: list[int] = []
    while True:
        need = gate.needed("allow", len(found))
        if need is None or need + len(found) > looks:
            return tuple(found)
        found.append(need)


def ever_active(mode: str, precision: float, looks: int, runs: int, seed: int) -> Crossings:
    """Draw rules of one precision and look after each of their labels.

    Between two contradictions support only grows, so a rule is active at some look exactly when it
    is at the last look before one of them, or at the last look of all: gaps between contradictions
    are all that has to be drawn.

    Parameters
    ----------
    mode
        An authority mode that tests counts.
    precision
        Chance that a label agrees, in (0, 1].
    looks
        Labels of each rule.
    runs, seed
        Number of rules, and the seed of their draws.
    """
    need = np.array(needs(mode, looks), dtype=np.int64)
    against = np.arange(len(need))
    random = np.random.default_rng([seed, round(precision * 10_000), looks])
    reached: list[Ints] = []
    for start in range(0, runs, BLOCK):
        size = (min(BLOCK, runs - start), len(need))
        gaps = (
            random.geometric(1.0 - precision, size)
            if precision < 1.0
            else np.full(size, looks + 1, dtype=np.int64)
        )
        nth = np.cumsum(gaps, axis=1)  # look at which contradiction 1, 2, ... comes
        last = np.minimum(nth - 1, looks)  # last look with 0, 1, ... contradictions
        passed = last - against >= need
        # Reached with `need` supports, unless the contradictions came later than that.
        before = np.concatenate([np.zeros((size[0], 1), np.int64), nth[:, :-1]], axis=1)
        when = np.where(passed, np.maximum(need + against, before), looks + 1)
        reached.append(when.min(axis=1))
    labels = np.concatenate(reached)
    active = int((labels <= looks).sum())
    middle = float(np.median(labels))
    return Crossings(runs, active, middle if middle <= looks else None)


def exactly(mode: str, precision: float, looks: int) -> float:
    """The chance that `ever_active` estimates, by following the counts look by look."""
    need = needs(mode, looks)
    limits = np.full(looks + 2, looks + 2)
    limits[: len(need)] = need
    against = np.arange(looks + 2)
    waiting = np.zeros(looks + 2)  # chance of so many contradictions, never active so far
    waiting[0] = 1.0
    crossed = 0.0
    for look in range(1, looks + 1):
        moved = waiting * precision
        moved[1:] += waiting[:-1] * (1.0 - precision)
        passed = look - against >= limits
        crossed += float(moved[passed].sum())
        moved[passed] = 0.0
        waiting = moved
    return crossed


def interval(hits: int, total: int) -> Sequence[float] | None:
    """Exact (Clopper-Pearson) 95 % interval of a share; None of nothing."""
    from scipy.stats import binomtest

    if not total:
        return None
    found = binomtest(hits, total).proportion_ci(0.95, method="exact")
    return round(float(found.low), 4), round(float(found.high), 4)
