"""What a release is made of: the folder of a corpus whose labels are settled."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from vepa.corpus.episode import Episode, stream_episodes
from vepa.corpus.labels import Label, stream_labels
from vepa.corpus.settled import SettledLabel, stream_settled
from vepa.errors import InputError, Where
from vepa.files import read_text, sha256_of

__all__ = ["CorpusSource"]


@dataclass(frozen=True)
class CorpusSource:
    """A corpus on disk; episodes are read one at a time.

    Attributes
    ----------
    name
        Of the corpus; the version begins with it.
    folder
        As `vepa run` leaves it: `episodes/`, and `labels/` where annotators judged it.
    planted
        Task -> texts that were planted for it; what shares one stays in one split.
    """

    name: str
    folder: Path
    planted: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def labels_folder(self) -> Path:
        """Where annotators' labels lie."""
        return self.folder / "labels"

    def episodes(self) -> Iterator[Episode]:
        """Every episode, in the order of their files.

        Raises
        ------
        InputError
            When there is none, or one cannot be read.
        """
        count = 0
        for episode in stream_episodes(self.folder / "episodes"):
            count += 1
            yield episode
        if not count:
            raise InputError(
                "there are no episodes",
                where=Where(str(self.folder)),
                remedy="`vepa run` collects a corpus; name its folder below artifacts/corpus",
            )

    def labels(self) -> Iterator[Label]:
        """What every annotator said."""
        path = self._labelled("labels.jsonl")
        yield from stream_labels(path)

    def verdicts(self) -> Iterator[Label]:
        """What arbiters and people said about disputes.

        A model's verdict has no moment: when it was asked is no part of what it said.
        """
        for label in self._given():
            yield label if label.origin == "person" else label.model_copy(update={"at": None})

    def settled(self) -> Iterator[SettledLabel]:
        """What stands about the steps."""
        for label in stream_settled(self._labelled("settled.jsonl")):
            yield label if label.how == "person" else label.model_copy(update={"at": None})

    @cached_property
    def annotation(self) -> dict[str, Any]:
        """Figures of the annotation: who judged by which rules, how far they agree.

        Raises
        ------
        InputError
            When the corpus is not annotated.
        """
        data: dict[str, Any] = json.loads(read_text(self._labelled("annotation.json")))
        return data

    def planted_hashes(self, task: str) -> list[str]:
        """SHA-256 of every text that was planted for a task, white space set aside, sorted."""
        texts = {" ".join(text.split()) for text in self.planted.get(task, ())}
        return sorted(sha256_of(text) for text in texts if text)

    def _given(self) -> Iterator[Label]:
        """Verdicts as `vepa.annotate` leaves them beside the labels."""
        path = self._labelled("verdicts.jsonl")
        yield from stream_labels(path)

    def _labelled(self, name: str) -> Path:
        path = self.labels_folder / name
        if not path.is_file():
            raise InputError(
                f"there is no {name}",
                where=Where(str(self.labels_folder)),
                remedy="only an annotated corpus is released: give the profile a block `annotate` "
                "and run `vepa run` again",
            )
        return path
