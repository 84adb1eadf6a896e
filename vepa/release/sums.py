"""The list of hashes of a release, in the form of `sha256sum`, and what differs from it.

The list cannot hold its own hash. It is held against what the files of the release make it instead,
so that a change in the list itself shows as a line that is malformed or says something else.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from vepa.release.layout import SUMS
from vepa.release.problems import Problem

__all__ = ["sums_of", "write_sums", "wrong_sums"]

_LINE = re.compile(r"([0-9a-f]{64})  (\S(?:.*\S)?)")
_AGAIN = "get the release again, or make it again with `vepa corpus release`"
_CHUNK = 1 << 20


def write_sums(folder: Path) -> None:
    """Write the hash of every other file.

    Parameters
    ----------
    folder
        Of the release; nothing is written into it afterwards.
    """
    lines = [f"{sha256}  {name}\n" for name, sha256 in sums_of(folder).items()]
    (folder / SUMS).write_bytes("".join(lines).encode())


def sums_of(folder: Path) -> dict[str, str]:
    """File, relative to the folder -> SHA-256: sorted, without the list itself and links."""
    files = [each for each in folder.rglob("*") if each.is_file() and not each.is_symlink()]
    names = sorted(each.relative_to(folder).as_posix() for each in files)
    return {name: _sha256(folder / name) for name in names if name != SUMS}


def wrong_sums(folder: Path, found: dict[str, str]) -> Iterator[Problem]:
    """Every file that is missing, added or changed, and every line that is none.

    Parameters
    ----------
    folder
        Of the release.
    found
        Of `sums_of`.
    """
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            name = path.relative_to(folder).as_posix()
            yield Problem(name, "this is a link or no file at all", "a release holds plain files")
    try:
        data = (folder / SUMS).read_bytes()
    except OSError:
        yield Problem(SUMS, "there is no such file that can be read", _AGAIN)
        return
    listed, problems = _listed(data)
    yield from problems
    for name in sorted(listed.keys() | found.keys()):
        if name not in found:
            yield Problem(name, f"missing; {SUMS} lists it", _AGAIN)
        elif name not in listed:
            yield Problem(name, f"not listed in {SUMS}", f"take it out of the folder, or {_AGAIN}")
        elif listed[name] != found[name]:
            yield Problem(name, f"changed: its SHA-256 is not the one in {SUMS}", _AGAIN)
    if not problems and list(listed) != sorted(listed):
        yield Problem(SUMS, "the lines are not in their order", _AGAIN)


def _listed(data: bytes) -> tuple[dict[str, str], list[Problem]]:
    """Name -> hash as the list says, and what of it is malformed."""
    listed: dict[str, str] = {}
    problems: list[Problem] = []
    if not data.endswith(b"\n"):
        problems.append(Problem(SUMS, "the last line does not end", _AGAIN))
    # Bytes that are no text, and a carriage return or other line break, are part of no line.
    for number, line in enumerate(
        data.decode("utf-8", "replace").removesuffix("\n").split("\n"), 1
    ):
        match = _LINE.fullmatch(line)
        if match is None or match[2] in listed:
            what = "a file is listed twice" if match else "the line is not `SHA-256  FILE`"
            problems.append(Problem(SUMS, what, _AGAIN, line=number))
        else:
            listed[match[2]] = match[1]
    return listed, problems


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
