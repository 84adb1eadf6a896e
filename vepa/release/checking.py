"""Checking a release: every byte, every table, every promise."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from vepa.errors import InputError, Where
from vepa.files import read_text
from vepa.release.layout import (
    CARD,
    CROISSANT,
    DATASHEET,
    LEAKAGE,
    MANIFEST,
    PROVENANCE,
    SUMS,
    Manifest,
    jsonl_path,
    parquet_path,
    read_manifest,
    version_of,
)
from vepa.release.problems import Checked, Problem
from vepa.release.records import SPLITS, TABLES
from vepa.release.reviewing import NOTHING, Review, entries_for
from vepa.release.scanning import scan
from vepa.release.sums import sums_of, write_sums, wrong_sums
from vepa.release.tables import MAKE_AGAIN, Rows, check_tables

__all__ = ["Checked", "Problem", "check", "write_sums"]


def check(
    folder: Path,
    canaries: Iterable[str] | None,
    tell: Callable[[str], None] = lambda _: None,
    review: Review = NOTHING,
) -> Checked:
    """Look whether a release is whole and keeps what it promises.

    The folder's name is the version, the version comes from the JSON Lines, and the list of hashes
    covers all files: a byte that is changed anywhere is found.

    Parameters
    ----------
    folder
        Of the release.
    canaries
        Seeded secrets, the only ones that may stand there; None leaves the scan out.
    tell
        Told what is being looked at.
    review
        Finds of the scan that a person looked at: they are no problems.

    Raises
    ------
    InputError
        When the folder is no release at all.
    MissingExtraError
        When a package of the extra `pipeline` is not installed.
    """
    folder = folder.resolve()
    if not (folder / MANIFEST).is_file() and not (folder / SUMS).is_file():
        raise InputError(
            f"there is neither {MANIFEST} nor {SUMS}",
            where=Where(str(folder)),
            remedy="name the folder of a release, as `vepa corpus release` prints it",
        )
    tell("hashes")
    found = sums_of(folder)
    problems = [*wrong_sums(folder, found), *_layout(found)]
    manifest = _manifest(folder, problems)
    if manifest is not None:
        problems += _version(folder, manifest, found)
    tell("tables")
    rows, wrong = check_tables(folder, _provenance(folder, problems))
    problems += wrong
    if manifest is not None:
        problems += _rows(manifest, rows)
    unchecked: list[str] = []
    notes: tuple[str, ...] = ()
    if canaries is None:
        unchecked.append("secrets: the scan was left out")
    else:
        tell("secrets")
        notes = _secrets(folder, canaries, review, problems)
    tell("Croissant")
    unchecked += _croissant(folder, problems)
    return Checked(tuple(problems), tuple(unchecked), notes)


def _layout(found: Mapping[str, str]) -> Iterator[Problem]:
    """Files that belong into every release."""
    documents = [CARD, DATASHEET, CROISSANT, LEAKAGE, PROVENANCE, MANIFEST]
    tables = [path(table, each) for path in (jsonl_path, parquet_path) for table in TABLES
              for each in SPLITS]  # fmt: skip
    for name in (*documents, *tables):
        if name not in found:
            yield Problem(name, "the file belongs into every release and is missing", MAKE_AGAIN)


def _manifest(folder: Path, problems: list[Problem]) -> Manifest | None:
    try:
        return read_manifest(folder)
    except InputError as error:
        if (folder / MANIFEST).is_file():
            place = error.where
            problems.append(
                Problem(MANIFEST, error.message, MAKE_AGAIN, line=place.line, field=place.field)
            )
        return None


def _version(folder: Path, manifest: Manifest, found: Mapping[str, str]) -> Iterator[Problem]:
    if folder.name != manifest.version:
        yield Problem(
            MANIFEST,
            f"the version is {manifest.version!r}, the folder is called {folder.name!r}",
            "give the folder the name of the version; if nobody renamed it, get the release again",
            field="version",
        )
    files = {jsonl_path(table, split) for table in TABLES for split in SPLITS}
    if missing := files - found.keys():
        yield Problem(
            MANIFEST,
            f"the version cannot be worked out: {len(missing)} of its files are missing",
            MAKE_AGAIN,
            field="version",
        )
        return
    actual = {name: found[name] for name in sorted(files)}
    version, content = version_of(manifest.name, actual)
    for field, said, is_so in (
        ("version", manifest.version, version),
        ("content_sha256", manifest.content_sha256, content),
    ):
        if said != is_so:
            yield Problem(MANIFEST, f"says {said}, the files make it {is_so}", MAKE_AGAIN,
                          field=field)  # fmt: skip
    for name in sorted(manifest.files.keys() | files):
        if manifest.files.get(name) != actual.get(name):
            what = "the hash of this file is not the one of the manifest"
            yield Problem(name, what, MAKE_AGAIN)


def _rows(manifest: Manifest, rows: Rows) -> Iterator[Problem]:
    for table in TABLES:
        for split in SPLITS:
            said = manifest.rows.get(table, {}).get(split)
            if said != rows[table].get(split):
                yield Problem(
                    jsonl_path(table, split),
                    f"{rows[table].get(split)} records, the manifest says {said}",
                    MAKE_AGAIN,
                )


def _provenance(folder: Path, problems: list[Problem]) -> Mapping[str, Any] | None:
    if not (folder / PROVENANCE).is_file():
        return None  # told as missing
    try:
        data = json.loads(read_text(folder / PROVENANCE))
        labels = data["labels"]
        readers, template, taxonomy = labels["readers"], labels["template"], labels["taxonomy"]
        if all(isinstance(each, dict) for each in (readers, template, taxonomy)):
            return dict(labels)
        what = "`labels` does not name readers, template and taxonomy"
    except InputError as error:
        what = error.message
    except (ValueError, KeyError, TypeError, RecursionError):
        what = "there is no JSON with `labels` that names readers, template and taxonomy"
    problems.append(Problem(PROVENANCE, what, MAKE_AGAIN, field="labels"))
    return None


def _secrets(
    folder: Path, canaries: Iterable[str], review: Review, problems: list[Problem]
) -> tuple[str, ...]:
    """Add what must not stand there; what is to be told of the list of reviewed finds."""
    try:
        every = scan(folder, canaries)
    except InputError as error:
        file = error.where.file or str(folder)
        name = file.removeprefix(f"{folder}/")
        problems.append(Problem(name, error.message, MAKE_AGAIN, line=error.where.line))
        return ()
    for found in review.left(every):
        remedy = f"{found.remedy}. {entries_for([found])}"
        problems.append(Problem(found.file, str(found), remedy, line=found.line, field=found.field))
    return review.unmatched(every)


def _croissant(folder: Path, problems: list[Problem]) -> list[str]:
    """Hold the metadata against its form; what could not be done."""
    path = folder / CROISSANT
    if not path.is_file():
        return []
    try:
        import mlcroissant
    except ImportError:
        return ["Croissant: its checker, mlcroissant, is not installed (extra `release`)"]
    try:
        with warnings.catch_warnings():  # of outdated calls inside of its packages
            warnings.simplefilter("ignore")
            told = sorted(mlcroissant.Dataset(jsonld=str(path)).metadata.ctx.issues.errors)
    except Exception as error:  # noqa: BLE001 the checker raises errors of many kinds
        told = [str(error) or type(error).__name__]
    problems += [Problem(CROISSANT, " ".join(each.split()), MAKE_AGAIN) for each in told]
    return []
