"""What lies in folders of episodes, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from vepa.collect.episodes.shelf import on_shelf
from vepa.collect.episodes.subject import subject_of
from vepa.collect.parts import TRIGGERS
from vepa.corpus.episode import Ending, read_episode
from vepa.errors import InputError, SettingError, Where
from vepa.policy.schema import nearest
from vepa.viewer.judging import Judge
from vepa.viewer.rows import row_of
from vepa.viewer.view import Subject

__all__ = ["Episodes", "check_words", "episode_row_of"]

_ENDINGS: tuple[str, ...] = get_args(Ending.model_fields["reason"].annotation)


class Episodes:
    """The episodes in some folders, read one at a time; iterate over it once.

    Attributes
    ----------
    broken
        What is wrong with files that hold none, so far.
    """

    def __init__(self, folders: Sequence[Path]):
        self.folders = folders
        self.broken: list[str] = []

    def __iter__(self) -> Iterator[Subject]:
        for kept in on_shelf(self.folders):
            try:
                episode = read_episode(kept.path)
            except InputError as error:
                self.broken.append(str(error))
                continue
            yield subject_of(episode, str(kept.path))


def check_words(tripped: str | None, ending: str | None) -> None:
    """Hold the words of filters against what an episode can be; raises `SettingError`."""
    _check("tripped", tripped, TRIGGERS, "triggers")
    _check("ending", ending, _ENDINGS, "endings")


def _check(option: str, word: str | None, words: Sequence[str], kind: str) -> None:
    if word is not None and word not in words:
        raise SettingError(
            f"{word!r} is none of the {kind}",
            where=Where(field=f"--{option}"),
            remedy=nearest(word, words, kind),
        )


def episode_row_of(subject: Subject, judge: Judge) -> dict[str, Any]:
    """An episode in one line of a list, for machines."""
    return row_of(subject, judge) | {
        "scripted": subject.about["scripted"],
        "file": subject.file,
    }
