"""What a baseline is, and the part that those share which learn anew from all feedback."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from vepa.corpus.events import EventTable
from vepa.policy.matching import REFUSE
from vepa.policy.policy import Policy
from vepa.policy.schema import Schema

__all__ = ["Advised", "Baseline", "Codes", "Floats", "Prediction", "Refit", "constant"]

Codes = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]


class Prediction(NamedTuple):
    """Labels (`ALLOW` or `REFUSE`), and how sure the learner is of each, in [0, 1]."""

    labels: Codes
    confidence: Floats


class Baseline(Protocol):
    """A method on a stream."""

    def learn(self, events: EventTable) -> None:
        """Take in the feedback of a round: events with the labels that feedback gave."""
        ...

    def predict(self, events: EventTable) -> Prediction:
        """Labels for a batch, from the feedback so far; the events carry none."""
        ...


@runtime_checkable
class Advised(Protocol):
    """A baseline that is given the policy of each round before it is asked about it."""

    def advise(self, policy: Policy) -> None:
        """The policy that decides the next round."""
        ...


def constant(size: int, label: int = REFUSE, confidence: float = 0.0) -> Prediction:
    """One answer to everything; by default the one before any feedback."""
    return Prediction(np.full(size, label, dtype=np.int8), np.full(size, confidence))


class Refit(ABC):
    """Keeps all feedback; a model is fitted on all of it before the next prediction.

    Feedback of one class alone says nothing about the other: the only class is answered.

    Parameters
    ----------
    schema
        Schema of the events.
    fields
        The visible fields.
    """

    def __init__(self, schema: Schema, fields: Sequence[str]):
        self.schema = schema
        self.columns = [schema.index[name] for name in fields]
        self.codes: Codes = np.zeros((0, len(self.columns)), dtype=np.int8)
        self.labels: Codes = np.zeros(0, dtype=np.int8)
        self._stale = False

    def learn(self, events: EventTable) -> None:
        """Keep the feedback of a round."""
        if len(events):
            self.codes = np.concatenate([self.codes, events.codes[:, self.columns]])
            self.labels = np.concatenate([self.labels, events.labels])
            self._stale = True

    def predict(self, events: EventTable) -> Prediction:
        """Labels for a batch."""
        known = np.unique(self.labels)
        if len(events) == 0 or len(known) == 0:
            return constant(len(events))
        if len(known) == 1:
            return constant(len(events), int(known[0]), 1.0)
        if self._stale:
            self.fit()
            self._stale = False
        return self.answer(events.codes[:, self.columns])

    @abstractmethod
    def fit(self) -> None:
        """Fit on all feedback, in which both classes occur."""

    @abstractmethod
    def answer(self, codes: Codes) -> Prediction:
        """Predict visible columns with the fitted model."""
