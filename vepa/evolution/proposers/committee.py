"""A small committee that guesses the label of seen events which feedback left unlabelled.

Two ridge logistic regressions of different strength and a Hamming nearest-neighbour vote, averaged
in log-odds, out of fold, then calibrated by one temperature. Its guesses only steer the search for
rules; evidence, scores and authority count real feedback alone.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vepa.policy.matching import REFUSE

__all__ = ["guess"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FOLDS = 5
REPEATS = 2
RIDGES = (3.0, 10.0)
#: Hamming distance over which a neighbour's vote falls to 1/e.
REACH = 1.5
#: Inverse temperatures that the calibration tries.
INVERSE_TEMPERATURES = np.exp(np.linspace(np.log(0.7), np.log(8.0), 16))
LEAST = 0.005


def guess(
    codes: npt.NDArray[np.int8], labels: npt.NDArray[np.int8], others: npt.NDArray[np.int8]
) -> Floats:
    """Probability that each unlabelled event should be refused.

    Parameters
    ----------
    codes
        Labelled events, shape (examples, fields).
    labels
        Their labels as decision codes, shape (examples,).
    others
        Unlabelled events, shape (others, fields).

    Returns
    -------
    ndarray of float, shape (others,)
        Calibrated probabilities; 0.5 throughout when the labels are of one kind or too few to fold.
    """
    target = (labels == REFUSE).astype(np.float64)
    if len(others) == 0 or len(target) < 2 * FOLDS or not 0 < target.sum() < len(target):
        return np.full(len(others), 0.5)
    cells = _one_hot(np.concatenate([codes, others]))
    known, rest = cells[: len(codes)], cells[len(codes) :]
    own = np.zeros(len(codes))
    other = np.zeros(len(others))
    for train, test in _folds(len(codes)):
        if not 0 < target[train].sum() < len(train):
            continue
        odds = _vote(
            known[train], target[train], np.concatenate([known[test], rest]), codes.shape[1]
        )
        own[test] += odds[: len(test)] / REPEATS
        other += odds[len(test) :] / (REPEATS * FOLDS)
    sharpened = _sigmoid(_sharpness(own, target) * other)
    return np.clip(sharpened, LEAST, 1.0 - LEAST)


def _folds(size: int) -> list[tuple[Ints, Ints]]:
    folds: list[tuple[Ints, Ints]] = []
    for repeat in range(REPEATS):
        order = np.random.default_rng([size, repeat]).permutation(size)
        fold = np.empty(size, dtype=np.int64)
        fold[order] = np.arange(size) % FOLDS
        folds += [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(FOLDS)]
    return folds


def _one_hot(codes: npt.NDArray[np.int8]) -> Floats:
    columns = [
        codes[:, at] == code for at in range(codes.shape[1]) for code in np.unique(codes[:, at])
    ]
    return np.stack(columns, axis=1).astype(np.float64)


def _vote(train: Floats, target: Floats, test: Floats, fields: int) -> Floats:
    odds = [_log_odds(_logistic(train, target, ridge, test)) for ridge in RIDGES]
    odds.append(_log_odds(_neighbours(train, target, test, fields)))
    return np.asarray(np.mean(odds, axis=0))


def _logistic(train: Floats, target: Floats, ridge: float, test: Floats) -> Floats:
    """Ridge logistic regression by Newton's method, without penalty on the intercept."""
    design = np.hstack([train, np.ones((len(train), 1))])
    penalty = np.full(design.shape[1], ridge)
    penalty[-1] = 1e-3
    weights = np.zeros(design.shape[1])
    for _ in range(12):
        p = _sigmoid(design @ weights)
        gradient = design.T @ (p - target) + penalty * weights
        hessian = (design.T * (p * (1.0 - p) + 1e-6)) @ design
        hessian[np.diag_indices_from(hessian)] += penalty
        step = np.linalg.solve(hessian, gradient)
        weights -= step
        if np.abs(step).max() < 1e-4:
            break
    return _sigmoid(test @ weights[:-1] + weights[-1])


def _neighbours(train: Floats, target: Floats, test: Floats, fields: int) -> Floats:
    distance = fields - test @ train.T
    votes = np.exp(-distance / REACH)
    doubt = 0.5 * np.exp(-4.0 / REACH)
    return np.asarray((votes @ target + doubt) / (votes.sum(axis=1) + 2.0 * doubt))


def _sharpness(odds: Floats, target: Floats) -> float:
    """Inverse temperature: the mean under its likelihood on out-of-fold predictions."""
    fits = []
    for scale in INVERSE_TEMPERATURES:
        p = 0.004 + 0.992 * _sigmoid(scale * odds)
        fits.append(np.log(np.where(target == 1.0, p, 1.0 - p)).sum())
    weights = np.exp(np.array(fits) - max(fits))
    return float((weights * INVERSE_TEMPERATURES).sum() / weights.sum())


def _log_odds(p: Floats) -> Floats:
    p = np.clip(p, 1e-4, 1.0 - 1e-4)
    return np.asarray(np.log(p / (1.0 - p)))


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -30.0, 30.0))))
