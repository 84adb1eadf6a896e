"""One record of a file as it was read, and what stands in its place where it is broken."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pydantic_core import from_json

from vepa.errors import InputError
from vepa.files import decode

__all__ = [
    "NO_HEAD",
    "BadRecord",
    "Record",
    "load_json",
    "record_of",
    "whole_characters",
    "whole_text",
]

NO_HEAD: Mapping[str, Any] = MappingProxyType({})

_HIGH, _LOW = rb"[dD][89abAB][0-9a-fA-F]{2}", rb"[dD][c-fC-F][0-9a-fA-F]{2}"
#: An escape of half a character without its other half; not after a backslash that is text.
_HALF = re.compile(
    rb"(?<!\\)((?:\\\\)*)\\u(?:" + _HIGH + rb"(?!\\u" + _LOW + rb")|(?<!\\u" + _HIGH + rb"\\u)"
    + _LOW + rb")"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Record:
    """One record as it was read.

    Attributes
    ----------
    file
        Where it stands; of an archive, `ARCHIVE!MEMBER`.
    number
        Its place in the file, from 1.
    line
        Of a JSON Lines file.
    data
        The JSON value.
    head
        What the document says about all its records; do not change it.
    """

    file: str
    number: int
    line: int | None
    data: Any
    head: Mapping[str, Any] = field(default_factory=lambda: NO_HEAD)


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that is no JSON.

    Attributes
    ----------
    file, number, line
        As of a `Record`.
    error
        What is wrong with it.
    final
        Whether nothing after it can be read: JSON Lines go on at the next line, a document that is
        broken in the middle does not.
    """

    file: str
    number: int
    line: int | None
    error: InputError
    final: bool = False


def record_of(raw: bytes, file: str, line: int | None = None) -> Any:
    """The JSON value that the bytes of a record spell.

    Raises
    ------
    InputError
        When they spell none.
    """
    try:  # half the time; what it refuses is read, or told, by the reader that takes more
        return from_json(raw, allow_inf_nan=False)
    except ValueError:
        return load_json(decode(whole_characters(raw), file, line).rstrip())


def load_json(text: str) -> Any:
    """One JSON value.

    Raises
    ------
    InputError
        When it is none; the message tells the column.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as fault:
        place = f"column {fault.colno}"
        if fault.lineno > 1:
            place = f"line {fault.lineno}, {place}"
        raise InputError(f"malformed JSON: {fault.msg} ({place})") from None
    except RecursionError:
        raise InputError("nested too deep") from None
    except ValueError as fault:
        raise InputError(f"malformed JSON: {fault}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


#: One for all records: to make one takes as long as to read a short text.
_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def whole_characters(raw: bytes) -> bytes:
    r"""JSON in which half a character (`\ud83d` alone) stands as U+FFFD.

    Programs that cut texts write such halves; no file could hold what is read from them.
    """
    if b"\\ud" not in raw and b"\\uD" not in raw:
        return raw
    return _HALF.sub(rb"\1\\ufffd", raw)


def whole_text(text: str) -> str:
    """`whole_characters` of a JSON text within a record."""
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return whole_characters(text.encode()).decode()
