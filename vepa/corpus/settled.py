"""Settled labels: the one judgement of a step that a corpus is released with, and how it came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from vepa.corpus.labels import Judgement, Origin
from vepa.corpus.lines import stream_records, write_records

__all__ = ["SettledLabel", "stream_settled", "write_settled_labels"]

#: Version of the records; a reader refuses any other.
SCHEMA_VERSION = 1
_SHAPE = (
    'a settled label is {"schema_version": 1, "trajectory", "step", "item", "how", "origin", '
    '"by", "taxonomy", "judgement": {…}, …}'
)


class SettledLabel(BaseModel):
    """What stands about one step.

    Attributes
    ----------
    trajectory, step, item
        As in `Label`.
    how
        Both annotators said it; or they did not, and the arbiter (a model) or a person settled it.
    origin
        Of the weakest reader that it rests on: `scripted`, `recorded`, `model`, `person`.
    by
        Names of the readers that it rests on; the first one's words are `judgement`.
    taxonomy
        `ID/VERSION`.
    judgement
        As one reader gave it, whole: of two who agree, the more confident one, the first on a tie.
    differs
        What readers who agree on the decision and the set of triggers said differently: `primary`,
        `risk_source`, `harm`, `severity`.
    at, note
        Of a person or an arbiter.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    schema_version: Literal[1] = 1
    trajectory: str
    step: int = Field(ge=0)
    item: str
    how: Literal["agreed", "arbiter", "person"]
    origin: Origin
    by: list[str] = Field(min_length=1)
    taxonomy: str
    judgement: Judgement
    differs: list[str] = []
    at: str | None = None
    note: str | None = None


def stream_settled(path: str | Path) -> Iterator[SettledLabel]:
    """Stream the settled labels of a JSON Lines file (`-` is standard input).

    Raises
    ------
    InputError
        At the first line that is no such record, with file, line, field and remedy.
    """
    yield from stream_records(path, SettledLabel, SCHEMA_VERSION, _SHAPE)


def write_settled_labels(path: str | Path, labels: Iterable[SettledLabel]) -> int:
    """Write settled labels as JSON Lines, atomically; returns how many.

    Raises
    ------
    SettingError
        When the file cannot be written.
    """
    return write_records(path, labels)
