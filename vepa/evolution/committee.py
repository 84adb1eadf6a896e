"""A small committee that says how likely it is that an event should be refused.

Two ridge logistic regressions of different strength and a Hamming nearest-neighbour vote, averaged
in log-odds. A labelled event is judged by members that did not see it (out of fold), any other one
by members that saw all labels. The committee steers the search for rules; under `noise-aware` it
also helps to tell wrong feedback from wrong rules.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["FOLDS", "Opinion", "log_odds", "opinion", "sigmoid"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]

FOLDS = 5
RIDGES = (3.0, 10.0)
#: Hamming distance over which a neighbour's vote falls to 1/e.
REACH = 1.5
#: Events that vote on their neighbours at a time, so that memory stays in bounds.
CHUNK = 2048
#: Digits of log-odds that are kept: what differs between linear algebra libraries goes.
DIGITS = 6


@dataclass(frozen=True, eq=False)
class Opinion:
    """Log-odds of `refuse`, before calibration.

    Attributes
    ----------
    own
        Of the labelled events, out of fold, shape (examples,).
    others
        Of the others, shape (others,).
    """

    own: Floats
    others: Floats


def opinion(codes: Codes, target: Floats, others: Codes) -> Opinion:
    """What the committee thinks of labelled and of other events.

    Parameters
    ----------
    codes
        Labelled events, shape (examples, fields).
    target
        1 where the label is `refuse`, else 0, shape (examples,).
    others
        Other events, shape (others, fields).

    Returns
    -------
    Opinion
        Zeros throughout when the labels are of one kind or too few to fold.
    """
    own, rest = np.zeros(len(codes)), np.zeros(len(others))
    if len(target) < 2 * FOLDS or not 0 < target.sum() < len(target):
        return Opinion(own, rest)
    cells = _one_hot(codes, others)
    known, fields = cells[: len(codes)], codes.shape[1]
    everything = _Members(known, target, fields)
    if len(others):
        rest = everything.vote(cells[len(codes) :])
    for fold in _folds(len(codes)):
        train = np.flatnonzero(~fold)
        if 0 < target[train].sum() < len(train):
            own[fold] = _Members(known[train], target[train], fields, everything).vote(known[fold])
    return Opinion(np.round(own, DIGITS), np.round(rest, DIGITS))


class _Members:
    """The members, fitted; a fold's regressions start from those of all labels."""

    def __init__(self, cells: Floats, target: Floats, fields: int, near: _Members | None = None):
        self.cells, self.target, self.fields = cells, target, fields
        starts = near.weights if near else [np.zeros(cells.shape[1] + 1) for _ in RIDGES]
        self.weights: list[Floats] = [
            _logistic(cells, target, ridge, start)
            for ridge, start in zip(RIDGES, starts, strict=True)
        ]

    def vote(self, cells: Floats) -> Floats:
        """Mean log-odds of the members."""
        odds = [log_odds(sigmoid(cells @ fit[:-1] + fit[-1])) for fit in self.weights]
        odds.append(log_odds(self._neighbours(cells)))
        return np.asarray(np.mean(odds, axis=0))

    def _neighbours(self, cells: Floats) -> Floats:
        doubt = 0.5 * np.exp(-4.0 / REACH)
        shares = []
        # Numbers of equal fields are small and whole: single precision holds them exactly.
        mine, theirs = self.cells.astype(np.float32).T, cells.astype(np.float32)
        for at in range(0, len(cells), CHUNK):
            votes = (theirs[at : at + CHUNK] @ mine).astype(np.float64)
            votes -= self.fields
            votes /= REACH
            np.exp(votes, out=votes)
            shares.append((votes @ self.target + doubt) / (votes.sum(axis=1) + 2.0 * doubt))
        return np.concatenate(shares)


def _folds(size: int) -> list[npt.NDArray[np.bool_]]:
    order = np.random.default_rng([size, 0]).permutation(size)
    fold = np.empty(size, dtype=np.int64)
    fold[order] = np.arange(size) % FOLDS
    return [fold == k for k in range(FOLDS)]


def _one_hot(codes: Codes, others: Codes) -> Floats:
    """One column for each value of a field among the labelled events; no other can have weight."""
    every = np.concatenate([codes, others])
    columns = [
        every[:, at] == code for at in range(codes.shape[1]) for code in np.unique(codes[:, at])
    ]
    return np.stack(columns, axis=1).astype(np.float64)


def _logistic(cells: Floats, target: Floats, ridge: float, start: Floats) -> Floats:
    """Ridge logistic regression by Newton's method, without penalty on the intercept."""
    design = np.hstack([cells, np.ones((len(cells), 1))])
    penalty = np.full(design.shape[1], ridge)
    penalty[-1] = 1e-3
    weights = start
    for _ in range(12):
        p = sigmoid(design @ weights)
        gradient = design.T @ (p - target) + penalty * weights
        hessian = (design.T * (p * (1.0 - p) + 1e-6)) @ design
        hessian[np.diag_indices_from(hessian)] += penalty
        step = np.linalg.solve(hessian, gradient)
        weights = weights - step
        if np.abs(step).max() < 1e-4:
            break
    return weights


def log_odds(p: Floats) -> Floats:
    """Logarithm of p / (1 - p), for p kept away from 0 and 1."""
    p = np.clip(p, 1e-4, 1.0 - 1e-4)
    return np.asarray(np.log(p / (1.0 - p)))


def sigmoid(x: Floats) -> Floats:
    """The inverse of `log_odds`."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -30.0, 30.0))))
