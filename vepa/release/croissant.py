"""Croissant metadata of a release: what loaders and dataset search read.

Every file is a `FileObject` with its hash, the parquet files of a table a `FileSet`, every table a
`RecordSet`. Written by hand and not by the format's own library, which is heavy and belongs to the
extra `release`; tests and `vepa corpus check` hold it against that library.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vepa.files import sha256_of
from vepa.release.citing import AUTHORS, LICENCES, bibtex, described
from vepa.release.describing import DESCRIBED_TABLES, columns_of, kinds_of
from vepa.release.layout import CROISSANT, SUMS, Manifest
from vepa.release.records import SPLITS, TABLES

__all__ = ["croissant", "semantic_version"]

#: The context that the checker of version 1.1 takes for the standard one.
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    **{
        name: f"cr:{name}"
        for name in (
            "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract",
            "field", "fileObject", "fileProperty", "fileSet", "format", "includes", "isArray",
            "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet",
            "references", "regex", "repeated", "replace", "samplingRate", "separator", "source",
            "subField", "transform",
        )
    },
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}  # fmt: skip
_FORMATS = {
    ".parquet": "application/x-parquet",
    ".jsonl": "application/jsonlines",
    ".json": "application/json",
    ".md": "text/markdown",
}
_TYPES = {
    "text": "sc:Text",
    "list of text": "sc:Text",
    "integer": "cr:Int64",
    "number": "cr:Float64",
    "truth": "sc:Boolean",
}


def semantic_version(manifest: Manifest) -> str:
    """A version as the format wants it: that of the form, and the digits of the content.

    Parameters
    ----------
    manifest
        Of the release.
    """
    return f"{manifest.release}.0.0+{manifest.content_sha256[:12]}"


def croissant(manifest: Manifest, folder: Path) -> dict[str, Any]:
    """`croissant.json` as JSON data.

    The same release gives the same data: the only day in it is the one on which the newest episode
    was collected.

    Parameters
    ----------
    manifest
        Of the release.
    folder
        Where its other files lie already.

    Raises
    ------
    MissingExtraError
        When polars is not installed.
    """
    collected = manifest.figures["collected"]["last"]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": manifest.version,
        "description": described(manifest),
        "version": semantic_version(manifest),
        "license": LICENCES.get(manifest.licence, manifest.licence),
        "citeAs": bibtex(manifest),
        "creator": {"@type": "sc:Organization", "name": AUTHORS},
        "dateCreated": collected,
        "datePublished": collected,
        "keywords": ["agents", "safety", "guardrails", "tool use", "trajectories", "synthetic"],
        "isLiveDataset": False,
        "distribution": [*_objects(folder), *(_set(table) for table in TABLES)],
        "recordSet": [_splits(), *(_records(table) for table in TABLES)],
    }


def _objects(folder: Path) -> Iterator[dict[str, Any]]:
    """Every file but this one and the list of hashes, which both come later."""
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        name = path.relative_to(folder).as_posix()
        if name in (CROISSANT, SUMS):
            continue
        data = path.read_bytes()
        yield {
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "contentUrl": name,
            "contentSize": f"{len(data)} B",
            "encodingFormat": _FORMATS.get(path.suffix, "text/plain"),
            "sha256": sha256_of(data),
        }


def _set(table: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": f"{table}-parquet",
        "name": f"{table}-parquet",
        "description": f"The table {table}, a file a split.",
        "encodingFormat": _FORMATS[".parquet"],
        "includes": f"data/{table}/*.parquet",
    }


def _splits() -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": "splits",
        "name": "splits",
        "description": "The splits. No task, planted text or near-duplicate stands in two of them.",
        "dataType": "cr:Split",
        "key": {"@id": "splits/name"},
        "field": [
            {
                "@type": "cr:Field",
                "@id": "splits/name",
                "name": "name",
                "description": "Name of the split.",
                "dataType": "sc:Text",
            }
        ],
        "data": [{"splits/name": split} for split in SPLITS],
    }


def _records(table: str) -> dict[str, Any]:
    kinds = kinds_of(table)
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "description": DESCRIBED_TABLES[table],
        "field": [
            _split_field(table),
            *(_field(table, name, kinds[name], text) for name, text in columns_of(table).items()),
        ],
    }


def _split_field(table: str) -> dict[str, Any]:
    # Loaders that join the splits apply the expression twice: to the path, then to its result.
    splits = "|".join(SPLITS)
    return {
        "@type": "cr:Field",
        "@id": f"{table}/split",
        "name": "split",
        "description": "The split that the record stands in.",
        "dataType": "sc:Text",
        "source": {
            "fileSet": {"@id": f"{table}-parquet"},
            "extract": {"fileProperty": "fullpath"},
            "transform": {"regex": f"^(?:data/{table}/)?({splits})(?:\\.parquet)?$"},
        },
        "references": {"field": {"@id": "splits/name"}},
    }


def _field(table: str, column: str, kind: str, meaning: str) -> dict[str, Any]:
    field = {
        "@type": "cr:Field",
        "@id": f"{table}/{column}",
        "name": column,
        "description": meaning,
        "dataType": _TYPES[kind],
        "source": {
            "fileSet": {"@id": f"{table}-parquet"},
            "extract": {"column": column},
        },
    }
    return {**field, "isArray": True, "arrayShape": "-1"} if kind == "list of text" else field
