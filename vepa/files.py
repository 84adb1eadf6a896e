"""Files in and out: bounded reads with clear errors, atomic writes, content hashes."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO

from vepa.errors import InputError, SettingError, Where

__all__ = [
    "MAX_DOCUMENT_BYTES",
    "MAX_LINE_BYTES",
    "canonical_json",
    "check_readable",
    "check_writable",
    "plainly_json",
    "read_lines",
    "read_text",
    "sha256_of",
    "utf8_text",
    "write_atomic",
    "write_changed",
    "write_output",
    "writing_atomic",
    "writing_output",
]

#: A policy, schema or settings file larger than this is refused before it is parsed.
MAX_DOCUMENT_BYTES = 32 * 1024 * 1024
#: A JSON line larger than this is refused before it is parsed.
MAX_LINE_BYTES = 1024 * 1024
#: Python refuses to spell whole numbers that are much longer.
_MAX_BITS = 1024


def _open(path: str | Path) -> Any:
    if str(path) == "-":
        if sys.stdin is None:  # closed by whoever started this process
            raise InputError("standard input is closed", remedy="name a file, or pipe one in")
        return sys.stdin.buffer
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise InputError("no such file", where=Where(str(path)), remedy="check the path") from None
    except IsADirectoryError:
        raise InputError(
            "this is a folder, not a file", where=Where(str(path)), remedy="name a file in it"
        ) from None
    except OSError as error:
        raise InputError(
            f"cannot be opened: {error.strerror}", where=Where(str(path)), remedy="check the rights"
        ) from None


@contextmanager
def _reading(path: str | Path) -> Iterator[Any]:
    """An open file; a device that fails while it is read is told like one that cannot be opened."""
    handle = _open(path)
    try:
        yield handle
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}",
            where=Where(name_of(path)),
            remedy="check that this is the right file",
        ) from None
    finally:
        if str(path) != "-":
            handle.close()


def name_of(path: str | Path) -> str:
    """How messages call a path; standard input has a name of its own."""
    return "<stdin>" if str(path) == "-" else str(path)


def read_text(path: str | Path, *, limit: int = MAX_DOCUMENT_BYTES) -> str:
    """Read one text document of at most `limit` bytes; `-` is standard input.

    Raises
    ------
    InputError
        When the file is missing, too large, binary or not UTF-8.
    """
    with _reading(path) as handle:
        data = handle.read(limit + 1)
    if len(data) > limit:
        raise InputError(
            f"larger than {limit // 1024**2} MiB",
            where=Where(name_of(path), data.count(b"\n", 0, limit) + 1),
            remedy="check that this is the right file, or split it",
        )
    return decode(data, name_of(path))


def decode(data: bytes, file: str, line: int | None = None) -> str:
    """Bytes to text, refusing what is no UTF-8 text."""
    null = data.find(b"\x00")
    if null >= 0:
        raise InputError(
            "this is a binary file",
            where=Where(file, line if line is not None else data.count(b"\n", 0, null) + 1),
            remedy="a UTF-8 text file is expected here",
        )
    try:
        return data.decode("utf-8-sig" if line in (None, 1) else "utf-8")
    except UnicodeDecodeError as error:
        at = line if line is not None else data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"not UTF-8 text (byte {error.start})",
            where=Where(file, at),
            remedy="save the file as UTF-8",
        ) from None


def read_lines(path: str | Path, *, limit: int = MAX_LINE_BYTES) -> Iterator[tuple[int, str]]:
    """Stream the non-blank lines of a text file as (line number from 1, text).

    Memory stays bounded: no line over `limit` bytes is ever held.

    Raises
    ------
    InputError
        When the file is missing or binary, or a line is too long or not UTF-8.
    """
    file, number = name_of(path), 0
    with _reading(path) as handle:
        while raw := handle.readline(limit + 1):
            number += 1
            if len(raw) > limit:
                raise InputError(
                    f"a line of more than {limit // 1024} KiB",
                    where=Where(file, number),
                    remedy="one JSON record a line is expected; check that this is the right file",
                )
            text = decode(raw, file, number)
            if text.strip():
                yield number, text


@contextmanager
def writing_atomic(path: str | Path) -> Iterator[BinaryIO]:
    """A stream into a file that a reader sees only when it is whole, or else as it was before.

    Temporary file in the same folder, fsync, rename, fsync of the folder. A link stays a link: the
    file that it leads to is written. A device or a pipe is never replaced by a file. An exception
    leaves the old file as it was.
    """
    if _is_special(path):
        with open(path, "wb") as stream:
            yield stream
        return
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    fd, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(fd, "wb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_atomic(path: str | Path, data: str | bytes) -> Path:
    """Write a file so that a reader sees the old content or the new one (see `writing_atomic`)."""
    with writing_atomic(path) as stream:
        stream.write(data.encode("utf-8") if isinstance(data, str) else data)
    return Path(path)


def write_changed(path: Path, text: str) -> None:
    """Write a file as `write_atomic` does; one that says the same already is not touched."""
    if not path.is_file() or path.read_bytes() != text.encode():
        write_atomic(path, text)


@contextmanager
def writing_output(path: str | Path) -> Iterator[BinaryIO]:
    """`writing_atomic` for a file that the user named.

    Raises
    ------
    SettingError
        When it cannot be written.
    """
    check_writable(path)
    try:
        with writing_atomic(path) as stream:
            yield stream
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from None


def write_output(path: str | Path, data: str | bytes) -> Path:
    """`write_atomic` for a file that the user named.

    Raises
    ------
    SettingError
        When it cannot be written.
    """
    with writing_output(path) as stream:
        stream.write(data.encode("utf-8") if isinstance(data, str) else data)
    return Path(path)


def check_readable(path: str | Path) -> None:
    """Raise the `InputError` of every other reader where a file cannot be opened."""
    stream = _open(path)
    if str(path) != "-":
        stream.close()


def check_writable(path: str | Path) -> None:
    """Raise `SettingError` when a file cannot be written, before any work is done for it."""
    if str(path) == "-":
        raise SettingError(
            "`-` is standard input, no file to write to",
            remedy="name a file, or leave the option out: the result then goes to stdout",
        )
    target = Path(os.path.realpath(path))
    if _is_special(path):
        return
    folder = next(place for place in target.parents if place.exists())
    if target.is_dir():
        raise _unwritable(path, "it is a folder")
    if not folder.is_dir():
        raise _unwritable(path, f"{folder} is no folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unwritable(path, f"{folder} is read-only")


def _unwritable(path: str | Path, why: str) -> SettingError:
    return SettingError(
        f"cannot be written: {why}",
        where=Where(str(path)),
        remedy="name a file in a folder that you may write to",
    )


def _is_special(path: str | Path) -> bool:
    """Whether this is a device, a pipe or a socket."""
    place = Path(path)
    return place.exists() and not place.is_file() and not place.is_dir()


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def canonical_json(value: Any) -> str:
    """The one spelling of a JSON value that is hashed: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def plainly_json(value: Any, depth: int = 32) -> bool:
    """Whether a value is surely one that `canonical_json` spells; False may still be one.

    Much faster than to spell it: what came out of a JSON reader is surely one, unless it is nested
    deeper than `depth` or has a number that is no number.
    """
    kind = value.__class__
    if kind is dict and depth:
        for name, each in value.items():
            if name.__class__ is not str:
                return False
            if each.__class__ is not str and not plainly_json(each, depth - 1):
                return False
        return True
    if kind is list and depth:
        return all(plainly_json(each, depth - 1) for each in value)
    if kind is int:
        known: bool = value.bit_length() < _MAX_BITS
        return known
    if kind is float:
        return isfinite(value)
    return value is None or kind is str or kind is bool


def utf8_text(text: str) -> str:
    """A text as UTF-8 can hold it: halves of a pair are joined, a half alone becomes U+FFFD.

    JSON can carry half a character (`"\\ud83d"`), and services that cut texts send such halves.
    """
    if text.isascii():
        return text
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def sha256_of(data: str | bytes) -> str:
    """Hex SHA-256 of text (UTF-8) or bytes."""
    raw = data.encode("utf-8") if isinstance(data, str) else data
    return hashlib.sha256(raw).hexdigest()
