"""The panel: which readers judge, which one arbitrates, by which rules and for how much money."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from vepa.corpus.taxonomy import Taxonomy, read_taxonomy
from vepa.errors import InputError, SettingError, Where
from vepa.files import name_of, read_text, sha256_of
from vepa.llm.settings import ModelSettings
from vepa.policy.document import Document, parse_document, plain_words
from vepa.policy.schema import nearest
from vepa.project import Project

__all__ = ["Panel", "PanelBudget", "Rules", "Seat", "load_panel", "read_panel"]

_PAGE = "docs/annotation.md describes every key"
_Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Seat(_Part):
    """One reader of the panel.

    Attributes
    ----------
    name
        Stands in every label that it gives.
    vendor
        Who made the model; two annotators of one vendor share habits, and are refused.
    model
        A name of docs/models.md.
    otherwise
        Who answers what `recorded/NAME` does not know.
    settings
        How the model is asked.
    """

    name: _Name
    vendor: _Name
    model: str = Field(min_length=3)
    otherwise: str | None = None
    settings: ModelSettings = ModelSettings()


class PanelBudget(_Part):
    """What one run may cost, all readers together; None is no limit."""

    dollars: float | None = Field(default=None, ge=0, strict=False)
    tokens: int | None = Field(default=None, ge=0)
    minutes: float | None = Field(default=None, gt=0, strict=False)


class Panel(_Part):
    """A panel as its file says it.

    Attributes
    ----------
    panel
        Version of the file's form.
    taxonomy, codebook
        Files beside this one.
    annotators
        Two readers of different vendors.
    arbiter
        Judges what they see differently; None leaves that to people.
    budget
        Of one run.
    trace_tokens
        What of a trajectory a reader is shown, at most.
    """

    panel: Literal[1]
    taxonomy: str = "taxonomy.yaml"
    codebook: str = "codebook.md"
    annotators: list[Seat] = Field(min_length=2, max_length=2)
    arbiter: Seat | None = None
    budget: PanelBudget = PanelBudget()
    trace_tokens: int = Field(default=24_000, ge=4_000)

    @model_validator(mode="after")
    def _independent(self) -> Panel:
        seats = self.seats
        for what, place in (("name", "name"), ("model", "model")):
            values = [getattr(seat, what) for seat in seats]
            if len(set(values)) != len(values):
                twice = next(value for value in values if values.count(value) > 1)
                raise ValueError(f"annotators.1.{place}: two seats have the {what} {twice!r}")
        one, other = self.annotators
        if one.vendor == other.vendor:
            raise ValueError(
                f"annotators.1.vendor: both annotators are of {one.vendor!r}; what they share is "
                "no agreement"
            )
        return self

    @property
    def seats(self) -> list[Seat]:
        """The annotators, then the arbiter."""
        return [*self.annotators, *([self.arbiter] if self.arbiter else [])]


@dataclass(frozen=True)
class Rules:
    """What every reader of a panel is told.

    Attributes
    ----------
    taxonomy
        The taxonomy.
    codebook
        Text of the codebook.
    """

    taxonomy: Taxonomy
    codebook: str

    @property
    def sha256(self) -> str:
        """Hash over both."""
        return sha256_of(f"{self.taxonomy.sha256}\0{self.codebook}")


def load_panel(project: Project, name: str = "panel.yaml") -> tuple[Panel, Rules]:
    """A panel of a project, with its rules.

    Raises
    ------
    InputError
        When a file is missing or wrong.
    """
    return read_panel(project.find("annotation", name))


def read_panel(path: str | Path) -> tuple[Panel, Rules]:
    """Read a panel file, and the taxonomy and the codebook that it names.

    Raises
    ------
    SettingError
        With file, line and field of the first fault.
    """
    path = Path(path)
    document = parse_document(read_text(path), name_of(path), SettingError)
    try:
        panel = Panel.model_validate(document.data)
    except ValidationError as error:
        raise _wrong(error.errors(include_url=False)[0], document) from None
    taxonomy = read_taxonomy(_beside(path, panel.taxonomy, document, "taxonomy"))
    codebook = read_text(_beside(path, panel.codebook, document, "codebook")).strip()
    if not codebook:
        raise _fault(document, ("codebook",), "the codebook is empty", _PAGE)
    return panel, Rules(taxonomy, codebook)


def _beside(path: Path, name: str, document: Document, field: str) -> Path:
    found = path.parent / name
    if not found.is_file():
        near = [each.name for each in path.parent.iterdir() if each.suffix == found.suffix]
        raise _fault(document, (field,), f"no such file: {name}", nearest(name, near, "files"))
    return found


def _wrong(first: Any, document: Document) -> InputError:
    place, words = tuple(first["loc"]), plain_words(first)
    head, _, rest = words.partition(": ")
    if not place and head.startswith("annotators."):  # of what holds between several keys
        place = tuple(int(part) if part.isdigit() else part for part in head.split("."))
        words = rest
    return _fault(document, place, words, _PAGE)


def _fault(
    document: Document, place: Sequence[str | int], message: str, remedy: str
) -> SettingError:
    where = Where(document.file, document.line(tuple(place)), ".".join(map(str, place)) or None)
    return SettingError(message, where=where, remedy=remedy)
