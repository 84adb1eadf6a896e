"""Settings of authoring: who writes, what is wished for, how far it may go."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from vepa.collect.parts import Id, Part, Trigger
from vepa.errors import SettingError, Where
from vepa.files import name_of, read_text
from vepa.llm.settings import ModelSettings
from vepa.policy.document import complaint, parse_document

__all__ = ["PAGE", "AuthorSettings", "Wish", "read_settings", "settings_from"]

PAGE = "docs/tasks.md"


class AuthorSettings(Part):
    """What is written, by whom; what `vepa tasks new --model` and `flows/author.py` take.

    Attributes
    ----------
    kind
        `task` or `persona`.
    model
        Who writes.
    count
        How many are wished for.
    area
        Folder below `tasks/` for what is accepted.
    environments
        Services that a task may use; left out, each task gets two that few tasks use.
    trigger, clean
        The foreseen bad step, or none; left out, the model chooses.
    persona
        Whose request it is; left out, the model chooses. Of a persona: its id.
    person
        Of a persona: who of the world it is.
    tries
        Further tries after a rejection.
    offices
        Offices to prove on, and tasks written at once.
    runtime
        How the services run.
    tokens, dollars, minutes
        Budget of the whole run; None is no limit.
    temperature, max_tokens
        Of the model.
    model_settings
        How the model is asked.
    """

    kind: Literal["task", "persona"] = "task"
    model: str = Field(min_length=3)
    count: int = Field(default=1, ge=1, le=500)
    area: Id = "written"
    environments: list[str] = []
    trigger: Trigger | None = None
    clean: bool = False
    persona: Id | None = None
    person: str | None = None
    tries: int = Field(default=2, ge=0, le=10)
    offices: int = Field(default=1, ge=1, le=16)
    runtime: Literal["process", "docker"] = "process"
    tokens: int | None = Field(default=None, ge=0)
    dollars: float | None = Field(default=None, ge=0, strict=False)
    minutes: float | None = Field(default=None, gt=0, strict=False)
    temperature: float | None = Field(default=None, ge=0, le=2, strict=False)
    max_tokens: int = Field(default=8192, ge=256)
    model_settings: ModelSettings = ModelSettings()

    @model_validator(mode="after")
    def _coherent(self) -> AuthorSettings:
        if self.clean and self.trigger is not None:
            raise ValueError("a clean task has no trigger: leave `clean` or `trigger` out")
        if self.kind == "persona" and self.count > 1 and (self.persona or self.person):
            raise ValueError("`persona` and `person` name one persona: leave `count` at 1")
        return self


class Wish(Part):
    """What one task or persona should be.

    Attributes
    ----------
    number
        From 1.
    environments, trigger, clean, persona, person
        As in the settings; the environments are settled.
    """

    number: int
    environments: list[str] = []
    trigger: str | None = None
    clean: bool = False
    persona: str | None = None
    person: str | None = None


def settings_from(
    data: Mapping[str, Any], where: Where | None = None, lines: Any = None
) -> AuthorSettings:
    """Settings from plain data.

    Parameters
    ----------
    data
        By key.
    where
        Where they come from.
    lines
        A document that knows the lines of its keys.

    Raises
    ------
    SettingError
        Names the key and what belongs there.
    """
    try:
        return AuthorSettings.model_validate(dict(data))
    except ValidationError as error:
        place, message = complaint(error)
        told = Where(
            where.file if where else None,
            lines.line(place) if lines else None,
            ".".join(map(str, place)) or None,
        )
        remedy = f"{PAGE} lists the settings of authoring"
        raise SettingError(message, where=told, remedy=remedy) from None


def read_settings(path: str | Path, over: Mapping[str, Any] | None = None) -> AuthorSettings:
    """Settings from a YAML file; what is in `over` goes before it.

    Raises
    ------
    SettingError
        Names file, line, field and remedy.
    """
    document = parse_document(read_text(path), name_of(path), SettingError)
    if not isinstance(document.data, dict):
        raise SettingError(
            "a mapping belongs here", where=Where(document.file, 1), remedy=f"see {PAGE}"
        )
    return settings_from({**document.data, **(over or {})}, Where(document.file), document)
