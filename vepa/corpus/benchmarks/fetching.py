"""Files of a benchmark into the cache: from upstream or from a path, never unchecked."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from vepa.corpus.benchmarks.downloads import MAX_BYTES, download
from vepa.corpus.benchmarks.listing import Benchmark, BenchmarkFile
from vepa.corpus.importing.reading import Import
from vepa.errors import InputError, RunError, SettingError, Where
from vepa.files import canonical_json, read_text, write_atomic
from vepa.project import cache_root

__all__ = ["Fetched", "fetch", "is_fetched", "place_of"]

_POINTER = b"version https://git-lfs"
_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Fetched:
    """A benchmark in the cache.

    Attributes
    ----------
    path
        What `vepa import` takes: the file, or the folder where there are several.
    records
        How many traces are in it.
    sums
        Name of each file -> its SHA-256.
    new
        Names of the files that came now.
    pinned
        Names of the files whose checksum nobody told: from now on this one holds.
    """

    path: Path
    records: int
    sums: dict[str, str]
    new: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()


def place_of(benchmark: Benchmark, cache: Path | None = None) -> Path:
    """Where a benchmark is or will be: its file, or the folder of its files."""
    folder = _folder(cache) / benchmark.name
    return folder / benchmark.files[0].name if len(benchmark.files) == 1 else folder


def is_fetched(benchmark: Benchmark, cache: Path | None = None) -> bool:
    """Whether all files are in the cache; looks at no content."""
    folder = _folder(cache) / benchmark.name
    return all((folder / file.name).is_file() for file in benchmark.files)


def fetch(
    benchmark: Benchmark,
    source: str | Path | None = None,
    *,
    cache: Path | None = None,
    note: Callable[[str], None] | None = None,
) -> Fetched:
    """Bring the files of a benchmark into the cache; those that are there are checked.

    Parameters
    ----------
    benchmark
        What is listed about it.
    source
        A file, or a folder with the files under their names or their paths; None downloads.
    cache
        The cache folder; the user's own when left out.
    note
        Is told what is done, before it is done.

    Raises
    ------
    InputError
        When a file is not what is listed (checksum, size, format), or is missing in `source`.
    RunError
        When it cannot be downloaded.
    SettingError
        When the cache cannot be written to.
    """
    tell = note or (lambda _: None)
    root = _folder(cache)
    pins = _pins(root, benchmark)
    given = {} if source is None else _given(benchmark, Path(source))
    sums: dict[str, str] = {}
    new: list[str] = []
    pinned: list[str] = []
    for file in benchmark.files:
        target = root / benchmark.name / file.name
        known = file.sha256 or pins.get(file.name)
        if target.is_file():
            sums[file.name] = _checked(target, known, file.name)
        else:
            sums[file.name] = _bring(benchmark, file, known, given.get(file.name), target, tell)
            new.append(file.name)
        if known is None:
            pinned.append(file.name)
            pins[file.name] = sums[file.name]
            write_atomic(_pins_file(root, benchmark), canonical_json(pins) + "\n")
            tell(f"{file.name}: no checksum is listed; pinned: sha256 {sums[file.name]}")
    path = place_of(benchmark, cache)
    count = _count(path, benchmark)
    if benchmark.records is not None and count != benchmark.records:
        tell(f"{benchmark.name}: {count} records, {benchmark.records} are listed")
    return Fetched(path, count, sums, tuple(new), tuple(pinned))


def _bring(
    benchmark: Benchmark,
    file: BenchmarkFile,
    known: str | None,
    given: Path | None,
    target: Path,
    note: Callable[[str], None],
) -> str:
    """One file into its place, when it is whole and what it has to be; its checksum."""
    root = target.parents[len(Path(file.name).parts)]
    limit = MAX_BYTES if file.bytes is None else file.bytes
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root, prefix=".fetch-") as room:
            part = Path(room) / Path(file.name).name
            with open(part, "wb") as stream:
                if given is None:
                    size = f", {file.bytes / 1e6:.1f} MB" if file.bytes else ""
                    note(f"downloading {benchmark.url(file)}{size} (licence: {benchmark.licence})")
                    found, count = _downloaded(benchmark, file, stream, limit)
                else:
                    note(f"copying {given}")
                    found, count = _copied(given, stream, limit)
                stream.flush()
                os.fsync(stream.fileno())
            shown = str(given) if given is not None else benchmark.url(file)
            _check(part, file, known, found, count, shown)
            _count(part, benchmark, shown)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(part, target)
    except OSError as error:
        raise SettingError(
            f"the cache cannot be written to: {error.strerror}",
            where=Where(str(error.filename or root)),
            remedy="set VEPA_CACHE to a folder that you may write to",
        ) from None
    return found


def _downloaded(
    benchmark: Benchmark, file: BenchmarkFile, stream: BinaryIO, limit: int
) -> tuple[str, int]:
    try:
        return download(benchmark.url(file), stream, limit=limit)
    except RunError as error:
        raise RunError(
            f"{error}\n  remedy: get the file by other ways ({benchmark.home} tells of it), then "
            f"`vepa fetch {benchmark.name} --from PATH`"
        ) from None


def _copied(given: Path, stream: BinaryIO, limit: int) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    with open(given, "rb") as source:
        while (chunk := source.read(_CHUNK)) and size <= limit:
            size += len(chunk)
            digest.update(chunk)
            stream.write(chunk)
    if size > limit:
        raise InputError(
            f"larger than the {limit:,} bytes that are listed",
            where=Where(str(given)),
            remedy="check that this is the file of this benchmark",
        )
    return digest.hexdigest(), size


def _check(
    part: Path, file: BenchmarkFile, known: str | None, found: str, size: int, shown: str
) -> None:
    with open(part, "rb") as stream:
        if stream.read(len(_POINTER)) == _POINTER:
            raise InputError(
                "this is a pointer of Git LFS, not the file itself",
                where=Where(shown),
                remedy="fetch it with `git lfs pull`, and name it with --from",
            )
    if file.bytes is not None and size != file.bytes:
        raise InputError(
            f"{size:,} bytes, where {file.bytes:,} are listed",
            where=Where(shown),
            remedy="the file is cut off, or another version than the listed one",
        )
    if known is not None and found != known:
        raise InputError(
            f"its checksum is {found}, not {known}",
            where=Where(shown),
            remedy="it is damaged, or another version than the one that is listed in "
            "data/benchmarks.yaml or was pinned before (pins lie in the cache, in NAME.pins.json)",
        )


def _checked(target: Path, known: str | None, name: str) -> str:
    """Checksum of a file that is in the cache."""
    with open(target, "rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if known is not None and found != known:
        raise InputError(
            f"the file in the cache was changed: its checksum is {found}, not {known}",
            where=Where(str(target)),
            remedy=f"remove it, and fetch {name} again",
        )
    return found


def _count(path: Path, benchmark: Benchmark, shown: str | None = None) -> int:
    """How many traces a file or folder has."""
    source = Import(path, benchmark.format)
    count = sum(1 for _ in source)
    report = source.report
    if report.skipped or not count:
        first = report.told[0] if report.told else None
        raise InputError(
            f"{report.skipped} of {report.records} records are not of the format "
            f"{benchmark.format}" + (f", first: record {first.record}: {first.message}" if first
            else ""),
            where=Where(shown or str(path)),
            remedy="upstream has changed it, or this is another file",
        )  # fmt: skip
    return count


def _given(benchmark: Benchmark, source: Path) -> dict[str, Path]:
    """Name -> file, of what the user named."""
    names = [file.name for file in benchmark.files]
    if source.is_file():
        if len(names) == 1:
            return {names[0]: source}
        raise InputError(
            f"{benchmark.name} has {len(names)} files",
            where=Where(str(source)),
            remedy=f"name the folder that has them: {', '.join(names[:3])}, …",
        )
    found = {}
    for name in names:
        places = [source / name, source / Path(name).name]
        at = next((each for each in places if each.is_file()), None)
        if at is None:
            raise InputError(
                f"no {name} is here" if source.is_dir() else "no such file or folder",
                where=Where(str(source)),
                remedy=f"{benchmark.home} tells of the files",
            )
        found[name] = at
    return found


def _folder(cache: Path | None) -> Path:
    return (cache or cache_root()) / "benchmarks"


def _pins_file(root: Path, benchmark: Benchmark) -> Path:
    return root / f"{benchmark.name}.pins.json"


def _pins(root: Path, benchmark: Benchmark) -> dict[str, str]:
    """Checksums that were pinned when files first came; a file that is removed keeps its pin."""
    path = _pins_file(root, benchmark)
    if not path.is_file():
        return {}
    try:
        data = json.loads(read_text(path))
    except ValueError:
        data = None
    if not isinstance(data, dict) or not all(isinstance(each, str) for each in data.values()):
        raise InputError(
            "these are no pinned checksums",
            where=Where(str(path)),
            remedy="remove the file; checksums are then pinned anew",
        )
    return data
