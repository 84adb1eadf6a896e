"""The block `corpus` of a profile: what is collected, and how a policy evolves on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from vepa.collect.parts import Part
from vepa.collect.settings import CollectSettings
from vepa.errors import SettingError, Where
from vepa.files import name_of, read_text
from vepa.policy.document import parse_document, plain_words
from vepa.policy.schema import nearest
from vepa.services.runtimes import RuntimeName

__all__ = ["CorpusProfile", "read_corpus"]


class CorpusProfile(Part):
    """What a run collects.

    Attributes
    ----------
    tasks
        Ids of tasks, or patterns of them.
    runtime
        How the services run.
    collect
        Who plays, how far, how often.
    evolve
        Keys of a profile for the policy that evolves on the corpus' steps; the outer profile's
        where they are left out. Left out as a whole, none evolves on it; nor does one when no step
        has a label (a script labels its own; those of real models come from annotators).
    """

    tasks: list[str] = Field(default=["*"], min_length=1)
    runtime: RuntimeName = "process"
    collect: CollectSettings = CollectSettings()
    evolve: dict[str, Any] | None = None


def read_corpus(path: str | Path) -> tuple[CorpusProfile | None, list[SettingError]]:
    """The block `corpus` of a profile, or what is wrong with it; None when there is none.

    Raises
    ------
    SettingError
        When the file cannot even be parsed.
    """
    document = parse_document(read_text(path), name_of(path), SettingError)
    block = document.data.get("corpus") if isinstance(document.data, dict) else None
    if block is None:
        return None, []
    try:
        return CorpusProfile.model_validate(block), []
    except ValidationError as error:
        found = []
        for item in error.errors(include_url=False):
            place = ("corpus", *item["loc"])
            known = len(place) < 2 or str(place[1]) in CorpusProfile.model_fields
            remedy = "see the comments in flows/profiles/demo.yaml"
            if not known:
                remedy = nearest(str(place[1]), list(CorpusProfile.model_fields), "keys")
            where = Where(document.file, document.line(place), ".".join(map(str, place)))
            found.append(SettingError(plain_words(item), where=where, remedy=remedy))
        return None, found
