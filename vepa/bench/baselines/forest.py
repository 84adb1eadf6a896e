"""Random forest (scikit-learn): the black-box ceiling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vepa.bench.baselines.base import Codes, Floats, Prediction, Refit
from vepa.policy.matching import ALLOW, REFUSE
from vepa.policy.schema import Schema

__all__ = ["Forest"]


class Forest(Refit):
    """scikit-learn's `RandomForestClassifier` with its defaults on one-hot fields.

    Parameters
    ----------
    schema
        Schema of the events.
    fields
        The visible fields.
    seed
        Seed of the forest.
    """

    def __init__(self, schema: Schema, fields: Sequence[str], seed: int):
        super().__init__(schema, fields)
        self.sizes = [len(schema.fields[at].values) for at in self.columns]
        self.seed = seed
        self.model: Any = None

    def fit(self) -> None:
        """Grow a new forest on all feedback."""
        from sklearn.ensemble import RandomForestClassifier

        self.model = RandomForestClassifier(random_state=self.seed, n_jobs=1)
        self.model.fit(self._one_hot(self.codes), self.labels)

    def answer(self, codes: Codes) -> Prediction:
        """Labels for a batch; a tie is refused."""
        chances = self.model.predict_proba(self._one_hot(codes))  # columns: allow, refuse
        labels = np.where(chances[:, ALLOW] > chances[:, REFUSE], ALLOW, REFUSE).astype(np.int8)
        return Prediction(labels, chances.max(axis=1))

    def _one_hot(self, codes: Codes) -> Floats:
        parts = [np.eye(size)[codes[:, at]] for at, size in enumerate(self.sizes)]
        return np.concatenate(parts, axis=1)
