"""The manifest of training data: from what it was made, and what is in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from vepa.errors import InputError, Where
from vepa.files import name_of, read_text, sha256_of
from vepa.parsing.lora import Kind
from vepa.policy.document import complaint
from vepa.release.records import SPLITS, Split

__all__ = ["MANIFEST", "DataManifest", "read_data_manifest", "split_file"]

MANIFEST = "manifest.json"


class DataManifest(BaseModel):
    """Training data in numbers.

    Attributes
    ----------
    form
        Version of this form.
    kind
        Which adapter learns from it.
    content_sha256
        Over the files of the three splits: what names the folder, and what a worker asks for.
    files
        Split -> SHA-256 of its file.
    sources
        What was read: files with their SHA-256, or a release's version.
    tokenizer, trace_tokens
        By which tokenizer, and to how many tokens, traces were shortened.
    schema_sha256, taxonomy
        The event schema; `ID/VERSION` of the taxonomy.
    skipped
        Why -> how many things that could have been examples are none.
    figures
        Split -> figures; see `statistics_of`.
    vepa
        Version of the program.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    form: int = 1
    kind: Kind
    content_sha256: str
    files: dict[Split, str]
    sources: dict[str, str]
    tokenizer: str
    trace_tokens: int
    schema_sha256: str
    taxonomy: str
    skipped: dict[str, int]
    figures: dict[Split, dict[str, Any]]
    vepa: str


def split_file(split: Split) -> str:
    """A split's file, relative to the folder of the data."""
    return f"{split}.jsonl"


def read_data_manifest(folder: str | Path) -> DataManifest:
    """The manifest of training data; the files are held against it.

    Raises
    ------
    InputError
        When the folder holds none, or a file is not the one that it names.
    """
    path = Path(folder) / MANIFEST
    remedy = "make the data again: vepa train data"
    if not path.is_file():
        raise InputError(f"there is no {MANIFEST}", where=Where(str(folder)), remedy=remedy)
    try:
        manifest = DataManifest.model_validate(json.loads(read_text(path)))
    except ValidationError as error:
        place, message = complaint(error)
        where = Where(name_of(path), None, ".".join(map(str, place)) or None)
        raise InputError(message, where=where, remedy=remedy) from None
    except ValueError as error:
        where = Where(name_of(path))
        raise InputError(f"malformed JSON: {error}", where=where, remedy=remedy) from None
    for split in SPLITS:
        file = Path(folder) / split_file(split)
        if not file.is_file() or sha256_of(file.read_bytes()) != manifest.files.get(split):
            raise InputError(
                "this file is not the one that the manifest names",
                where=Where(str(file), field=f"files.{split}"),
                remedy=remedy,
            )
    return manifest
