"""What is believed of labels: how often feedback is wrong, and what each event's true label is.

The share rho of wrong feedback is not told but estimated: where the committee is surest, it errs
seldom, so what contradicts it there is mostly wrong feedback. Given rho, the committee is
calibrated on the feedback itself, and each labelled event gets the probability of its TRUE label
from both. Method and constants: the first study in docs/authority.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from vepa.corpus.events import EventTable
from vepa.evolution.committee import Codes, Floats, opinion, sigmoid
from vepa.policy.matching import REFUSE

__all__ = ["GRID", "Beliefs", "believe", "wrong_feedback"]

#: Shares of wrong feedback that are considered.
GRID = np.linspace(0.0, 0.3, 31)
#: Inverse temperatures of the committee that are considered.
SHARPNESS = np.exp(np.linspace(np.log(0.7), np.log(8.0), 16))
#: Part of the labelled events, the surest first, on which rho is read; the committee errs on
#: `RESIDUE` of them.
SUREST, RESIDUE = 0.7, 0.01
#: Standard errors by which the less sure half must be contradicted more often to be left out, and
#: the fewest events of a half.
CLEARLY, FEWEST = 3.0, 12
#: Prior of rho: `SPIKE` on none at all, the rest falling as (1 - rho) ** `FALL`.
SPIKE, FALL = 0.5, 8
#: Nothing is believed more firmly than this.
LEAST = 0.005
#: Probabilities are kept in steps of 1 / STEPS, so that sums are exact in any order.
STEPS = 256
_NONE_WRONG = np.eye(len(GRID))[0]
#: Imagined events: as many as seen ones up to a limit, and the fields that are changed, at most.
MOST_IMAGINED, CHANGED = 20_000, 3


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What is believed of the events of an archive. Probabilities are those of `refuse`.

    Attributes
    ----------
    wrong
        Posterior over `GRID`: the share of wrong feedback, shape (31,).
    true
        Of the true label of each example, from committee and feedback, shape (examples,).
    claimed
        The same from the committee alone, out of fold.
    context
        Of the seen events without feedback, shape (context,).
    imagined_codes, imagined
        Events that nobody saw, drawn near seen ones, and the committee's view of them,
        shapes (imagined, fields) and (imagined,).
    """

    wrong: Floats
    true: Floats
    claimed: Floats
    context: Floats
    imagined_codes: Codes
    imagined: Floats

    @property
    def rate(self) -> float:
        """Estimated share of wrong feedback (posterior mean)."""
        return float(self.wrong @ GRID)


@lru_cache(maxsize=4)
def believe(table: EventTable, context: EventTable, corrected: bool = True) -> Beliefs:
    """Work out what is believed.

    Parameters
    ----------
    table
        Examples with the labels that feedback gave.
    context
        Seen events without feedback.
    corrected
        Estimate the share of wrong feedback; else none is taken to be wrong, and each label to be
        what feedback gave.

    Notes
    -----
    An archive that grows holds other tables, so what is cached can never be out of date.
    """
    target = (table.labels == REFUSE).astype(np.float64)
    drawn = _imagine(np.concatenate([table.codes, context.codes]))
    found = opinion(table.codes, target, np.concatenate([context.codes, drawn]))
    wrong = wrong_feedback(found.own, target) if corrected else _NONE_WRONG
    spread = _sharpness(found.own, target, wrong)

    def calibrated(odds: Floats) -> Floats:
        mixed = sum(weight * sigmoid(a * odds) for weight, a in zip(spread, SHARPNESS, strict=True))
        return _stepped(np.asarray(mixed))

    claimed, rest = calibrated(found.own), calibrated(found.others)
    true = _true(claimed, target, wrong) if corrected else target
    seen = len(context)
    return Beliefs(wrong, true, claimed, rest[:seen], drawn, rest[seen:])


def _true(claimed: Floats, target: Floats, wrong: Floats) -> Floats:
    """Probability of `refuse` by committee and feedback together."""
    rate = max(float(wrong @ GRID), 1e-3)
    right = np.where(target == 1.0, 1.0 - rate, rate)
    return _stepped(claimed * right / (claimed * right + (1.0 - claimed) * (1.0 - right)))


def wrong_feedback(odds: Floats, target: Floats) -> Floats:
    """Posterior over `GRID` of the share of wrong feedback.

    Parameters
    ----------
    odds
        The committee's log-odds of `refuse`, out of fold, shape (examples,).
    target
        1 where feedback said `refuse`, else 0, shape (examples,).
    """
    prior = (1.0 - GRID) ** FALL
    prior *= (1.0 - SPIKE) / prior.sum()
    prior[0] += SPIKE
    if not odds.any():
        return np.asarray(prior / prior.sum())  # nobody has an opinion
    surest = np.argsort(-np.abs(odds), kind="stable")[: int(SUREST * len(odds))]
    contradicted = _of_the_surest((odds[surest] > 0.0) != (target[surest] == 1.0))
    against = int(contradicted.sum())
    chance = GRID + (1.0 - 2.0 * GRID) * RESIDUE
    fit = against * np.log(chance) + (len(contradicted) - against) * np.log1p(-chance)
    weights = prior * np.exp(fit - fit.max())
    return np.asarray(weights / weights.sum())


def _of_the_surest(contradicted: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The part, from the surest on, in which contradictions do not depend on how sure one is.

    Wrong feedback comes alike whatever the committee thinks. Where the less sure half is
    contradicted clearly more often, the fields tell the committee too little there, and what
    contradicts it is its own error: only the surer half is left, and is looked at again.
    """
    while len(contradicted) >= 2 * FEWEST:
        half = len(contradicted) // 2
        surer, other = contradicted[:half], contradicted[half:]
        both = contradicted.mean()
        spread = np.sqrt(both * (1.0 - both) * (1.0 / len(surer) + 1.0 / len(other)))
        if other.mean() - surer.mean() <= CLEARLY * spread:
            break
        contradicted = surer
    return contradicted


def _sharpness(odds: Floats, target: Floats, wrong: Floats) -> Floats:
    """Weights over `SHARPNESS`: how far the committee's log-odds can be taken at their word."""
    p = 0.004 + 0.992 * sigmoid(SHARPNESS[:, None] * odds)
    weights = np.zeros(len(SHARPNESS))
    for rho, weight in zip(GRID, wrong, strict=True):
        if weight < 1e-4:
            continue
        seen = rho + (1.0 - 2.0 * rho) * p
        fit = np.log(np.where(target == 1.0, seen, 1.0 - seen)).sum(axis=1)
        share = np.exp(fit - fit.max())
        weights += weight * share / share.sum()
    return np.asarray(weights / weights.sum())


def _imagine(codes: Codes) -> Codes:
    """Events near seen ones: up to three fields take their values from another seen event.

    They let a search see what the committee makes of combinations that have not come yet.
    """
    size, fields = codes.shape
    rng = np.random.default_rng([7, size])
    count = min(size, MOST_IMAGINED)
    if not count:
        return codes[:0]
    drawn: Codes = codes[rng.integers(0, size, count)].copy()
    donors = codes[rng.integers(0, size, count)]
    share = rng.integers(1, CHANGED + 1, count) / fields
    taken: npt.NDArray[np.bool_] = rng.random((count, fields)) < share[:, None]
    drawn[taken] = donors[taken]
    return drawn


def _stepped(p: Floats) -> Floats:
    return np.asarray(np.rint(np.clip(p, LEAST, 1.0 - LEAST) * STEPS) / STEPS)
