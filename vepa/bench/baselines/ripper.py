"""RIPPER (wittgenstein): rules for `refuse`, everything else allowed; fitted anew each round."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from vepa.bench.baselines.base import Codes, Prediction, Refit
from vepa.policy.matching import REFUSE
from vepa.policy.schema import Schema

__all__ = ["Ripper"]


class Ripper(Refit):
    """wittgenstein's `RIPPER` with its defaults.

    Fields and values are handed over as numbers and kept apart, never put into bins: the library
    orders conditions by their hash, and hashes of words differ between processes.

    Parameters
    ----------
    schema
        Schema of the events.
    fields
        The visible fields.
    seed
        Seed of the split into growing and pruning examples.
    """

    def __init__(self, schema: Schema, fields: Sequence[str], seed: int):
        super().__init__(schema, fields)
        self.seed = seed
        self.model: Any = None

    def fit(self) -> None:
        """Fit on all feedback."""
        from wittgenstein import RIPPER

        frame = self._frame(self.codes)
        label = len(self.columns)
        frame[label] = self.labels.astype(np.int64)
        with _quiet():
            self.model = RIPPER(random_state=self.seed, n_discretize_bins=None)
            self.model.fit(frame, class_feat=label, pos_class=REFUSE)

    def answer(self, codes: Codes) -> Prediction:
        """Labels for a batch; confidence is the smoothed precision of the rule that answers."""
        frame = self._frame(codes)
        first, place = self._alike(frame)
        few = frame.iloc[first].reset_index(drop=True)
        with _quiet():
            labels = np.asarray(self.model.predict(few)).astype(np.int8)
            chances = np.asarray(self.model.predict_proba(few), dtype=np.float64)
        sure = chances[np.arange(len(labels)), labels]
        return Prediction(labels[place], sure[place])

    def _alike(self, frame: Any) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """One row of each kind, and the kind of each row: rows that the same rules cover.

        Their answers are the same, and the library works out a confidence row by row.
        """
        rules = self.model.ruleset_.rules
        covered = np.zeros((len(frame), len(rules) + 1), dtype=np.bool_)
        for at, rule in enumerate(rules):
            covered[rule.covers(frame).index, at] = True
        _, first, place = np.unique(covered, axis=0, return_index=True, return_inverse=True)
        return first, place.ravel()

    def _frame(self, codes: Codes) -> Any:
        import pandas as pd

        return pd.DataFrame({at: column.astype(np.int64) for at, column in enumerate(codes.T)})


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop the library's own warnings, of rule sets that answer one class alone: here an answer.

    It calls `showwarning` with bare text, past every filter; warnings of others pass through.
    """
    with warnings.catch_warnings():  # puts the function back
        shown = warnings.showwarning

        def show(message: Any, category: Any, *place: Any, **known: Any) -> None:
            if not (isinstance(message, str) and category is RuntimeWarning):
                shown(message, category, *place, **known)

        warnings.showwarning = show
        yield
