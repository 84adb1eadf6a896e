"""What lies where in a release, and how its version comes about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from vepa.errors import InputError, Where
from vepa.files import canonical_json, name_of, read_text, sha256_of
from vepa.policy.document import complaint
from vepa.release.records import SPLITS, TABLES, Split

__all__ = [
    "CARD",
    "CROISSANT",
    "DATASHEET",
    "LEAKAGE",
    "MANIFEST",
    "PROVENANCE",
    "SUMS",
    "Manifest",
    "jsonl_path",
    "parquet_path",
    "read_manifest",
    "version_of",
]

CARD, DATASHEET, CROISSANT = "README.md", "DATASHEET.md", "croissant.json"
LEAKAGE, PROVENANCE = "leakage.json", "provenance.json"
#: The list of all other files' hashes, in the form of `sha256sum`; it is written last.
SUMS = "SHA256SUMS"
MANIFEST = "manifest.json"


class Manifest(BaseModel):
    """A release in numbers.

    Attributes
    ----------
    release
        Version of this form.
    name, version
        Of the corpus; the version is the name and the first digits of `content_sha256`.
    content_sha256
        Over the JSON Lines files: what the release says, however it is packed.
    files
        JSON Lines file -> SHA-256; what `content_sha256` is over.
    rows
        Table -> split -> rows.
    figures
        What the card tells: counts, shares, labels, agreement.
    licence
        An SPDX name.
    vepa
        Version of the program.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    release: int = 1
    name: str
    version: str
    content_sha256: str
    files: dict[str, str]
    rows: dict[str, dict[str, int]]
    figures: dict[str, Any]
    licence: str = "Apache-2.0"
    vepa: str


def jsonl_path(table: str, split: Split) -> str:
    """A table's lines, relative to the release."""
    return f"data/{table}/{split}.jsonl"


def parquet_path(table: str, split: Split) -> str:
    """The same as parquet."""
    return f"data/{table}/{split}.parquet"


def version_of(name: str, files: Mapping[str, str]) -> tuple[str, str]:
    """The version of a release, and the hash that it comes from.

    Parameters
    ----------
    name
        Of the corpus.
    files
        JSON Lines file -> SHA-256, of every table and split.
    """
    wanted = {jsonl_path(table, split) for table in TABLES for split in SPLITS}
    assert set(files) == wanted, "the version is over all tables"
    content = sha256_of(canonical_json(dict(sorted(files.items()))))
    return f"{name}-{content[:12]}", content


def read_manifest(folder: str | Path) -> Manifest:
    """The manifest of a release.

    Raises
    ------
    InputError
        When the folder is no release; names file and field.
    """
    path = Path(folder) / MANIFEST
    if not path.is_file():
        raise InputError(
            f"there is no {MANIFEST}",
            where=Where(str(folder)),
            remedy="name the folder of a release, as `vepa corpus release` prints it",
        )
    try:
        return Manifest.model_validate(json.loads(read_text(path)))
    except ValidationError as error:
        place, message = complaint(error)
        field = ".".join(map(str, place)) or None
    except ValueError as error:
        message, field = f"malformed JSON: {error}", None
    raise InputError(
        message, where=Where(name_of(path), None, field), remedy="make the release again"
    )
