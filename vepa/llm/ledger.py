"""The ledger: one line for every question to a model, kept through crashes, without any text."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vepa.errors import InputError, RunError, SettingError, Where
from vepa.files import canonical_json, read_lines

__all__ = ["Entry", "Ledger", "Totals"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One question.

    Attributes
    ----------
    time
        When its answer came, ISO 8601, UTC.
    model
        As it was asked for.
    source
        Who answered: `provider`, `scripted`, `recorded` or `cache`.
    request
        SHA-256 of what the model received.
    prompt, completion
        Tokens as the provider counted them.
    dollars
        US dollars; None without a known price.
    seconds
        Limits, retries and waits included.
    requests
        HTTP requests, retries and the repair included.
    lost
        Tokens at most of answers that were cut; no provider tells what it counted for these.
    outcome
        `stop`, `tools`, `length`, `declined`, or the kind of the error.
    tags
        What the caller wrote beside it: `purpose`, `episode`, …
    """

    time: str
    model: str
    source: str
    request: str
    prompt: int = 0
    completion: int = 0
    dollars: float | None = 0.0
    seconds: float = 0.0
    requests: int = 0
    lost: int = 0
    outcome: str = "stop"
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Totals:
    """Sums over entries.

    Attributes
    ----------
    questions
        Entries.
    requests, prompt, completion, lost, seconds
        As in `Entry`.
    dollars
        Of the entries with a price.
    unpriced
        Entries without one.
    """

    questions: int = 0
    requests: int = 0
    prompt: int = 0
    completion: int = 0
    lost: int = 0
    seconds: float = 0.0
    dollars: float = 0.0
    unpriced: int = 0

    def add(self, entry: Entry) -> None:
        """Count one more."""
        self.questions += 1
        self.requests += entry.requests
        self.prompt += entry.prompt
        self.completion += entry.completion
        self.lost += entry.lost
        self.seconds += entry.seconds
        if entry.dollars is None:
            self.unpriced += 1
        else:
            self.dollars += entry.dollars


class Ledger:
    """An append-only file of entries; threads and processes may share it.

    Parameters
    ----------
    path
        The file; it is made, with its folder, at the first entry.
    """

    def __init__(self, path: str | Path, *, _tags: Mapping[str, str] | None = None):
        self.path = Path(path)
        self._tags = dict(_tags or {})
        self._lock = threading.Lock()
        self._mended = False

    def tagged(self, **tags: str) -> Ledger:
        """The same file, with these tags beside every entry written through it."""
        names = {item.name for item in fields(Entry)}
        if names & set(tags):
            raise SettingError(
                f"a tag called {min(names & set(tags))!r}",
                remedy="entries have a field of that name already; choose another",
            )
        other = Ledger(self.path, _tags={**self._tags, **tags})
        other._lock = self._lock
        return other

    def write(self, **values: Any) -> None:
        """Append one entry, whole: one write, forced to the disk when money was spent for it.

        Raises
        ------
        RunError
            When the disk does not take it: a run without a ledger must not go on.
        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        entry = Entry(time=now, tags=self._tags, **values)
        line = (canonical_json(asdict(entry)) + "\n").encode()
        try:
            with self._lock:
                self._append(line, sync=entry.requests > 0)
        except OSError as error:
            raise RunError(f"the ledger {self.path} cannot be written: {error.strerror}") from None

    def entries(self) -> Iterator[Entry]:
        """Every whole entry, in order; half a last line, of a crash, is none.

        Raises
        ------
        InputError
            When another line is no entry.
        """
        if not self.path.exists():
            return
        whole = _ends_whole(self.path)
        held: tuple[int, str] | None = None
        for numbered in read_lines(self.path):
            if held is not None:
                yield self._read(*held)
            held = numbered
        if held is not None and whole:
            yield self._read(*held)

    def totals(self, by: str | None = None) -> dict[str, Totals]:
        """Sums, by a field (`model`, `source`, `outcome`) or a tag (`purpose`, `episode`, …).

        Returns
        -------
        dict
            Key is the field's or the tag's value, `""` where an entry has no such tag; without
            `by`, the one key `all`.
        """
        found: dict[str, Totals] = {} if by else {"all": Totals()}
        for entry in self.entries():
            if by is None:
                key = "all"
            elif by in ("model", "source", "outcome", "request"):
                key = str(getattr(entry, by))
            else:
                key = entry.tags.get(by, "")
            found.setdefault(key, Totals()).add(entry)
        return found

    def _append(self, line: bytes, *, sync: bool) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            _mend(descriptor)
            if os.write(descriptor, line) != len(line):
                raise OSError(28, "no space left")
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _read(self, number: int, text: str) -> Entry:
        try:
            return Entry(**json.loads(text))
        except (ValueError, TypeError):
            raise InputError(
                "this line is no entry of a ledger",
                where=Where(str(self.path), number),
                remedy="the file was changed by hand, or is no ledger; move it away",
            ) from None


def _mend(descriptor: int) -> None:
    """Cut half a line off the end: what was left by a crash must not spoil the next entry."""
    size = os.fstat(descriptor).st_size
    at = size
    while at and os.pread(descriptor, 1, at - 1) != b"\n":
        at -= 1
    if at != size:
        os.ftruncate(descriptor, at)


def _ends_whole(path: Path) -> bool:
    with open(path, "rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        if not size:
            return True
        stream.seek(size - 1)
        return stream.read(1) == b"\n"
