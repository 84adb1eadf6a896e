"""Records out of a file, and which tool wrote them; a bad one does not stop the others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from vepa.annotate.arbitration.exchange.answers import Answer, Record, fault
from vepa.annotate.arbitration.exchange.cases import CASE_SHAPE, CASE_VERSION, CaseLine
from vepa.errors import InputError, SettingError, Where
from vepa.files import name_of, read_text
from vepa.policy.document import complaint

__all__ = ["case_line", "format_of", "read_lines_of_cases", "records_in"]

_LIMIT = 512 * 1024 * 1024


def records_in(path: str | Path) -> list[Record]:
    """The records of a JSON array, or of JSON Lines; `-` is standard input.

    Raises
    ------
    InputError
        When the file cannot be read, or an array is no JSON.
    """
    text = read_text(path, limit=_LIMIT)
    if text.lstrip().startswith("["):
        try:
            data = json.loads(text, object_pairs_hook=_distinct)
        except (ValueError, RecursionError) as error:
            line = error.lineno if isinstance(error, json.JSONDecodeError) else None
            raise InputError(
                f"malformed JSON: {error}",
                where=Where(name_of(path), line),
                remedy="hand in the file as the tool exported it",
            ) from None
        return [Record(at, None, each) for at, each in enumerate(data, 1)]
    lines = [(at, line) for at, line in enumerate(text.split("\n"), 1) if line.strip()]
    return [Record(at, line, _parsed(text)) for at, (line, text) in enumerate(lines, 1)]


def format_of(records: Sequence[Record], path: str | Path) -> str:
    """Who wrote records, by the first one that tells.

    Raises
    ------
    SettingError
        When none does.
    """
    for record in records:
        data = record.data
        if not isinstance(data, dict):
            continue
        if "annotations" in data or isinstance(data.get("data"), dict):
            return "label-studio"
        if "item" in data:
            return "jsonl"
        if {"responses", "_server_id"} & set(data) or any(
            str(key).endswith(".responses") for key in data
        ):
            return "argilla"
    if not records:
        return "jsonl"
    raise SettingError(
        "no record tells which tool wrote it",
        where=Where(name_of(path)),
        remedy="name it with --from, and hand in the file as it was exported",
    )


def case_line(record: Record) -> CaseLine:
    """A line of this project's own form; raises `InputError` with the field."""
    data = record.object()
    version = data.get("schema_version", CASE_VERSION)
    if version != CASE_VERSION:
        raise fault(
            f"schema_version {version!r} is not known; this program reads {CASE_VERSION}",
            "schema_version",
            "read it with the release of vepa that wrote it",
        )
    try:
        return CaseLine.model_validate(data)
    except ValidationError as error:
        path, words = complaint(error)
        raise fault(words, ".".join(map(str, path)), CASE_SHAPE) from None


def read_lines_of_cases(records: Iterable[Record]) -> Iterator[Answer]:
    """The answers in this project's own JSON Lines."""
    for record in records:
        try:
            line = case_line(record)
        except InputError as error:
            yield Answer(record, error=error)
            continue
        if line.judgement is None:
            yield Answer(record, unanswered=True)
            continue
        given: dict[str, Any] = line.judgement.model_dump(mode="json")
        given["note"] = line.note
        given["evidence"] = [(each.step, each.quote) for each in line.judgement.evidence]
        yield Answer(record, line.item, who=line.who, at=line.at, given=given)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        return fault(f"malformed JSON: {error}", "", "one JSON object a line")


def _distinct(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return data
