"""AGrail as a baseline: event by event, each of which may change the memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from vepa.bench.baselines.asked.agrail.memory import Check, Key, Memory
from vepa.bench.baselines.asked.agrail.steps import (
    CATEGORIES,
    AGrailPrompts,
    Questions,
    named_checks,
)
from vepa.bench.baselines.asked.agrail.tools import value_in
from vepa.bench.baselines.asked.rows import Visible
from vepa.bench.baselines.base import Prediction, constant
from vepa.corpus.events import LABELS, EventTable
from vepa.errors import ModelError, SettingError, Where
from vepa.llm.embedding import Embedder
from vepa.llm.messages import Model, ModelRequest
from vepa.policy.event import Unit
from vepa.policy.rule import RuleDecision
from vepa.policy.schema import Schema

__all__ = ["NEAR", "AGrail", "Verdict"]

#: Above this cosine, an event is one that the memory has.
NEAR = 0.80
Event = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was said about one event.

    Attributes
    ----------
    decision
        `refuse` when a kept check is false, or an answer could not be read.
    confidence
        (1 + agreeing checks) / (2 + kept checks), where those agree that are judged as the decision
        says: false ones with `refuse`, true ones with `allow`. So one false check among many is a
        weak refusal, and nothing kept is 1/2. 0 where an answer could not be read.
    outcome
        `decided`; `unchecked`, when no check was kept; or the question that was `declined` or whose
        answer was `malformed`: `key_malformed`, `analyse_declined`, …
    choice
        What the analyser did: `add`, `revise`, `new`.
    in_memory
        Whether the memory had the case.
    retrieved
        The key that was retrieved.
    checks
        Kept check -> whether it is true.
    deleted
        How many checks were deleted.
    failed_tools
        How many look-ups named values that a field cannot have; those checks count as false.
    """

    decision: RuleDecision
    confidence: float
    outcome: str = "decided"
    choice: Literal["add", "revise", "new"] | None = None
    in_memory: bool = False
    retrieved: Key | None = None
    checks: tuple[tuple[Check, bool], ...] = ()
    deleted: int = 0
    failed_tools: int = 0


class _Unread(Exception):  # noqa: N818 - what an answer is
    """An answer that says nothing; the text is the outcome."""


