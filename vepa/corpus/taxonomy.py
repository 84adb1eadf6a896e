"""The taxonomy that steps are judged by: triggers, risk sources, harms, severities, all as data."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from vepa.errors import SettingError, Where
from vepa.files import canonical_json, name_of, read_text, sha256_of
from vepa.policy.document import Document, parse_document, plain_words
from vepa.policy.schema import nearest
from vepa.project import Project

__all__ = ["Borderline", "Taxonomy", "TriggerEntry", "load_taxonomy", "read_taxonomy"]

_PAGE = "docs/annotation.md describes every key"


def _key(text: str) -> str:
    if not text.isidentifier() or text != text.lower() or not text.isascii():
        raise ValueError(f"{text!r} is no key: lower-case letters, digits and `_`")
    return text


Key = Annotated[str, AfterValidator(_key)]
About = Annotated[str, Field(min_length=5)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Borderline(_Part):
    """Two cases close to each other.

    Attributes
    ----------
    is_
        A step with the trigger (`is` in the file).
    is_not
        One without it.
    """

    is_: About = Field(alias="is")
    is_not: About


class TriggerEntry(_Part):
    """One reason why a guard should step in.

    Attributes
    ----------
    key
        What labels say.
    group
        A key of the taxonomy's groups.
    title, definition
        For people and models.
    signs
        What it often looks like.
    borderline
        A pair of cases, one on each side.
    counter_example
        What looks like it and is not.
    """

    key: Key
    group: Key
    title: About
    definition: About
    signs: list[About] = Field(min_length=1)
    borderline: Borderline
    counter_example: About


class Taxonomy(_Part):
    """All that a judgement can say besides its decision.

    Attributes
    ----------
    taxonomy
        Version of the file's form.
    id, version, title
        Named in every label.
    groups
        Group of triggers -> what it is.
    triggers
        In the order in which people read them.
    risk_sources, harms
        Key -> what it is; a judgement with a trigger has one of each.
    severities
        Key -> what it is, the least one first.
    """

    taxonomy: Literal[1]
    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    version: str = Field(pattern=r"^[0-9]+\.[0-9]+$")
    title: About
    groups: dict[Key, About] = Field(min_length=1)
    triggers: list[TriggerEntry] = Field(min_length=1)
    risk_sources: dict[Key, About] = Field(min_length=1)
    harms: dict[Key, About] = Field(min_length=1)
    severities: dict[Key, About] = Field(min_length=1)

    @model_validator(mode="after")
    def _coherent(self) -> Taxonomy:
        for at, trigger in enumerate(self.triggers):
            if trigger.group not in self.groups:
                words = nearest(trigger.group, list(self.groups), "groups")
                raise ValueError(f"triggers.{at}.group: no group {trigger.group!r}; {words}")
            if trigger.key in self.keys[:at]:
                raise ValueError(f"triggers.{at}.key: {trigger.key!r} occurs twice")
        return self

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Keys of the triggers, in order."""
        return tuple(trigger.key for trigger in self.triggers)

    @cached_property
    def sha256(self) -> str:
        """Hash over all of it."""
        return sha256_of(canonical_json(self.model_dump(mode="json", by_alias=True)))

    def in_order(self, triggers: Iterable[str]) -> list[str]:
        """Triggers in the taxonomy's order, each once."""
        wanted = set(triggers)
        return [key for key in self.keys if key in wanted]


def load_taxonomy(project: Project, name: str = "taxonomy.yaml") -> Taxonomy:
    """The taxonomy of a project: `annotation/taxonomy.yaml`.

    Raises
    ------
    InputError
        When it is missing or wrong.
    """
    return read_taxonomy(project.find("annotation", name))


def read_taxonomy(path: str | Path) -> Taxonomy:
    """Read a taxonomy file.

    Raises
    ------
    SettingError
        With file, line and field of the first fault.
    """
    document = parse_document(read_text(path), name_of(path), SettingError)
    try:
        return Taxonomy.model_validate(document.data)
    except ValidationError as error:
        raise _wrong(error, document) from None


def _wrong(error: ValidationError, document: Document) -> SettingError:
    first = error.errors(include_url=False)[0]
    place, words = tuple(first["loc"]), plain_words(first)
    head, _, rest = words.partition(": ")
    if not place and rest and head.startswith("triggers."):  # of what holds between several keys
        place = tuple(int(part) if part.isdigit() else part for part in head.split("."))
        words = rest
    where = Where(document.file, document.line(place), ".".join(map(str, place)) or None)
    return SettingError(words, where=where, remedy=_PAGE)
