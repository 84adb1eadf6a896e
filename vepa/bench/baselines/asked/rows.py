"""The distinct events of a batch as a model is shown them, and a judge asked about each once."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from vepa.bench.baselines.base import Codes, Prediction
from vepa.corpus.events import LABELS, EventTable
from vepa.guard.fallback import Judgement, ModelJudge
from vepa.policy.event import Unit
from vepa.policy.policy import Policy
from vepa.policy.schema import Schema

__all__ = ["Row", "Visible", "judge_each", "predicted"]

#: Codes of the visible fields of one event.
Row = tuple[int, ...]


class Visible:
    """The visible fields of a schema.

    Parameters
    ----------
    schema
        Schema of the events.
    fields
        The visible fields.
    """

    def __init__(self, schema: Schema, fields: Sequence[str]):
        self.columns = [schema.index[name] for name in fields]
        self._domains = [schema.fields[at] for at in self.columns]

    def rows(self, events: EventTable) -> list[Row]:
        """The visible codes of each event."""
        return [tuple(row) for row in events.codes[:, self.columns].tolist()]

    def distinct(self, events: EventTable) -> tuple[list[Row], npt.NDArray[np.intp]]:
        """The distinct rows in ascending order, and for each event the place of its row."""
        found, place = np.unique(events.codes[:, self.columns], axis=0, return_inverse=True)
        return [tuple(row) for row in found.tolist()], place.ravel()

    def event(self, row: Row) -> dict[str, str]:
        """Field -> value, the visible fields alone."""
        return {
            domain.name: domain.values[code]
            for domain, code in zip(self._domains, row, strict=True)
        }

    def text(self, row: Row) -> str:
        """The event in one line, as an embedder reads it."""
        return ", ".join(f"{name}: {value}" for name, value in self.event(row).items())


def judge_each(
    judge: ModelJudge,
    events: Sequence[dict[str, str]],
    unit: Unit,
    concurrency: int,
    policy: Policy | None = None,
) -> list[Judgement]:
    """Ask about each event, several at a time; raises what `ModelJudge.judge` raises.

    What is on its way when one question fails is waited for, so that its answer is kept.
    """
    if not events:
        return []
    with ThreadPoolExecutor(concurrency) as pool:
        return list(pool.map(lambda event: judge.judge(event, unit, policy), events))


def predicted(found: Sequence[Judgement], place: npt.NDArray[np.intp]) -> Prediction:
    """Judgements of distinct events as a prediction for the batch that they came from."""
    labels: Codes = np.array([LABELS[each.decision] for each in found], dtype=np.int8)
    return Prediction(labels[place], np.array([each.confidence for each in found])[place])
