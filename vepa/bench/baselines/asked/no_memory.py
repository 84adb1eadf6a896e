"""LLM without memory: a language model that judges each event alone and never hears of feedback."""

from __future__ import annotations

from collections.abc import Sequence

from vepa.bench.baselines.asked.rows import Visible, judge_each, predicted
from vepa.bench.baselines.base import Prediction, constant
from vepa.corpus.events import EventTable
from vepa.guard.fallback import ModelJudge
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
        self.judge, self.concurrency = judge, concurrency
        self.visible = Visible(schema, fields)

    def learn(self, events: EventTable) -> None:
        """Nothing: that is what it is compared for."""

    def predict(self, events: EventTable) -> Prediction:
        """The judge's verdicts; raises what `ModelJudge.judge` raises."""
        if not len(events):
            return constant(0)
        rows, place = self.visible.distinct(events)
        asked = [self.visible.event(row) for row in rows]
        return predicted(judge_each(self.judge, asked, events.unit, self.concurrency), place)
