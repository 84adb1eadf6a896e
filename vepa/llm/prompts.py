"""Prompts: versioned Jinja2 templates in `prompts/`, each with the JSON schema of its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vepa.errors import MissingExtraError, SettingError, Where
from vepa.files import read_text, sha256_of
from vepa.llm.messages import Shape
from vepa.policy.document import parse_document, plain_words
from vepa.project import Project

__all__ = ["Prompt", "load_prompt", "read_prompt"]


class _Head(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    prompt: int = Field(ge=1, le=1)
    id: str
    version: str = Field(pattern=r"^[0-9]+\.[0-9]+$")
    about: str
    variables: list[str]
    answer: str | None = None


class Prompt:
    """One prompt.

    Attributes
    ----------
    id, version
        Named in every record that it made; a recorded answer fits every minor version.
    shape
        What the answer has to look like; None for free text.
    sha256
        Hash over template and schema.
    """

    def __init__(self, folder: Path, head: _Head, template: str, answer: dict[str, Any] | None):
        self.folder = folder
        self.id = head.id
        self.version = head.version
        self.variables = tuple(head.variables)
        self._text = template
        name = head.id.replace("-", "_")
        self.shape = None if answer is None else Shape(name=name, schema_=answer)
        self.sha256 = sha256_of(template + "\0" + json.dumps(answer, sort_keys=True))

    @cached_property
    def _template(self) -> Any:
        from jinja2 import StrictUndefined, TemplateSyntaxError
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        engine = ImmutableSandboxedEnvironment(
            undefined=StrictUndefined, autoescape=False, keep_trailing_newline=False,
            trim_blocks=False,
        )  # fmt: skip
        try:
            return engine.from_string(self._text)
        except TemplateSyntaxError as error:
            file = str(self.folder / "system.md.j2")
            raise SettingError(
                f"the template is broken: {error.message}", where=Where(file, error.lineno)
            ) from None

    def render(self, names: Mapping[str, Any]) -> str:
        """The text.

        Parameters
        ----------
        names
            Exactly the prompt's variables.

        Raises
        ------
        SettingError
            When the template is broken, or uses a name that it does not declare.
        MissingExtraError
            When jinja2 is not installed.
        """
        try:
            from jinja2 import TemplateError
        except ImportError:
            raise MissingExtraError("jinja2", "pipeline") from None

        if set(names) != set(self.variables):
            raise SettingError(
                f"prompt {self.id}: it takes {sorted(self.variables)}, not {sorted(names)}",
                where=Where(str(self.folder / "prompt.yaml"), field="variables"),
            )
        try:
            return str(self._template.render(**names)).strip()
        except TemplateError as error:
            raise SettingError(
                f"prompt {self.id}: {error}", where=Where(str(self.folder / "system.md.j2"))
            ) from None


def load_prompt(project: Project, name: str) -> Prompt:
    """A prompt of a project.

    Raises
    ------
    InputError
        When there is no such prompt, or a file of it is wrong.
    """
    return read_prompt(project.find("prompts", f"{name}/prompt.yaml"))


def read_prompt(path: str | Path) -> Prompt:
    """Read a `prompt.yaml` with its template and its schema.

    Raises
    ------
    SettingError
        When a file is wrong; names file, line, field and remedy.
    """
    path = Path(path)
    document = parse_document(read_text(path), str(path), SettingError)
    try:
        head = _Head.model_validate(document.data)
    except ValidationError as error:
        item: Any = error.errors(include_url=False)[0]
        place = tuple(item["loc"])
        raise SettingError(
            plain_words(item),
            where=Where(str(path), document.line(place), ".".join(map(str, place))),
            remedy="prompts/README.md describes every key",
        ) from None
    if head.id != path.parent.name:
        raise SettingError(
            f"the folder is called {path.parent.name!r}",
            where=Where(str(path), document.line(("id",)), "id"),
            remedy="use the same name",
        )
    answer = None
    if head.answer is not None:
        file = path.parent / head.answer
        answer = parse_document(read_text(file), str(file), SettingError).data
        if not isinstance(answer, dict) or answer.get("type") != "object":
            raise SettingError(
                "a JSON schema of `type: object` belongs here", where=Where(str(file))
            )
    return Prompt(path.parent, head, read_text(path.parent / "system.md.j2"), answer)
