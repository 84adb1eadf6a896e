"""The models behind `vepa parse`: their settings, budget, cache and recordings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from vepa.errors import InputError, SettingError, Where
from vepa.files import read_text
from vepa.llm import AnswerCache, Budget, Ledger, ModelRequest, ModelSettings, open_model
from vepa.llm.messages import Model
from vepa.llm.recorded import folder_of
from vepa.llm.recording import Recording
from vepa.policy.document import complaint, parse_document
from vepa.policy.event import Unit
from vepa.policy.schema import Schema
from vepa.project import Project

__all__ = ["Wanted", "kept_answers", "model_of", "no_model", "settings_of"]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the options ask for; see `vepa parse --help`."""

    parser: str
    unit: Unit | None
    schema: Schema
    settings: Path | None
    otherwise: str | None
    cache: Path | None
    workers: int
    trace_tokens: int
    max_tokens: int | None
    max_dollars: float | None
    least_confidence: float
    project: Path | None

    @property
    def model(self) -> str | None:
        """The model of a model parser."""
        kind, _, name = self.parser.partition(":")
        return name if kind == "llm" and name else None


def no_model(name: str) -> Model:
    """For who makes requests and sends none."""
    raise AssertionError(f"{name} is not asked here")


def model_of(name: str, wanted: Wanted, place: Project, budget: Budget) -> Model:
    """Open the model of a parser."""
    folder = place.artifacts_path / "parse"
    return open_model(
        name,
        settings=settings_of(wanted.settings),
        budget=budget,
        ledger=Ledger(folder / "ledger.jsonl").tagged(purpose="parse"),
        cache=AnswerCache(_cache_of(wanted, place)),
        recorded=_recordings(name, place),
        otherwise=wanted.otherwise,
    )


def _cache_of(wanted: Wanted, place: Project) -> Path:
    return wanted.cache or place.artifacts_path / "parse" / "answers.sqlite"


def _recordings(name: str, place: Project) -> Path | None:
    """The folder of recordings that has this one, by the order of the project's places."""
    kind, _, rest = name.partition("/")
    if kind != "recorded" or not rest:
        return None
    roots = [root / "data" / "recorded" for root in place.candidates]
    return next((root for root in roots if (root / rest / "manifest.yaml").is_file()), None)


def kept_answers(
    wanted: Wanted, place: Project, settings: ModelSettings
) -> Callable[[ModelRequest], bool]:
    """Whether the answer to a request is there already."""
    name = wanted.model or ""
    recording = None
    if name.startswith("recorded/"):
        recording = Recording(folder_of(name, _recordings(name, place)))
        name = wanted.otherwise or name
    path = _cache_of(wanted, place)
    cache = AnswerCache(path) if path.is_file() else None

    def is_kept(request: ModelRequest) -> bool:
        if recording is not None and request.item and recording.get(request.item) is not None:
            return True
        return cache is not None and cache.get(cache.key(name, settings, request)) is not None

    return is_kept


def settings_of(file: Path | None) -> ModelSettings:
    """The settings of a file, as they would stand in a profile."""
    if file is None:
        return ModelSettings()
    document = parse_document(read_text(file), str(file), SettingError)
    try:
        return ModelSettings.model_validate(document.data or {})
    except ValidationError as error:
        path, message = complaint(error)
        raise SettingError(
            message,
            where=Where(str(file), document.line(path), ".".join(map(str, path)) or None),
            remedy="docs/models.md lists the settings",
        ) from None
    except InputError as error:
        raise error.at(file=str(file)) from None
