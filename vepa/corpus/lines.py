"""JSON Lines of records: streamed in with file and line of every fault, written in one go."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from vepa.errors import InputError, Where
from vepa.files import name_of, read_lines, write_output
from vepa.policy.document import complaint

__all__ = ["stream_records", "write_records"]

#: A trajectory with its raw answers may be large; no line over this is held.
MAX_RECORD_BYTES = 64 * 1024 * 1024

R = TypeVar("R", bound=BaseModel)


def stream_records(path: str | Path, model: type[R], version: int, remedy: str) -> Iterator[R]:
    """Stream the records of a JSON Lines file (`-` is standard input).

    Parameters
    ----------
    path
        The file; one object a line, blank lines are skipped.
    model
        What a line is.
    version
        The `schema_version` that this program reads.
    remedy
        What a record looks like, for messages.

    Raises
    ------
    InputError
        At the first line that is no such record, with file, line, field and remedy.
    """
    for number, text in read_lines(path, limit=MAX_RECORD_BYTES):
        try:
            data = _object(text)
            _check_version(data, version)
            yield _validated(data, model, remedy)
        except InputError as error:
            raise error.at(file=name_of(path), line=number) from None


def write_records(path: str | Path, records: Iterable[BaseModel]) -> int:
    """Write records as JSON Lines, atomically; returns how many.

    Raises
    ------
    SettingError
        When the file cannot be written.
    """
    lines = [record.model_dump_json(exclude_none=True) + "\n" for record in records]
    write_output(path, "".join(lines))
    return len(lines)


def _validated(data: dict[str, Any], model: type[R], remedy: str) -> R:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        path, message = complaint(error)
        place = Where(field=".".join(map(str, path)) or None)
        raise InputError(message, where=place, remedy=remedy) from None


def _check_version(data: dict[str, Any], version: int) -> None:
    found = data.get("schema_version")
    if found is None:
        message = "the record does not tell its schema_version"
        remedy = f"this program reads version {version}: write `schema_version: {version}`"
    elif found != version or isinstance(found, bool):
        message = f"schema_version {json.dumps(found)} is not known; this program reads {version}"
        remedy = "read it with the release of vepa that wrote it, or import the source again"
    else:
        return
    raise InputError(message, where=Where(field="schema_version"), remedy=remedy)


def _object(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)
        if "\\u" in text:
            json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InputError(
            "an escape that stands for no character (half of a surrogate pair)",
            remedy="write the character itself, in UTF-8",
        ) from None
    except json.JSONDecodeError as fault:
        raise InputError(
            f"malformed JSON: {fault.msg} (column {fault.colno})",
            remedy="one JSON object a line (JSON Lines)",
        ) from None
    except RecursionError:
        raise InputError("nested too deep", remedy="flatten it") from None
    except ValueError as fault:
        raise InputError(f"malformed JSON: {fault}", remedy="write it as JSON has it") from None
    if not isinstance(data, dict):
        raise InputError("not an object", remedy="one JSON object a line (JSON Lines)")
    return data


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"duplicate key {twice!r}")
    return data


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
