"""What a file holds, one record at a time and never more than one in memory.

A container is JSON Lines, one JSON document (an array of records, or an object with the records
somewhere inside), a folder or a zip archive of such files; each may be compressed with gzip. Arrays
are streamed, so a document may be larger than memory.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from vepa.errors import InputError, Where
from vepa.files import decode, name_of

__all__ = ["MAX_RECORD_BYTES", "NO_HEAD", "BadRecord", "Record", "load_json", "records"]

#: No record over this is held.
MAX_RECORD_BYTES = 256 * 1024 * 1024
#: Read ahead to see what a file is; records begin within it.
_AHEAD = 256 * 1024
_SUFFIXES = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".eval")
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_BLANK = b" \t\r\n\xef\xbb\xbf"


NO_HEAD: Mapping[str, Any] = MappingProxyType({})


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
        What the document says about all its records (see `records`); do not change it.
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


def records(
    path: str | Path, inside: Sequence[str] = (), *, whole: bool = False
) -> Iterator[Record | BadRecord]:
    """Stream the records of a file or folder (`-` is standard input).

    Parameters
    ----------
    path
        The file; of a folder every JSON file in it, in the order of their names.
    inside
        Keys under which a document that is one object holds its records in an array; what stands
        before that array is their head. Where the object has none of them, it is one record.
    whole
        Take a document that is an array as one record (a list of messages).

    Raises
    ------
    InputError
        When the path cannot be read at all.
    """
    for file, stream, head in _streams(path):
        with closing(stream):
            for found in _in_stream(stream, file, inside, whole):
                if head and isinstance(found, Record):
                    found = replace(found, head=head)
                yield found


_Opened = tuple[str, IO[bytes], Mapping[str, Any]]


def _streams(path: str | Path) -> Iterator[_Opened]:
    if str(path) == "-":
        if sys.stdin is None:
            raise InputError("standard input is closed", remedy="name a file, or pipe one in")
        yield from _unpacked(name_of(path), _Peeking(sys.stdin.buffer))
        return
    path = Path(path)
    if path.is_dir():
        files = sorted(
            (each for each in path.rglob("*") if each.is_file() and _is_named_json(each)),
            key=lambda each: [_natural(part) for part in each.relative_to(path).parts],
        )
        if not files:
            raise InputError(
                "no JSON file in this folder",
                where=Where(str(path)),
                remedy=f"files that end in {', '.join(_SUFFIXES)} are looked at",
            )
    else:
        files = [path]
    for file in files:
        yield from _unpacked(str(file), _Peeking(_open(file)))


def _is_named_json(path: Path) -> bool:
    return path.name.lower().endswith(_SUFFIXES) and not path.name.startswith(".")


def _natural(name: str) -> list[tuple[int, int | str]]:
    """`9.json` before `10.json`."""
    parts: list[tuple[int, int | str]] = []
    digits = ""
    for sign in name + "\0":
        if sign.isdecimal() and sign.isascii():
            digits += sign
            continue
        if digits:
            parts.append((0, int(digits)))
            digits = ""
        parts.append((1, sign))
    return parts


def _open(path: Path) -> IO[bytes]:
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise InputError("no such file", where=Where(str(path)), remedy="check the path") from None
    except OSError as error:
        raise InputError(
            f"cannot be opened: {error.strerror}", where=Where(str(path)), remedy="check the rights"
        ) from None


class _Peeking(io.BufferedReader):
    """A stream of which the beginning can be seen without reading it."""

    def __init__(self, stream: Any):
        super().__init__(stream if isinstance(stream, io.RawIOBase) else _Raw(stream), _AHEAD)


class _Raw(io.RawIOBase):
    """Any readable stream as a raw one, so that it can be buffered once more."""

    def __init__(self, stream: IO[bytes]):
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if self._stream is not getattr(sys.stdin, "buffer", None):
            self._stream.close()
        super().close()


def _unpacked(file: str, stream: _Peeking) -> Iterator[_Opened]:
    head = stream.peek(4)[:4]
    if head.startswith(_GZIP):
        yield file, _Peeking(gzip.GzipFile(fileobj=stream)), NO_HEAD
    elif head.startswith(_ZIP):
        yield from _members(file, stream)
    else:
        yield file, stream, NO_HEAD


def _members(file: str, stream: IO[bytes]) -> Iterator[_Opened]:
    """The JSON files of an archive; of one with a folder `samples` those, the others are its head.

    That is how Inspect keeps a log.
    """
    stream.close()
    try:
        with zipfile.ZipFile(file) as archive:
            names = [each for each in archive.namelist() if _is_named_json(Path(each))]
            samples = [each for each in names if each.startswith("samples/")]
            heads = [each for each in ("header.json", "_journal/start.json") if each in names]
            head = load_json(archive.read(heads[0]).decode()) if samples and heads else NO_HEAD
            for name in sorted(samples or names, key=_natural):
                yield f"{file}!{name}", _Peeking(archive.open(name)), head
    except (zipfile.BadZipFile, NotImplementedError, OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"this archive cannot be read: {error}",
            where=Where(file),
            remedy="unpack it, and name the folder (an archive cannot come from standard input)",
        ) from None


# -- one stream ------------------------------------------------------------------------------------


def _in_stream(
    stream: IO[bytes], file: str, inside: Sequence[str], whole: bool
) -> Iterator[Record | BadRecord]:
    try:
        head = stream.peek(_AHEAD)  # type: ignore[attr-defined]
        start = head.lstrip(_BLANK)[:1]
        if not start:
            yield BadRecord(file, 1, None, InputError("the file is empty"), final=True)
        elif _is_lines(head, start):
            yield from _lines(stream, file)
        elif start == b"[" and not whole:
            yield from _array(stream, file, "item")
        elif start == b"{" and inside:
            yield from _within(stream, file, inside)
        else:
            yield _document(stream, file)
    except (OSError, EOFError) as error:
        wrong = InputError(
            f"cannot be read: {error}", where=Where(file), remedy="check that the file is whole"
        )
        yield BadRecord(file, 1, None, wrong, final=True)


def _is_lines(head: bytes, start: bytes) -> bool:
    """Whether the first line is a JSON value of its own, and it is not the only one.

    A first line that is broken in a file of several that begin with `{` counts too, so that the
    lines after it are read.
    """
    if start not in b"{[":
        return False
    first, _, rest = head.lstrip(_BLANK).partition(b"\n")
    try:
        json.loads(first)
    except ValueError:
        return start == b"{" and rest.lstrip(b"\r\n").startswith(b'{"') and len(first) > 2
    except RecursionError:
        return True
    return start == b"{" or bool(rest.strip(_BLANK))


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
                    raw = stream.readline(MAX_RECORD_BYTES)
                raise InputError(f"a line of more than {MAX_RECORD_BYTES // 1024**2} MiB")
            yield Record(file, number, line, load_json(decode(raw, file, line).rstrip()))
        except InputError as error:
            yield BadRecord(file, number, line, error)


def _document(stream: IO[bytes], file: str) -> Record | BadRecord:
    raw = stream.read(MAX_RECORD_BYTES + 1)
    try:
        if len(raw) > MAX_RECORD_BYTES:
            raise InputError(f"one record of more than {MAX_RECORD_BYTES // 1024**2} MiB")
        return Record(file, 1, None, load_json(decode(raw, file)))
    except InputError as error:
        return BadRecord(file, 1, None, error, final=True)


def _within(stream: IO[bytes], file: str, inside: Sequence[str]) -> Iterator[Record | BadRecord]:
    """The items of the first array that stands under one of the keys, or else the whole object."""
    head = stream.peek(_AHEAD)  # type: ignore[attr-defined]
    key = next((each for each in inside if json.dumps(each).encode() in head), None)
    if key is None:
        yield _document(stream, file)
    else:
        found = MappingProxyType(_before(head, key))
        for record in _array(stream, file, f"{key}.item"):
            yield replace(record, head=found) if isinstance(record, Record) else record


def _before(head: bytes, key: str) -> dict[str, Any]:
    """Whole values that stand before a key of a document, of its first bytes."""
    import ijson

    found: dict[str, Any] = {}
    try:
        for name, value in ijson.kvitems(io.BytesIO(head), "", use_float=True):
            if name == key:
                break
            found[name] = value
    except (ijson.JSONError, ValueError):
        pass  # cut off in the middle of the array; what is wrong with the document is told later
    return found


def _array(stream: IO[bytes], file: str, prefix: str) -> Iterator[Record | BadRecord]:
    import ijson

    number = 0
    try:
        for item in ijson.items(stream, prefix, use_float=True):
            number += 1
            yield Record(file, number, None, item)
    except (ijson.JSONError, UnicodeDecodeError, ValueError) as error:
        what = "the end is missing" if isinstance(error, ijson.IncompleteJSONError) else str(error)
        wrong = InputError(
            f"malformed JSON after record {number}: {' '.join(what.split())[:200]}",
            remedy="nothing after it can be read; write one record a line (JSON Lines) to lose "
            "only the broken one",
        )
        yield BadRecord(file, number + 1, None, wrong, final=True)


def load_json(text: str) -> Any:
    """One JSON value.

    Raises
    ------
    InputError
        When it is none; the message tells the column.
    """
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as fault:
        place = f"line {fault.lineno}, column {fault.colno}" if fault.lineno > 1 else (
            f"column {fault.colno}"
        )  # fmt: skip
        raise InputError(f"malformed JSON: {fault.msg} ({place})") from None
    except RecursionError:
        raise InputError("nested too deep") from None
    except ValueError as fault:
        raise InputError(f"malformed JSON: {fault}") from None
    return data


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
