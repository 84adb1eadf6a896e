"""What a file holds, one record at a time and never more than one in memory.

A container is JSON Lines, one JSON document (an array of records, or an object with the records
somewhere inside), a folder or a zip archive of such files; each may be compressed with gzip. Arrays
are streamed, so a document may be larger than memory.
"""

from __future__ import annotations

import gzip
import io
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from vepa.corpus.importing.record import NO_HEAD, BadRecord, Record, load_json, whole_characters
from vepa.corpus.importing.stream import AHEAD, read_stream
from vepa.corpus.importing.zstd import open_member
from vepa.errors import InputError, Where
from vepa.files import decode, name_of

__all__ = ["NO_HEAD", "BadRecord", "Record", "load_json", "records"]

_SUFFIXES = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz", ".eval")
#: The head of an archive is held in memory.
_MOST_HEAD = 32 * 1024 * 1024
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"


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
    files = _files(path)
    for file in files:
        try:
            yield from _of_file(file, inside, whole)
        except InputError as error:
            if files == [path]:
                raise
            # One file of a folder that cannot be opened is a bad record among others.
            yield BadRecord(error.where.file or str(file), 1, None, error, final=True)


def _of_file(file: str | Path, inside: Sequence[str], whole: bool) -> Iterator[Record | BadRecord]:
    for name, stream, head in _streams(file):
        with closing(stream):
            for found in read_stream(stream, name, inside, whole):
                if head and isinstance(found, Record):
                    found = replace(found, head=head)
                yield found


_Opened = tuple[str, io.BufferedReader, Mapping[str, Any]]


def _files(path: str | Path) -> Sequence[str | Path]:
    """The path itself, or the JSON files of a folder."""
    if str(path) == "-" or not Path(path).is_dir():
        return [path]
    path = Path(path)
    files = sorted(
        (each for each in path.rglob("*") if _is_named_json(each) and each.is_file()),
        key=lambda each: [_natural(part) for part in each.relative_to(path).parts],
    )
    if not files:
        raise InputError(
            "no JSON file in this folder",
            where=Where(str(path)),
            remedy=f"files that end in {', '.join(_SUFFIXES)} are looked at",
        )
    return files


def _streams(path: str | Path) -> Iterator[_Opened]:
    if str(path) != "-":
        yield from _unpacked(str(path), _Peeking(_open(Path(path))))
    elif sys.stdin is None:
        raise InputError("standard input is closed", remedy="name a file, or pipe one in")
    else:
        yield from _unpacked(name_of(path), _Peeking(sys.stdin.buffer))


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
        super().__init__(stream if isinstance(stream, io.RawIOBase) else _Raw(stream), AHEAD)


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
    """The JSON files of an archive; of one with a header and a folder `samples` only the latter.

    That is how Inspect keeps a log.
    """
    stream.close()
    try:
        with zipfile.ZipFile(file) as archive:
            names = [each for each in archive.namelist() if _is_named_json(Path(each))]
            if not names:
                raise InputError("no JSON file in this archive", where=Where(file))
            heads = [each for each in ("header.json", "_journal/start.json") if each in names]
            samples = [each for each in names if heads and each.startswith("samples/")]
            head = _head(archive, heads[0]) if samples else NO_HEAD
            for name in sorted(samples or names, key=_natural):
                member: Any = open_member(archive, name)
                if name.lower().endswith(".gz"):
                    member = gzip.GzipFile(fileobj=member)
                yield f"{file}!{name}", _Peeking(member), head
    except (zipfile.BadZipFile, NotImplementedError, OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"this archive cannot be read: {error}",
            where=Where(file),
            remedy="unpack it, and name the folder (an archive cannot come from standard input)",
        ) from None


def _head(archive: zipfile.ZipFile, name: str) -> Mapping[str, Any]:
    with open_member(archive, name) as stream:
        raw = stream.read(_MOST_HEAD + 1)
    if len(raw) > _MOST_HEAD:
        raise InputError(
            f"a head of more than {_MOST_HEAD // 1024**2} MiB",
            where=Where(f"{archive.filename}!{name}"),
            remedy="check that this is the right file",
        )
    found = load_json(decode(whole_characters(raw), f"{archive.filename}!{name}"))
    return found if isinstance(found, dict) else NO_HEAD
