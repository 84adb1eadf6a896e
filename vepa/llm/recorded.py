"""Replays recorded answers; what was not recorded is never made up."""

from __future__ import annotations

import re
from pathlib import Path

from vepa.errors import ModelError, SettingError
from vepa.llm.messages import ModelReply, ModelRequest, Usage
from vepa.llm.recording import Recording, key_of
from vepa.llm.shapes import read_structured
from vepa.llm.tally import Backend, Tally

__all__ = ["RecordedModel", "folder_of"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class RecordedModel:
    """A folder of recorded answers behind the interface of a model.

    Parameters
    ----------
    name
        `recorded/NAME`.
    recording
        Its answers.
    otherwise
        Who answers what was not recorded; None makes that an error.
    """

    def __init__(self, name: str, recording: Recording, otherwise: Backend | None = None):
        self.name = name
        self._recording = recording
        self._otherwise = otherwise

    def answer(self, request: ModelRequest, tally: Tally) -> ModelReply:
        """The recorded answer, checked against the request's shape like any other.

        Raises
        ------
        ModelError
            `not_recorded`, or `malformed`.
        """
        tally.source = "recorded"
        found = None if request.item is None else self._recording.get(request.item)
        if found is None:
            if self._otherwise is not None:
                return self._otherwise.answer(request, tally)
            raise self._missing(request)
        data = None
        if request.shape is not None and found.finish != "declined" and not found.message.calls:
            data = read_structured(found.message.content, request.shape, self.name)
        return ModelReply(
            message=found.message,
            finish=found.finish,
            model=self._recording.manifest.model,
            source="recorded",
            data=data,
            usage=Usage(),
        )

    def _missing(self, request: ModelRequest) -> ModelError:
        if request.item is None:
            return ModelError(
                f"{self.name}: the request does not say which item it is about, and recorded "
                "answers are found by it",
                "not_recorded",
            )
        content, template, major, _ = key_of(request.item)
        return ModelError(
            f"{self.name}: no answer is recorded for hash {content}, template {template!r}, "
            f"version {major}.x (in {self._recording.folder}). Ask a real model and keep its "
            "answer with vepa.llm.Recording (docs/models.md), or name a model that answers what "
            "is missing (`otherwise`; of `vepa parse`: --otherwise MODEL)",
            "not_recorded",
        )


def folder_of(name: str, recorded: Path | None) -> Path:
    """Where `recorded/NAME` lies: below `recorded`, or below the project's `data/recorded`.

    Raises
    ------
    SettingError
        When there is no such recording.
    """
    from vepa.project import Project

    rest = name.partition("/")[2]
    if not _NAME.fullmatch(rest):
        raise SettingError(
            f"{name!r} names no recording", remedy="letters, digits, `.`, `_` and `-`"
        )
    roots = (
        [recorded] if recorded is not None else [p / "data/recorded" for p in Project().candidates]
    )
    for root in roots:
        if (root / rest / "manifest.yaml").is_file():
            return root / rest
    known = sorted({p.parent.name for root in roots for p in root.glob("*/manifest.yaml")})
    raise SettingError(
        f"{name}: no such recording; looked in {', '.join(map(str, roots))}",
        remedy=f"found there: {', '.join(known)}"
        if known
        else "none is there; docs/models.md says how one is made",
    )
