"""The LiSA-style baseline on a stream; the package's docstring numbers its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from vepa.bench.baselines.asked.lisa.constants import GROUPED, REFRESH, WRITTEN
from vepa.bench.baselines.asked.lisa.grouping import average_linkage
from vepa.bench.baselines.asked.lisa.memory import (
    Broad,
    Found,
    Group,
    Local,
    Memory,
    Report,
    Written,
)
from vepa.bench.baselines.asked.lisa.writing import write_policy
from vepa.bench.baselines.asked.rows import Row, Visible, judge_each
from vepa.bench.baselines.base import Codes, Floats, Prediction, constant
from vepa.corpus.events import LABELS, EventTable
from vepa.guard.fallback import ModelJudge
from vepa.llm.messages import Model
from vepa.llm.prompts import Prompt
from vepa.policy.event import Unit
from vepa.policy.matching import REFUSE
from vepa.policy.schema import Schema

if TYPE_CHECKING:
    from vepa.llm.embedding import Embedder

__all__ = ["LiSA"]


class LiSA:
    """A fixed guard with a memory of its failures (LiSA-style).

    Parameters
    ----------
    schema
        Schema of the events.
    fields
        The visible fields; no other is shown.
    judge
        The base guard.
    model, prompt
        Who writes broad policies, and the prompt `lisa-policy`.
    embedder
        Who says what is alike.
    concurrency
        Questions at a time.

    Attributes
    ----------
    memory
        What it remembers; `to_dict` shows it.
    """

    def __init__(
        self,
        schema: Schema,
        fields: Sequence[str],
        *,
        judge: ModelJudge,
        model: Model,
        prompt: Prompt,
        embedder: Embedder,
        concurrency: int = 4,
    ):
        self.visible = Visible(schema, fields)
        self.memory = Memory()
        self._judge, self._model, self._prompt = judge, model, prompt
        self._embedder, self._concurrency = embedder, concurrency
        self._base: dict[Row, Found] = {}
        self._vectors: dict[str, Floats] = {}
        self._feedback: Counter[Report] = Counter()
        self._waiting = 0  # reports since the last refresh
        self._ids = 0

    def predict(self, events: EventTable) -> Prediction:
        """Standing decisions for a batch (steps 1 and 2).

        Raises
        ------
        ModelError, BudgetError, SettingError
            When model or embedder gave no answer.
        """
        if not len(events):
            return constant(0)
        rows, place = self.visible.distinct(events)
        found = self._decide(rows, events.unit)
        labels: Codes = np.array([each.label for each in found], dtype=np.int8)
        return Prediction(labels[place], np.array([each.confidence for each in found])[place])

    def learn(self, events: EventTable) -> None:
        """Reports, evidence, a refresh when due (steps 3 to 9); raises what `predict` does."""
        if not len(events):
            return
        rows = self.visible.rows(events)
        distinct = sorted(set(rows))
        standing = dict(zip(distinct, self._decide(distinct, events.unit), strict=True))
        told = [Report(row, label) for row, label in zip(rows, events.labels.tolist(), strict=True)]
        failed = [each for each in told if standing[each.row].label != each.label]
        self._feedback.update(told)
        self.memory.reports += failed
        self._waiting += len(failed)
        if self._waiting >= REFRESH:
            self._refresh(events.unit)
            self._waiting = 0
        self._count()

    def to_dict(self) -> dict[str, Any]:
        """The memory as JSON data: reports, groups, policies and rules with their evidence."""
        rows = sorted({each.row for each in self.memory.reports})
        places = {row: at for at, row in enumerate(rows)}
        return self.memory.to_dict([self.visible.event(row) for row in rows], places)

    def _decide(self, rows: Sequence[Row], unit: Unit) -> list[Found]:
        remembered: list[Found | None] = [None] * len(rows)
        if not self.memory.empty:
            remembered = self.memory.find(self._embed(rows))
        asked = [
            row
            for row, found in zip(rows, remembered, strict=True)
            if found is None and row not in self._base
        ]
        events = [self.visible.event(row) for row in asked]
        judged = judge_each(self._judge, events, unit, self._concurrency)
        for row, said in zip(asked, judged, strict=True):
            self._base[row] = Found(LABELS[said.decision], said.confidence, "base")
        return [found or self._base[row] for row, found in zip(rows, remembered, strict=True)]

    def _count(self) -> None:
        if self.memory.empty:
            return
        told = sorted(self._feedback)
        self.memory.count(
            self._embed([each.row for each in told]),
            np.array([each.label for each in told], dtype=np.int8),
            np.array([self._feedback[each] for each in told], dtype=np.float64),
        )

    def _refresh(self, unit: Unit) -> None:
        memory = self.memory
        rows = sorted({each.row for each in memory.reports})
        vectors = self._embed(rows)
        grouped = average_linkage(vectors, GROUPED)
        memory.groups, memory.local = [], []
        written: list[tuple[int, tuple[Row, ...]]] = []
        for number, members in enumerate(grouped):
            group = self._group({rows[at] for at in members})
            memory.groups.append(group)
            if group.kind == "mixed":
                memory.local += self._sides(group, number)
            elif group.kind == "one-label":
                label = memory.reports[group.reports[0]].label
                written.append((label, self._cases(group, label)))
        self._write(written, unit)
        memory.refreshes += 1

    def _group(self, rows: set[Row]) -> Group:
        places = tuple(at for at, each in enumerate(self.memory.reports) if each.row in rows)
        labels = {self.memory.reports[at].label for at in places}
        if len(labels) > 1:
            return Group(places, "mixed")
        return Group(places, "lone" if len(places) == 1 else "one-label")

    def _cases(self, group: Group, label: int) -> tuple[Row, ...]:
        """The distinct events that a group reports with a label, the most frequent first."""
        reports = (self.memory.reports[at] for at in group.reports)
        counts = Counter(each.row for each in reports if each.label == label)
        return tuple(sorted(counts, key=lambda row: (-counts[row], row)))

    def _sides(self, group: Group, number: int) -> list[Local]:
        sides = []
        for label in sorted({self.memory.reports[at].label for at in group.reports}):
            rows = self._cases(group, label)
            made = Local(self._name("l"), label, group=number, rows=rows, cases=self._embed(rows))
            sides.append(made)
        return sides

    def _write(self, groups: list[tuple[int, tuple[Row, ...]]], unit: Unit) -> None:
        """A broad policy for every group; the model is asked about those that it does not know."""
        memory = self.memory
        # Order of cases follows counts, which grow; a group is the same while its events are.
        known = {(label, tuple(sorted(rows))): rows for label, rows in groups}
        new = [key for key in known if key not in memory.written]
        new = sorted(new, key=lambda key: (-len(key[1]), key))[:WRITTEN]

        def write(key: tuple[int, tuple[Row, ...]]) -> Written:
            events = [self.visible.event(row) for row in known[key]]
            decision = "refuse" if key[0] == REFUSE else "allow"
            return write_policy(self._model, self._prompt, decision, events, unit)

        if new:
            with ThreadPoolExecutor(self._concurrency) as pool:
                memory.written.update(zip(new, pool.map(write, new), strict=True))
        before = {(each.label, each.title, each.description): each.id for each in memory.broad}
        memory.broad = []
        for key in known:
            said = memory.written.get(key)
            if said is not None and said.title:
                name = before.get((key[0], said.title, said.description)) or self._name("b")
                memory.broad.append(self._broad(name, key, said.title, said.description))

    def _broad(
        self, name: str, key: tuple[int, tuple[Row, ...]], title: str, description: str
    ) -> Broad:
        label, rows = key
        words = self._vectors_of([f"{title}. {description}"])[0]
        reach = float((self._embed(rows) @ words).min())
        return Broad(name, label, title=title, description=description, key=words, reach=reach)

    def _name(self, kind: str) -> str:
        self._ids += 1
        return f"{kind}{self._ids}"

    def _embed(self, rows: Sequence[Row]) -> Floats:
        return self._vectors_of([self.visible.text(row) for row in rows])

    def _vectors_of(self, texts: Sequence[str]) -> Floats:
        new = sorted({text for text in texts if text not in self._vectors})
        if new:
            self._vectors.update(zip(new, self._embedder.embed(new), strict=True))
        return np.array([self._vectors[text] for text in texts])