class AGrail:
    """Three questions an event, and a memory that it changes; no label is ever looked at.

    Parameters
    ----------
    schema
        Schema of the events.
    fields
        The visible fields; no other is shown.
    model
        Who is asked.
    embedder
        Who turns keys and summaries into vectors.
    prompts
        What is asked.
    concurrency
        Not used: each event may change what the next one is held against.
    categories
        Category -> definition; the three of the original by default.
    memory
        What an earlier run learned; empty without it. Its categories are taken.

    Attributes
    ----------
    memory
        All entries so far.
    counts
        Events by outcome, and `in_memory`, `deleted` and `failed_tools`.
    last
        The verdicts of the last batch.

    Raises
    ------
    SettingError
        When there are no fields or no categories, or those of the memory are others.
    """

    def __init__(
        self,
        schema: Schema,
        fields: Sequence[str],
        model: Model,
        embedder: Embedder,
        prompts: AGrailPrompts,
        concurrency: int = 1,  # noqa: ARG002 - the same call as for the other baselines
        *,
        categories: Mapping[str, str] | None = None,
        memory: Memory | None = None,
    ):
        self._model = model
        self._visible = Visible(schema, fields)
        self._domains = {name: schema.fields[schema.index[name]].values for name in fields}
        if memory is not None and categories not in (None, memory.categories):
            raise SettingError(
                "a memory of other categories",
                where=Where(field="categories"),
                remedy="leave the categories out, or start with an empty memory",
            )
        chosen = memory.categories if memory else CATEGORIES if categories is None else categories
        self._questions = Questions(prompts, chosen, self._domains)
        self.memory = memory.copy() if memory else Memory(embedder, chosen)
        self.counts: Counter[str] = Counter()
        self.last: tuple[Verdict, ...] = ()

    def learn(self, events: EventTable) -> None:
        """Nothing: it adapts to what it sees, without feedback."""

    def predict(self, events: EventTable) -> Prediction:
        """Verdicts for a batch, one event after the other, in their order.

        Raises
        ------
        ModelError, BudgetError, SettingError
            When no answer came. The memory is then as it was before the batch, so that the batch
            can be asked again.
        """
        before = self.memory.copy()
        try:
            rows = self._visible.rows(events)
            said = [self.judge(self._visible.event(row), events.unit) for row in rows]
        except BaseException:
            self.memory = before
            raise
        self.last = tuple(said)
        for verdict in said:
            self._count(verdict)
        if not said:
            return constant(0)
        labels = np.array([LABELS[verdict.decision] for verdict in said], dtype=np.int8)
        return Prediction(labels, np.array([verdict.confidence for verdict in said]))

    def judge(self, event: Event, unit: Unit = "trajectory") -> Verdict:
        """Steps 1 to 8 for one event; the memory may be another afterwards.

        Raises
        ------
        ModelError, BudgetError, SettingError
            When no answer came; the memory is unchanged.
        """
        try:
            return self._judged(event, unit)
        except _Unread as unread:
            return Verdict("refuse", 0.0, outcome=str(unread))

    def _judged(self, event: Event, unit: Unit) -> Verdict:
        said = self._ask(self._questions.key(event, unit), "key")
        key = Key(_words(said, "sentence", "key"), _words(said, "command", "key"))
        vectors = self.memory.vectors(key)
        retrieved = self.memory.nearest(vectors)
        said = self._ask(self._questions.analyse(event, unit, retrieved), "analyse")
        summary = _words(said, "summary", "analyse")
        in_memory = retrieved is not None and (
            self.memory.likeness(retrieved, summary) > NEAR or said["in_memory"]
        )
        checks = named_checks(said["checks"])
        if retrieved is not None and said["choice"] == "add":  # whether or not it repeats them
            known = {(check.category, check.name): check for check in retrieved.checks}
            checks = {**known, **checks}
        kept, deleted, failed = self._executed(event, unit, list(checks.values()))
        under = retrieved.key if retrieved is not None and in_memory else key
        self.memory.write(under, [check for check, _ in kept], vectors)
        decision, sure = _decided([true for _, true in kept])
        return Verdict(
            decision,
            sure,
            outcome="decided" if kept else "unchecked",
            choice=said["choice"],
            in_memory=in_memory,
            retrieved=retrieved.key if retrieved else None,
            checks=tuple(kept),
            deleted=deleted,
            failed_tools=failed,
        )

    def _executed(
        self, event: Event, unit: Unit, checks: Sequence[Check]
    ) -> tuple[list[tuple[Check, bool]], int, int]:
        """Kept checks with what they say, how many were deleted, and how many look-ups failed."""
        if not checks:
            return [], 0, 0
        numbered = {f"c{number}": check for number, check in enumerate(checks, 1)}
        said = self._ask(self._questions.execute(event, unit, numbered), "execute")
        kept: list[tuple[Check, bool]] = []
        deleted = failed = 0
        for number, check in numbered.items():
            done = said[number]
            if done["do"] == "delete":
                deleted += 1
            elif done["do"] == "tool":
                found = value_in(event, self._domains, done["field"], done["values"])
                failed += found is None
                kept.append((check, bool(found)))
            else:
                kept.append((check, done["do"] == "true"))
        return kept, deleted, failed

    def _ask(self, request: ModelRequest, step: str) -> Any:
        """The data of an answer."""
        try:
            reply = self._model.ask(request)
        except ModelError as error:
            if error.kind != "malformed":
                raise
            raise _Unread(f"{step}_malformed") from None
        if reply.data is None:
            raise _Unread(f"{step}_declined")
        return reply.data

    def _count(self, verdict: Verdict) -> None:
        self.counts[verdict.outcome] += 1
        self.counts["in_memory"] += verdict.in_memory
        self.counts["deleted"] += verdict.deleted
        self.counts["failed_tools"] += verdict.failed_tools


def _words(said: Mapping[str, Any], name: str, step: str) -> str:
    """A text in one line; a blank one says nothing, and could not be found again."""
    text = " ".join(str(said[name]).split())
    if not text:
        raise _Unread(f"{step}_malformed")
    return text


def _decided(judged: Sequence[bool]) -> tuple[RuleDecision, float]:
    decision: RuleDecision = "allow" if all(judged) else "refuse"
    agree = sum(true == (decision == "allow") for true in judged)
    return decision, (1 + agree) / (2 + len(judged))
