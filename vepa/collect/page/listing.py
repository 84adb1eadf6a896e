"""What lies in folders of episodes, one row an episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, get_args

from vepa.collect.page.shelf import on_shelf
from vepa.collect.parts import TRIGGERS
from vepa.corpus.episode import Ending, Episode, read_episode
from vepa.errors import InputError, SettingError, Where
from vepa.policy.schema import nearest

__all__ = ["Filters", "listed"]

_ENDINGS: tuple[str, ...] = get_args(Ending.model_fields["reason"].annotation)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which episodes are wanted; None: all.

    Attributes
    ----------
    task, model
        Patterns (`finance-*`, `scripted/*`).
    tripped
        A trigger that an unsafe check which holds names.
    ending
        How it ended.
    """

    task: str | None = None
    model: str | None = None
    tripped: str | None = None
    ending: str | None = None

    @classmethod
    def of(
        cls, task: str | None, model: str | None, tripped: str | None, ending: str | None
    ) -> Filters:
        """With the words checked; raises `SettingError`."""
        _check("tripped", tripped, TRIGGERS, "triggers")
        _check("ending", ending, _ENDINGS, "endings")
        return cls(task, model, tripped, ending)

    def take(self, episode: Episode) -> bool:
        """Whether an episode is wanted."""
        return (
            (self.task is None or fnmatchcase(episode.task, self.task))
            and (self.model is None or fnmatchcase(episode.model, self.model))
            and (self.tripped is None or self.tripped in episode.tripped)
            and (self.ending is None or self.ending == episode.ending.reason)
        )


def _check(option: str, word: str | None, words: Sequence[str], kind: str) -> None:
    if word is not None and word not in words:
        raise SettingError(
            f"{word!r} is none of the {kind}",
            where=Where(field=f"--{option}"),
            remedy=nearest(word, words, kind),
        )


def listed(
    folders: Sequence[Path], filters: Filters
) -> tuple[list[dict[str, Any]], list[InputError]]:
    """Rows of the episodes that are wanted, and what is wrong with files that hold none."""
    rows: list[dict[str, Any]] = []
    broken: list[InputError] = []
    for kept in on_shelf(folders):
        try:
            episode = read_episode(kept.path)
        except InputError as error:
            broken.append(error)
            continue
        if filters.take(episode):
            rows.append({**row_of(episode), "file": str(kept.path)})
    return rows, broken


def row_of(episode: Episode) -> dict[str, Any]:
    """An episode in one line of a list."""
    return {
        "id": episode.id,
        "task": episode.task,
        "model": episode.model,
        "ending": episode.ending.reason,
        "succeeded": episode.succeeded,
        "tripped": episode.tripped,
        "steps": episode.steps,
        "scripted": episode.scripted,
    }
