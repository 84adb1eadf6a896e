"""The block `annotate` of a profile: who judges the steps of the corpus."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vepa.errors import SettingError, Where
from vepa.files import name_of, read_text
from vepa.policy.document import parse_document, plain_words
from vepa.policy.schema import nearest

__all__ = ["AnnotationProfile", "read_annotation"]


class AnnotationProfile(BaseModel):
    """How a run annotates.

    Attributes
    ----------
    panel
        A file in `annotation/`: readers, arbiter, rules, budget.
    workers
        Requests at once, a reader.
    arbiter
        Whether the panel's arbiter settles what the annotators see differently; otherwise people
        do, and a run goes on with what is settled.
    resamples
        Of the bootstrap intervals.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    panel: str = "panel.yaml"
    workers: int = Field(default=8, ge=1, le=64)
    arbiter: bool = True
    resamples: int = Field(default=1000, ge=100, le=100_000)


def read_annotation(path: str | Path) -> tuple[AnnotationProfile | None, list[SettingError]]:
    """The block `annotate` of a profile, or what is wrong with it; None when there is none.

    Raises
    ------
    SettingError
        When the file cannot even be parsed.
    """
    document = parse_document(read_text(path), name_of(path), SettingError)
    data = document.data if isinstance(document.data, dict) else {}
    block = data.get("annotate")
    if block is None:
        return None, []
    if data.get("corpus") is None:
        return None, [
            SettingError(
                "there is no corpus to annotate",
                where=Where(document.file, document.line(("annotate",)), "annotate"),
                remedy="give the profile a block `corpus`, or leave this one out",
            )
        ]
    try:
        return AnnotationProfile.model_validate(block), []
    except ValidationError as error:
        found = []
        known = list(AnnotationProfile.model_fields)
        for item in error.errors(include_url=False):
            place = ("annotate", *item["loc"])
            remedy = "docs/annotation.md describes every key"
            if len(place) > 1 and str(place[1]) not in known:
                remedy = nearest(str(place[1]), known, "keys")
            where = Where(document.file, document.line(place), ".".join(map(str, place)))
            found.append(SettingError(plain_words(item), where=where, remedy=remedy))
        return None, found
