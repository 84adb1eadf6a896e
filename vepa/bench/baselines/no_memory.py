"""LLM without memory: a language model that judges each event alone and never hears of feedback."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from vepa.bench.baselines.base import Prediction
from vepa.corpus.events import LABELS, EventTable
from vepa.guard.fallback import Judgement, ModelJudge
from vepa.policy.schema import Schema

__all__ = ["NoMemory"]


class NoMemory:
    """Asks a judge about every distinct event of a batch, once.

    Parameters
    ----------
    schema
        Schema of the events.
    fields
        The visible fields; no other is shown.
    judge
        Who is asked, without a policy.
    concurrency
        Questions at a time.
    """

    def __init__(
        self, schema: Schema, fields: Sequence[str], judge: ModelJudge, concurrency: int = 4
    ):
        self.schema, self.judge, self.concurrency = schema, judge, concurrency
        self.columns = [schema.index[name] for name in fields]

    def learn(self, events: EventTable) -> None:
        """Nothing: that is what it is compared for."""

    def predict(self, events: EventTable) -> Prediction:
        """The judge's verdicts; raises what `ModelJudge.judge` raises."""
        if not len(events):
            return Prediction(np.zeros(0, dtype=np.int8), np.zeros(0))
        distinct, place = np.unique(events.codes[:, self.columns], axis=0, return_inverse=True)

        def judged(row: Sequence[int]) -> Judgement:
            return self.judge.judge(self._event(row), events.unit)

        with ThreadPoolExecutor(self.concurrency) as pool:
            found = list(pool.map(judged, distinct.tolist()))
        labels = np.array([LABELS[each.decision] for each in found], dtype=np.int8)
        sure = np.array([each.confidence for each in found])
        at = place.ravel()
        return Prediction(labels[at], sure[at])

    def _event(self, row: Sequence[int]) -> dict[str, str]:
        domains = (self.schema.fields[at] for at in self.columns)
        return {domain.name: domain.values[code] for domain, code in zip(domains, row, strict=True)}
