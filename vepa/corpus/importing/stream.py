"""The records of one stream of bytes: JSON Lines, an array, or one document (or several)."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import IO, Any

from vepa.corpus.importing.record import BadRecord, Record, record_of, whole_characters
from vepa.errors import InputError

__all__ = ["AHEAD", "MAX_RECORD_BYTES", "read_stream"]

#: No record over this is held.
MAX_RECORD_BYTES = 256 * 1024 * 1024
#: Read ahead to see what a file is; records begin within it.
AHEAD = 256 * 1024
#: The reader of arrays goes through a text with escapes again for each piece that it is handed.
_AT_ONCE = 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n" + _BOM
#: The longest escape of one character, a pair.
_PAIR = len(rb"\ud83d\ude00")


def read_stream(
    stream: io.BufferedReader, file: str, inside: Sequence[str], whole: bool
) -> Iterator[Record | BadRecord]:
    """The records of one stream, of which `AHEAD` bytes can be peeked at; see `records`."""
    number = 0
    try:
        for found in _found(stream, file, inside, whole):
            number = found.number
            yield found
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        wrong = InputError(f"cannot be read: {error}", remedy="check that the file is whole")
        yield BadRecord(file, number + 1, None, wrong, final=True)


def _found(
    stream: io.BufferedReader, file: str, inside: Sequence[str], whole: bool
) -> Iterator[Record | BadRecord]:
    head = stream.peek(AHEAD)
    start = head.lstrip(_BLANK)[:1]
    if not start:
        yield BadRecord(file, 1, None, InputError("the file is empty"), final=True)
        return
    kind = _kind(head, start)
    if kind == "array" and not whole:
        yield from _array(stream, file, "item")
        return
    if kind == "document" and _is_followed(head):
        yield from _array(stream, file, "", several=True)
        return
    key = _first_array(head, inside) if kind != "lines" and start == b"{" and inside else None
    if key is not None:
        before = MappingProxyType(_before(head, key))
        for record in _array(stream, file, f"{key}.item"):
            yield replace(record, head=before) if isinstance(record, Record) else record
    elif kind in ("lines", "line"):
        yield from _lines(stream, file)
    else:
        yield _document(stream, file)


def _kind(head: bytes, start: bytes) -> str:
    """`lines`, `line` (one, or one so far), `array` or `document`.

    A first line that is broken in a file of several that begin with `{` makes lines too, so that
    the lines after it are read.
    """
    rest_kind = "array" if start == b"[" else "document"
    if start not in b"{[":
        return rest_kind
    first, end, rest = head.lstrip(_BLANK).partition(b"\n")
    if not end and len(head) >= AHEAD and start == b"{":
        return "line"
    try:
        json.loads(first)
    except ValueError:
        several = start == b"{" and len(first) > 2 and _has_whole_line(rest)
        return "lines" if several else rest_kind
    except RecursionError:
        return "lines" if rest.strip(_BLANK) else rest_kind
    if rest.strip(_BLANK):
        return "lines"
    return "line" if start == b"{" else rest_kind


def _is_followed(head: bytes) -> bool:
    """Whether a document of several lines has another one behind it, as consoles print them."""
    text = head.decode("utf-8", "ignore").lstrip("\ufeff \t\r\n")
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return text[end:].lstrip().startswith("{")


def _has_whole_line(rest: bytes) -> bool:
    """Whether one of the next lines is a JSON object of its own; one that is cut off may be."""
    *lines, last = rest.split(b"\n")
    for line in [each.strip() for each in lines if each.strip()][:5]:
        if not line.startswith(b'{"'):
            return False
        try:
            json.loads(line)
        except (ValueError, RecursionError):
            continue
        return True
    return last.startswith(b'{"') and not any(map(bytes.strip, lines))


def _lines(stream: IO[bytes], file: str) -> Iterator[Record | BadRecord]:
    number = line = 0
    while raw := stream.readline(MAX_RECORD_BYTES + 1):
        line += 1
        if not raw.strip(_BLANK):
            continue
        number += 1
        try:
            if len(raw) > MAX_RECORD_BYTES:
                while raw and not raw.endswith(b"\n"):
                    raw = stream.readline(AHEAD)
                raise _too_large("a line")
            yield Record(file, number, line, record_of(raw, file, line))
        except InputError as error:
            yield BadRecord(file, number, line, error)


def _document(stream: IO[bytes], file: str) -> Record | BadRecord:
    raw = stream.read(MAX_RECORD_BYTES + 1)
    try:
        if len(raw) > MAX_RECORD_BYTES:
            raise _too_large("one record")
        return Record(file, 1, None, record_of(raw, file))
    except InputError as error:
        return BadRecord(file, 1, None, error, final=True)


def _too_large(what: str) -> InputError:
    return InputError(
        f"{what} of more than {MAX_RECORD_BYTES // 1024**2} MiB",
        remedy="write one record a line (JSON Lines)",
    )


# -- documents that are larger than memory ---------------------------------------------------------


def _first_array(head: bytes, inside: Sequence[str]) -> str | None:
    """The first of the keys under which the document itself, no part of it, has an array."""
    import ijson

    key = None
    try:
        for prefix, event, value in ijson.parse(io.BytesIO(_bare(head)), use_float=True):
            if prefix == "" and event == "map_key":
                key = value
            elif event == "start_array" and prefix == key and key in inside:
                return str(key)
    except (ijson.JSONError, ValueError):
        pass  # cut off; what is wrong with the document is told when it is read
    return None


def _before(head: bytes, key: str) -> dict[str, Any]:
    """Whole values that stand before a key of a document, of its first bytes."""
    import ijson

    found: dict[str, Any] = {}
    try:
        for name, value in ijson.kvitems(io.BytesIO(_bare(head)), "", use_float=True):
            if name == key:
                break
            found[name] = value
    except (ijson.JSONError, ValueError):
        pass  # cut off in the middle of the array; what is wrong is told when it is read
    return found


def _bare(head: bytes) -> bytes:
    return whole_characters(head.removeprefix(_BOM))


def _array(
    stream: IO[bytes], file: str, prefix: str, *, several: bool = False
) -> Iterator[Record | BadRecord]:
    import ijson

    number = 0
    source = _Escapes(stream)
    try:
        for item in ijson.items(
            source, prefix, buf_size=_AT_ONCE, use_float=True, multiple_values=several
        ):
            number += 1
            source.taken = 0
            yield Record(file, number, None, item)
    except InputError as error:
        yield BadRecord(file, number + 1, None, error, final=True)
    except (ijson.JSONError, ValueError) as error:
        yield BadRecord(file, number + 1, None, _broken(error, number), final=True)


def _broken(error: Exception, number: int) -> InputError:
    words = error.args[0] if error.args else ""
    text = words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
    first = text.partition("\n")[0].strip()
    what = "the end is missing" if "premature EOF" in first else first
    return InputError(
        f"malformed JSON after record {number}: {what}",
        remedy="nothing after it can be read; write one record a line (JSON Lines) to lose "
        "only the broken one",
    )


class _Escapes:
    """A stream without byte order mark and without halves of characters (`whole_characters`).

    Attributes
    ----------
    taken
        Bytes since the last record; one record too many of them is refused.
    """

    def __init__(self, stream: IO[bytes]):
        self._stream = stream
        self._rest = b""
        self._begun = False
        self.taken = 0

    def read(self, size: int = -1) -> bytes:
        if size == 0:
            return b""
        new = self._stream.read(size)
        self.taken += len(new)
        if self.taken > MAX_RECORD_BYTES:
            raise _too_large("one record")
        if not self._begun:
            new, self._begun = new.removeprefix(_BOM), True
        data, self._rest = self._rest + new, b""
        if new and (at := data.rfind(b"\\", -_PAIR)) >= 0:
            cut = _before_escape(data, at)
            if cut:  # what is cut here is whole only with what comes next
                data, self._rest = data[:cut], data[cut:]
        return whole_characters(data)


def _before_escape(data: bytes, at: int) -> int:
    """Where the escapes begin of which the backslash at `at` is the last one."""
    while True:
        while at and data[at - 1 : at] == b"\\":
            at -= 1
        before = at - _PAIR // 2
        if before < 0 or data[before : before + 2] != b"\\u":
            return at
        at = before
