"""Members of a zip archive, also those that are compressed with Zstandard.

Inspect writes its logs so since 2026; Python's own `zipfile` reads them from 3.14 on, before that
with the help of the package `zstandard` where it is installed.
"""

from __future__ import annotations

import io
import struct
import sys
import zipfile
from importlib import import_module
from typing import IO, Any

from vepa.errors import InputError, Where

__all__ = ["open_member"]

#: Number of the method in an archive.
METHOD = 93
#: What stands before a member's bytes, without its name and extra fields.
_LOCAL_HEADER = struct.Struct("<26xHH")


def open_member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    """A stream of a member's bytes.

    Raises
    ------
    InputError
        When it is compressed in a way that nothing here can read.
    """
    info = archive.getinfo(name)
    if info.compress_type != METHOD or sys.version_info >= (3, 14):
        return archive.open(info)
    try:
        zstandard = import_module("zstandard")
    except ImportError:
        raise InputError(
            "this archive is compressed with Zstandard, which this Python does not read",
            where=Where(archive.filename),
            remedy="install the package zstandard, or write the log as JSON: "
            "inspect log convert LOG --to json --output-dir FOLDER",
        ) from None
    part = _Part(open(str(archive.filename), "rb"), info)  # noqa: SIM115 (closed with the stream)
    decompressor: Any = zstandard.ZstdDecompressor()
    stream: IO[bytes] = decompressor.stream_reader(part, read_across_frames=True)
    return stream


class _Part(io.RawIOBase):
    """The compressed bytes of one member."""

    def __init__(self, stream: IO[bytes], info: zipfile.ZipInfo):
        self._stream = stream
        stream.seek(info.header_offset)
        name, extra = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
        stream.seek(name + extra, io.SEEK_CUR)
        self._left = info.compress_size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(min(len(buffer), self._left))
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()
