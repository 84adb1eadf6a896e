"""Figures of a baseline on steps: accuracy, macro-F1, area under the curve, lift."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vepa.bench.metrics import macro_f1
from vepa.policy.matching import REFUSE

__all__ = ["Guess", "area_under", "figures_on", "together"]

Labels = npt.NDArray[np.int8]
Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Guess:
    """What a baseline says about steps.

    Attributes
    ----------
    verdicts
        Shape (steps,), int8.
    scores
        The higher, the more it leans to `refuse`.
    unseen
        Steps with a value that train does not hold; None where that has no meaning.
    """

    verdicts: Labels
    scores: Scores
    unseen: int | None = None


def together(guesses: Iterable[Guess]) -> Guess:
    """Guesses about several splits, one after another."""
    guesses = list(guesses)
    unseen = [guess.unseen for guess in guesses if guess.unseen is not None]
    return Guess(
        np.concatenate([guess.verdicts for guess in guesses]),
        np.concatenate([guess.scores for guess in guesses]),
        sum(unseen) if unseen else None,
    )


def figures_on(
    labels: Labels, guess: Guess, base: Guess, groups: Sequence[Hashable]
) -> dict[str, Any]:
    """Figures of one baseline on one split; None where there is nothing to score."""
    names = ("accuracy", "macro_f1", "auc", "auc_error", "lift")
    if not len(labels):
        return {"events": 0, **dict.fromkeys(names)}
    accuracy, plain = (float((said.verdicts == labels).mean()) for said in (guess, base))
    f1, plain_f1 = (macro_f1(labels, said.verdicts) for said in (guess, base))
    both = 0 < int((labels == REFUSE).sum()) < len(labels)
    area, error = area_under(labels, guess.scores, groups) if both else (None, None)
    figures: dict[str, Any] = {
        "events": len(labels),
        "accuracy": round(accuracy, 4),
        "macro_f1": round(f1, 4),
        "auc": None if area is None else round(area, 4),
        "auc_error": None if error is None else round(error, 4),
        "lift": {"accuracy": round(accuracy - plain, 4), "macro_f1": round(f1 - plain_f1, 4)},
    }
    if guess.unseen is not None:
        figures["unseen"] = guess.unseen
    return figures


def area_under(labels: Labels, scores: Scores, groups: Sequence[Hashable]) -> tuple[float, float]:
    """Chance that a refused step scores higher than an allowed one, and its standard error.

    A tie counts half. Steps of one group are not independent: the error is that of the sum over
    groups of what each contributes, and at least that of independent steps with scores that know
    nothing.

    Parameters
    ----------
    labels, scores, groups
        One a step; both labels occur, or the answer is (0.5, 0.5).
    """
    from scipy.stats import rankdata

    refuse = labels == REFUSE
    many, few = int(refuse.sum()), int((~refuse).sum())
    if not many or not few:
        return 0.5, 0.5
    ranks = rankdata(scores)
    # For each step, the share of steps with the other label that it stands on the right side of.
    right = np.empty(len(labels))
    right[refuse] = (ranks[refuse] - rankdata(scores[refuse])) / few
    right[~refuse] = 1 - (ranks[~refuse] - rankdata(scores[~refuse])) / many
    area = float(right[refuse].mean())
    part = (right - area) / np.where(refuse, many, few)
    index: dict[Hashable, int] = {}
    sums = np.bincount([index.setdefault(group, len(index)) for group in groups], weights=part)
    between = float((sums**2).sum()) * len(sums) / max(len(sums) - 1, 1)
    independent = (many + few + 1) / (12 * many * few)
    return area, float(np.sqrt(max(between, independent)))
