"""Hoeffding Tree (river): a decision tree that learns one example at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vepa.bench.baselines.base import Codes, Prediction, constant
from vepa.corpus.events import EventTable
from vepa.policy.matching import ALLOW, REFUSE
from vepa.policy.schema import Schema

__all__ = ["TUNED", "Hoeffding"]

#: The defaults barely split on a few hundred examples. These won a grid of 144 settings by the mean
#: full-stream macro-F1 over ASSEBench-Security and R-Judge, shuffles 100-102, 50 % feedback.
TUNED: Mapping[str, Any] = {
    "grace_period": 10,
    "delta": 0.05,
    "tau": 0.5,
    "leaf_prediction": "mc",
}


class Hoeffding:
    """river's `HoeffdingTreeClassifier` on nominal fields.

    Parameters
    ----------
    schema
        Schema of the events.
    fields
        The visible fields.
    settings
        Of the tree; river's defaults where nothing is said.
    """

    def __init__(
        self, schema: Schema, fields: Sequence[str], settings: Mapping[str, Any] | None = None
    ):
        from river.tree import HoeffdingTreeClassifier

        self.names = tuple(fields)
        self.columns = [schema.index[name] for name in fields]
        self.seen = False
        self.model: Any = HoeffdingTreeClassifier(
            nominal_attributes=list(self.names), **(settings or {})
        )

    def learn(self, events: EventTable) -> None:
        """Learn the feedback of a round, one example after the other."""
        for row, label in zip(self._rows(events.codes), events.labels.tolist(), strict=True):
            self.model.learn_one(row, label)
            self.seen = True

    def predict(self, events: EventTable) -> Prediction:
        """Labels for a batch; a tie is refused."""
        if not self.seen:
            return constant(len(events))
        found = [self.model.predict_proba_one(row) for row in self._rows(events.codes)]
        allow = np.array([chances.get(ALLOW, 0.0) for chances in found])
        refuse = np.array([chances.get(REFUSE, 0.0) for chances in found])
        labels = np.where(allow > refuse, ALLOW, REFUSE).astype(np.int8)
        return Prediction(labels, np.maximum(allow, refuse))

    def _rows(self, codes: Codes) -> list[dict[str, int]]:
        return [dict(zip(self.names, row, strict=True)) for row in codes[:, self.columns].tolist()]
