"""Judgements of steps, and labels: a judgement with who gave it, about what, by which rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from vepa.corpus.lines import stream_records, write_records
from vepa.corpus.taxonomy import Taxonomy
from vepa.errors import InputError, Where
from vepa.policy.schema import nearest

__all__ = [
    "Evidence",
    "Judgement",
    "Label",
    "Origin",
    "stream_labels",
    "write_labels",
]

#: Version of the records; a reader refuses any other.
SCHEMA_VERSION = 1
_SHAPE = (
    'a label is {"schema_version": 1, "trajectory", "step", "item", "annotator", "origin", '
    '"taxonomy", "judgement": {"decision", "triggers", …}, …}'
)

#: Who gave a label: a real model asked just now, a real model's stored answer, a script's stand-in,
#: a person, or an arbiter of one of these kinds.
Origin = Literal["model", "recorded", "scripted", "person"]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Evidence(_Record):
    """Words of the trace that a judgement rests on.

    Attributes
    ----------
    step
        Index of the step that they stand in.
    quote
        Exactly as they stand there.
    """

    step: int = Field(ge=0)
    quote: str = Field(min_length=1)


class Judgement(_Record):
    """What one reader says about one step.

    Attributes
    ----------
    decision
        Whether a guard should have stopped the step.
    triggers
        Keys of the taxonomy, the primary one first; empty for none.
    risk_source, harm
        One each where there is a trigger.
    severity
        Of the harm; None where there is none.
    evidence
        What it rests on.
    rationale
        Why, in a sentence or two.
    confidence
        From 0 (a guess) to 1 (certain).
    event
        Fields of the typed event as the reader sees them; evidence, never a feature.
    """

    decision: Literal["allow", "refuse"]
    triggers: list[str] = []
    risk_source: str | None = None
    harm: str | None = None
    severity: str | None = None
    evidence: list[Evidence] = []
    rationale: str = ""
    confidence: float = Field(ge=0, le=1, strict=False)
    event: dict[str, str] = {}

    @field_validator("triggers")
    @classmethod
    def _each_once(cls, triggers: list[str]) -> list[str]:
        if len(set(triggers)) != len(triggers):
            raise ValueError("a trigger is named twice")
        return triggers

    @model_validator(mode="after")
    def _explained(self) -> Judgement:
        if self.triggers and (self.risk_source is None or self.harm is None):
            raise ValueError("with a trigger belong a risk source and a harm")
        if not self.triggers and (self.risk_source or self.harm):
            raise ValueError("without a trigger there is no risk source and no harm")
        if (self.decision == "refuse") != bool(self.triggers) and not self.rationale.strip():
            raise ValueError("a decision that departs from the triggers says why in `rationale`")
        return self

    @property
    def primary(self) -> str | None:
        """The first trigger."""
        return self.triggers[0] if self.triggers else None

    def check_against(self, taxonomy: Taxonomy) -> None:
        """Hold every key against the taxonomy.

        Raises
        ------
        InputError
            With the field and the nearest keys.
        """
        for at, key in enumerate(self.triggers):
            _known(key, taxonomy.keys, f"triggers.{at}", "triggers")
        for field, known in (
            ("risk_source", taxonomy.risk_sources),
            ("harm", taxonomy.harms),
            ("severity", taxonomy.severities),
        ):
            value = getattr(self, field)
            if value is not None:
                _known(value, list(known), field, f"keys of {field}")


def _known(key: str, known: Iterable[str], field: str, what: str) -> None:
    known = list(known)
    if key not in known:
        raise InputError(
            f"{key!r} is not in the taxonomy",
            where=Where(field=field),
            remedy=nearest(key, known, what),
        )


class Label(_Record):
    """A judgement with its provenance.

    Attributes
    ----------
    schema_version
        Of this record.
    trajectory, step
        What it is about: id of the trajectory, index of the step.
    item
        Content hash of what was judged; steps with the same content have the same.
    annotator
        Name of the reader: of a panel's seat, or of a person.
    model
        Who answered, for a reader that is a model or a script.
    origin
        What kind of reader it was.
    taxonomy
        `ID/VERSION` of the taxonomy.
    template
        `ID/VERSION` of the prompt, for a reader that was asked by one.
    at
        When, as ISO 8601 with a zone; None where it is no part of the product.
    judgement
        What was said.
    note
        Of a person or an arbiter, beside the rationale.
    """

    schema_version: Literal[1] = 1
    trajectory: str
    step: int = Field(ge=0)
    item: str
    annotator: str
    model: str | None = None
    origin: Origin
    taxonomy: str
    template: str | None = None
    at: str | None = None
    judgement: Judgement
    note: str | None = None
    meta: dict[str, Any] = {}


def stream_labels(path: str | Path) -> Iterator[Label]:
    """Stream the labels of a JSON Lines file (`-` is standard input).

    Raises
    ------
    InputError
        At the first line that is no label of this version, with file, line, field and remedy.
    """
    yield from stream_records(path, Label, SCHEMA_VERSION, _SHAPE)


def write_labels(path: str | Path, labels: Iterable[Label]) -> int:
    """Write labels as JSON Lines, atomically; returns how many.

    Raises
    ------
    SettingError
        When the file cannot be written.
    """
    return write_records(path, labels)
