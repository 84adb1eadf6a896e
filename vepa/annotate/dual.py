"""Dual annotation: every step of a corpus judged by two readers who know nothing of each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vepa.annotate.asking import Annotator, Failure, Judged
from vepa.annotate.items import StepItem, items_of
from vepa.annotate.journal import LabelJournal
from vepa.corpus.labels import Label
from vepa.corpus.trajectory import Trajectory
from vepa.files import canonical_json, sha256_of, write_atomic

__all__ = ["DualAnnotation", "Outcome", "how_of"]


@dataclass(frozen=True)
class Outcome:
    """What came of an annotation.

    Attributes
    ----------
    labels, failures
        Of every step and reader, steps with the same content told apart.
    asked
        Judgements that were asked for now; the others were there.
    items, steps
        Distinct contents, and steps.
    """

    labels: Sequence[Label]
    failures: Sequence[Failure]
    asked: int
    items: int
    steps: int

    def figures(self) -> dict[str, Any]:
        """For a report."""
        origins = Counter(label.origin for label in self.labels)
        return {
            "steps": self.steps,
            "items": self.items,
            "asked": self.asked,
            "labels": len(self.labels),
            "failures": len(self.failures),
            "origins": dict(sorted(origins.items())),
        }


@dataclass
class DualAnnotation:
    """Readers, and where their judgements are kept.

    Attributes
    ----------
    readers
        Annotators with open models.
    folder
        `judged/SEAT.jsonl` a reader, `labels.jsonl` and `failures.jsonl` of all.
    workers
        Requests at once, a reader.
    """

    readers: Sequence[Annotator]
    folder: Path
    workers: int = 8
    _journals: dict[str, LabelJournal] = field(default_factory=dict)

    def run(
        self,
        trajectories: Iterable[Trajectory],
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Outcome:
        """Judge what has not been judged, and write the labels of all steps.

        Parameters
        ----------
        trajectories
            All of the corpus.
        progress
            Told after each judgement: the reader, how many of its items are done, how many there
            are.

        Raises
        ------
        BudgetError
            When a budget is used up; what was judged is kept, and a later run goes on.
        ModelError
            `refused_key`.
        """
        steps = [item for trajectory in trajectories for item in items_of(trajectory)]
        distinct: dict[str, StepItem] = {}
        for item in steps:
            distinct.setdefault(item.hash, item)
        asked = 0
        with ExitStack() as stack:
            for reader in self.readers:
                path = self.folder / "judged" / f"{reader.seat.name}.jsonl"
                journal = stack.enter_context(LabelJournal(path, how_of(reader)))
                self._journals[reader.seat.name] = journal
            for reader in self.readers:
                asked += self._judge(reader, list(distinct.values()), progress)
            return self._written(steps, asked, len(distinct))

    def _judge(
        self,
        reader: Annotator,
        items: Sequence[StepItem],
        progress: Callable[[str, int, int], None] | None,
    ) -> int:
        journal = self._journals[reader.seat.name]
        open_items = [item for item in items if journal.get(item.hash) is None]
        done = len(items) - len(open_items)
        for _ in reader.judge_many(open_items, workers=self.workers, keep=journal.add):
            done += 1
            if progress is not None:
                progress(reader.seat.name, done, len(items))
        return len(open_items)

    def _written(self, steps: Sequence[StepItem], asked: int, items: int) -> Outcome:
        labels: list[Label] = []
        failures: list[Failure] = []
        for item in steps:
            for reader in self.readers:
                judged = self._journals[reader.seat.name].get(item.hash)
                if judged is None:
                    continue
                own = _at(judged, item)
                if isinstance(own, Label):
                    labels.append(own)
                else:
                    failures.append(own)
        write_atomic(self.folder / "labels.jsonl", _lines(labels))
        write_atomic(self.folder / "failures.jsonl", _lines(failures))
        return Outcome(labels, failures, asked, items, len(steps))


def how_of(reader: Annotator) -> str:
    """What a judgement depends on beside the step."""
    seat = reader.seat
    return sha256_of(
        canonical_json(
            {
                "rules": reader.rules.sha256,
                "prompt": reader.prompt.sha256,
                "model": seat.model,
                "otherwise": seat.otherwise,
                "settings": seat.settings.model_dump(mode="json"),
                "tokens": reader.tokens,
            }
        )
    )


def _at(judged: Judged, item: StepItem) -> Judged:
    """The judgement of a content, at one of the steps that have it."""
    return judged.model_copy(update={"trajectory": item.trajectory, "step": item.step})


def _lines(records: Iterable[Judged]) -> str:
    return "".join(record.model_dump_json(exclude_none=True) + "\n" for record in records)
