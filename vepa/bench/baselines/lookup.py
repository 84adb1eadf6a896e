"""Single-field look-up: how far one field alone carries. A check for leakage, not a competitor."""

from __future__ import annotations

import numpy as np

from vepa.bench.baselines.base import Prediction
from vepa.corpus.events import EventTable
from vepa.policy.matching import ALLOW, REFUSE
from vepa.policy.schema import Schema

__all__ = ["Lookup"]


class Lookup:
    """The majority label by value of one field over the feedback so far.

    A value without feedback, or with as many labels of one kind as of the other, is refused.
    Confidence is the share of the majority, smoothed by one label of each kind; 0 for a value
    without feedback.

    Parameters
    ----------
    schema
        Schema of the events.
    field
        The field.
    """

    def __init__(self, schema: Schema, field: str):
        self.field = field
        self.column = schema.index[field]
        self.counts = np.zeros((len(schema[field].values), 2), dtype=np.int64)

    def learn(self, events: EventTable) -> None:
        """Count the feedback of a round."""
        np.add.at(self.counts, (events.codes[:, self.column], events.labels), 1)

    def predict(self, events: EventTable) -> Prediction:
        """Majority labels for a batch."""
        allow, refuse = self.counts[:, ALLOW], self.counts[:, REFUSE]
        majority = np.where(allow > refuse, ALLOW, REFUSE).astype(np.int8)
        total = allow + refuse
        sure = np.where(total > 0, (np.maximum(allow, refuse) + 1) / (total + 2), 0.0)
        at = events.codes[:, self.column]
        return Prediction(majority[at], sure[at])
