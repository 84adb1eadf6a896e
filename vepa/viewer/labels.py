"""Labels from files, put to the trajectories and steps that they are about."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from vepa.corpus.labels import Judgement, Label, stream_labels
from vepa.corpus.settled import SettledLabel, stream_settled
from vepa.errors import InputError
from vepa.files import read_lines
from vepa.viewer.view import Label as Said
from vepa.viewer.view import Subject

__all__ = ["LabelBook"]


class LabelBook:
    """Labels by their trajectory; all of them are held in memory.

    Parameters
    ----------
    labels
        Of annotators, or what stands about steps.
    """

    def __init__(self, labels: Iterable[Label | SettledLabel]):
        self._of: dict[str, list[Said]] = {}
        self._used: set[str] = set()
        for label in labels:
            self._of.setdefault(label.trajectory, []).append(_said(label))

    @classmethod
    def read(cls, paths: Sequence[Path]) -> LabelBook:
        """The labels of some files: `labels.jsonl` and `settled.jsonl` of an annotation.

        Raises
        ------
        InputError
            At the first line that holds none, with file, line and field; for standard input, which
            cannot be read twice.
        """
        if any(str(path) == "-" for path in paths):
            raise InputError("labels are not read from standard input", remedy="name their file")
        return cls(label for path in paths for label in _stream(path))

    def put_to(self, subject: Subject) -> Subject:
        """The subject with what the files say about it beside its own labels."""
        found = self._of.get(subject.trajectory.id)
        if found is None:
            return subject
        self._used.add(subject.trajectory.id)
        return replace(subject, labels=[*subject.labels, *found])

    @property
    def unused(self) -> int:
        """Labels of trajectories that were not asked for yet."""
        return sum(len(found) for owner, found in self._of.items() if owner not in self._used)


def _stream(path: Path) -> Iterator[Label | SettledLabel]:
    """Which of the two a file holds shows in its first line."""
    if _is_settled(path):
        yield from stream_settled(path)
    else:
        yield from stream_labels(path)


def _is_settled(path: Path) -> bool:
    for _, text in read_lines(path):
        try:
            first = json.loads(text)
        except ValueError:
            return False  # told with its place by whoever reads it
        return isinstance(first, dict) and "how" in first
    return False


def _said(label: Label | SettledLabel) -> Said:
    by = label.annotator if isinstance(label, Label) else f"settled ({label.how})"
    if label.origin == "scripted":
        by = f"{by}, a script"
    judgement = label.judgement
    value = ": ".join(filter(None, [judgement.decision, ", ".join(judgement.triggers)]))
    return Said(by, value, label.step, None, _note(judgement, label.note))


def _note(judgement: Judgement, note: str | None) -> str:
    companions = [judgement.risk_source, judgement.harm, judgement.severity]
    quotes = [f"“{each.quote}” (step {each.step})" for each in judgement.evidence]
    parts = [judgement.rationale, note, ", ".join(filter(None, companions)), "; ".join(quotes)]
    return " · ".join(filter(None, parts))
