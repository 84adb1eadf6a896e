"""LLM judge with the policy as context: the hybrid of the source, as a method of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vepa.bench.baselines.asked.rows import Visible, judge_each, predicted
from vepa.bench.baselines.base import Prediction, constant
from vepa.bench.verdicts import Verify, confidence, decide
from vepa.corpus.events import EventTable
from vepa.errors import SettingError, Where
from vepa.guard.fallback import ModelJudge
from vepa.policy.matching import ABSTAIN
from vepa.policy.policy import Policy
from vepa.policy.schema import Schema

__all__ = ["Judge"]


class Judge:
    """The verdict of the policy where it decides; a model judges the rest beside its rules.

    Parameters
    ----------
    schema
        Schema of the events.
    fields
        The visible fields; no other is shown.
    judge
        Who is asked.
    concurrency
        Questions at a time.
    verify
        What the policy answers where rules of both decisions match.
    """

    def __init__(
        self,
        schema: Schema,
        fields: Sequence[str],
        judge: ModelJudge,
        concurrency: int = 4,
        verify: Verify = "on",
    ):
        self.judge, self.concurrency, self.verify = judge, concurrency, verify
        self.visible = Visible(schema, fields)
        self._policy: Policy | None = None

    def advise(self, policy: Policy) -> None:
        """The policy that decides the next round."""
        self._policy = policy

    def learn(self, events: EventTable) -> None:
        """Nothing: the policy learns."""

    def predict(self, events: EventTable) -> Prediction:
        """Verdicts for a batch.

        Raises
        ------
        SettingError
            When no policy was given, or one of another unit.
        ModelError, BudgetError
            What `ModelJudge.judge` raises.
        """
        policy = self._policy
        if policy is None:
            raise SettingError(
                "the baseline 'judge' has no policy to judge beside",
                where=Where(field="baselines"),
                remedy="give `predict_stream` the policy of every round; 'no_memory' needs none",
            )
        if not len(events):
            return constant(0)
        labels = decide(policy, events.columns, verify=self.verify)
        sure = confidence(policy, events.codes)
        left = np.flatnonzero(labels == ABSTAIN)
        if len(left):
            rows, place = self.visible.distinct(events.take(left))
            asked = [self.visible.event(row) for row in rows]
            found = judge_each(self.judge, asked, events.unit, self.concurrency, policy)
            labels[left], sure[left] = predicted(found, place)
        return Prediction(labels, sure)
