"""An adapter that this project trained, on its base, ready to answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from vepa.errors import InputError, MissingExtraError, SettingError, Where
from vepa.files import read_text
from vepa.llm.local.bases import base_folder
from vepa.policy.document import complaint, parse_document

__all__ = ["AdapterNotes", "Local", "open_adapter", "read_notes"]

_REMEDY = "name the folder that a training left: it holds metrics.json, recipe.yaml and data.json"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)  # other keys are for others


class _Recipe(_Part):
    base: str


class _Data(_Part):
    kind: str
    tokenizer: str
    trace_tokens: int
    schema_sha256: str


M = TypeVar("M", bound=_Part)


@dataclass(frozen=True)
class AdapterNotes:
    """What has to be known of an adapter before it is loaded.

    Attributes
    ----------
    folder
        Where it lies.
    base
        As its recipe names it.
    kind
        `parser` or `judge`.
    tokenizer, trace_tokens
        What it was shown of a trace: at most so many tokens of this tokenizer.
    schema_sha256
        Of the event schema that it learned.
    """

    folder: Path
    base: str
    kind: str
    tokenizer: str
    trace_tokens: int
    schema_sha256: str


@dataclass(frozen=True)
class Local:
    """A model on this machine.

    Attributes
    ----------
    model
        Base and adapter, for answers only.
    tokenizer
        Of transformers.
    notes
        What it is.
    """

    model: Any
    tokenizer: Any
    notes: AdapterNotes


def read_notes(folder: str | Path) -> AdapterNotes:
    """Read what is noted beside an adapter.

    Raises
    ------
    SettingError
        When the folder holds no whole training.
    """
    place = Path(folder)
    for name in ("metrics.json", "adapter_config.json", "recipe.yaml", "data.json"):
        if not (place / name).is_file():
            raise SettingError(
                f"this is no trained adapter: there is no {name}",
                where=Where(str(place)),
                remedy=_REMEDY,
            )
    recipe = _read(place / "recipe.yaml", _Recipe)
    data = _read(place / "data.json", _Data)
    return AdapterNotes(
        folder=place,
        base=recipe.base,
        kind=data.kind,
        tokenizer=data.tokenizer,
        trace_tokens=data.trace_tokens,
        schema_sha256=data.schema_sha256,
    )


def open_adapter(notes: AdapterNotes) -> Local:
    """Load base and adapter; the GPU's where there is one.

    In float32 on a processor: rounding then depends on nothing but the texts.

    Raises
    ------
    MissingExtraError
        When a package of the extra `train` is missing.
    SettingError
        When base or adapter cannot be loaded.
    """
    try:
        import torch
        from peft import PeftModel
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise MissingExtraError(error.name or "torch", "train") from None
    gpu = torch.cuda.is_available()
    dtype = torch.bfloat16 if gpu else torch.float32
    try:
        base = AutoModelForCausalLM.from_pretrained(base_folder(notes.base), dtype=dtype)
        model = PeftModel.from_pretrained(base, str(notes.folder)).merge_and_unload()
        tokenizer = AutoTokenizer.from_pretrained(str(notes.folder))
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise SettingError(
            f"this adapter cannot be loaded: {error}",
            where=Where(str(notes.folder)),
            remedy=_REMEDY,
        ) from None
    return Local(model.to("cuda" if gpu else "cpu").eval(), tokenizer, notes)


def _read(path: Path, model: type[M]) -> M:
    document = parse_document(read_text(path), str(path), SettingError)
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        place, message = complaint(error)
        field = ".".join(map(str, place)) or None
        where = Where(str(path), document.line(place), field)
        raise InputError(message, where=where, remedy=_REMEDY) from None
