"""Dual annotation: every step of a corpus judged by two readers who know nothing of each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from vepa.annotate.asking import Annotator, Failure, Judged
from vepa.annotate.items import StepItem, items_of
from vepa.annotate.journal import LabelJournal
from vepa.corpus.labels import Label
from vepa.corpus.trajectory import Trajectory
from vepa.files import canonical_json, sha256_of, write_atomic

__all__ = ["DualAnnotation", "Outcome", "annotate", "how_of"]


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


class DualAnnotation:
    """Readers, and where their judgements are kept; a context manager that holds their journals.

    Parameters
    ----------
    readers
        Annotators with open models.
    folder
        `judged/SEAT.jsonl` a reader, `labels.jsonl` and `failures.jsonl` of all.
    trajectories
        All of the corpus.
    workers
        Requests at once, a reader.

    Raises
    ------
    SettingError
        When another process writes judgements there.
    """

    def __init__(
        self,
        readers: Sequence[Annotator],
        folder: Path,
        trajectories: Iterable[Trajectory],
        workers: int = 8,
    ):
        self.readers = {reader.seat.name: reader for reader in readers}
        self.folder, self.workers = folder, workers
        self.steps = [item for trajectory in trajectories for item in items_of(trajectory)]
        distinct: dict[str, StepItem] = {}
        for item in self.steps:
            distinct.setdefault(item.hash, item)
        self.items = list(distinct.values())
        self._journals: dict[str, LabelJournal] = {}
        self._held = ExitStack()

    def __enter__(self) -> DualAnnotation:
        with ExitStack() as stack:
            for name, reader in self.readers.items():
                path = self.folder / "judged" / f"{name}.jsonl"
                self._journals[name] = stack.enter_context(LabelJournal(path, how_of(reader)))
            self._held = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._held.close()

    def left(self, name: str) -> list[StepItem]:
        """Contents that a reader has not judged."""
        journal = self._journals[name]
        return [item for item in self.items if journal.get(item.hash) is None]

    def judge(self, name: str, progress: Callable[[str, int, int], None] | None = None) -> int:
        """Let one reader judge what it has not judged; returns how many were asked for.

        Parameters
        ----------
        name
            Of its seat. Readers may judge at the same time, in threads.
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
        left = self.left(name)
        done = len(self.items) - len(left)
        keep = self._journals[name].add
        for _ in self.readers[name].judge_many(left, workers=self.workers, keep=keep):
            done += 1
            if progress is not None:
                progress(name, done, len(self.items))
        return len(left)

    def keep(self, name: str, judged: Judged) -> None:
        """Keep what a reader said that was asked in another way; see `LabelJournal.add`."""
        self._journals[name].add(judged)

    def run(self, progress: Callable[[str, int, int], None] | None = None) -> Outcome:
        """Let every reader judge, one after the other, and write the labels; raises as `judge`."""
        asked = sum(self.judge(name, progress) for name in self.readers)
        return self.write(asked)

    def write(self, asked: int = 0) -> Outcome:
        """Write the labels and failures of all steps.

        Parameters
        ----------
        asked
            What was asked for now.
        """
        labels: list[Label] = []
        failures: list[Failure] = []
        for item in self.steps:
            for journal in self._journals.values():
                judged = journal.get(item.hash)
                if judged is None:
                    continue
                own = _at(judged, item)
                if isinstance(own, Label):
                    labels.append(own)
                else:
                    failures.append(own)
        write_atomic(self.folder / "labels.jsonl", _lines(labels))
        write_atomic(self.folder / "failures.jsonl", _lines(failures))
        return Outcome(labels, failures, asked, len(self.items), len(self.steps))


def annotate(
    readers: Sequence[Annotator],
    folder: Path,
    trajectories: Iterable[Trajectory],
    *,
    workers: int = 8,
    progress: Callable[[str, int, int], None] | None = None,
) -> Outcome:
    """Judge what has not been judged, and write the labels of all steps; see `DualAnnotation`."""
    with DualAnnotation(readers, folder, trajectories, workers) as annotation:
        return annotation.run(progress)


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
