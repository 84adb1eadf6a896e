"""Judgements as they come: each is on disk before the next is asked for.

One file a reader. A killed run leaves at most half a line, which the next one cuts off; what stands
there whole is never asked for again, as long as it was given under the same rules, by the same
model.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from pydantic import ValidationError

from vepa.annotate.asking import Failure, Judged
from vepa.corpus.labels import Label
from vepa.errors import RunError, SettingError

__all__ = ["LabelJournal"]

#: Costs nothing to ask for again: not worth a wait for the disk each.
_FREE = ("recorded", "scripted")


class LabelJournal:
    """The judgements of one reader; a context manager that holds the file for this process.

    Parameters
    ----------
    path
        The file, JSON Lines; made when it is missing.
    how
        What a judgement depends on beside the step: hash over rules, prompt, model, settings. Lines
        of another one stay in the file, and are not used.

    Raises
    ------
    SettingError
        When another process holds the file.
    RunError
        When it cannot be read or written.
    """

    def __init__(self, path: Path, how: str):
        self._path, self._how = path, how
        self._known: dict[str, Judged] = {}
        self._lock = threading.Lock()
        self._stream: BinaryIO | None = None

    def __enter__(self) -> LabelJournal:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            stream = open(self._path, "ab+")
        except OSError as error:
            raise self._unusable(error) from error
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            stream.close()
            raise SettingError(
                f"another process writes judgements into {self._path}",
                remedy="wait for it, or stop it",
            ) from None
        self._stream = stream
        self._load()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def __len__(self) -> int:
        """Judgements and failures that can be used."""
        return len(self._known)

    def get(self, item: str) -> Judged | None:
        """What was said about an item; None when nothing was."""
        return self._known.get(item)

    def judged(self) -> list[Judged]:
        """All of them, in the order in which they came."""
        return list(self._known.values())

    def add(self, judged: Judged) -> None:
        """Keep a judgement or a failure; what was paid for is on disk when this returns.

        Raises
        ------
        RunError
            When it cannot be written: what was paid for would be lost, so nothing more is asked.
        """
        entry = {"how": self._how, "judged": judged.model_dump(mode="json", exclude_none=True)}
        line = json.dumps(entry, ensure_ascii=False).encode() + b"\n"
        with self._lock:
            stream = self._held()
            try:
                stream.write(line)
                stream.flush()
                if not isinstance(judged, Label) or judged.origin not in _FREE:
                    os.fsync(stream.fileno())
            except OSError as error:
                raise self._unusable(error) from error
            self._known[judged.item] = judged

    def _held(self) -> BinaryIO:
        if self._stream is None:
            raise RunError(f"{self._path} is not open")
        return self._stream

    def _load(self) -> None:
        stream = self._held()
        stream.seek(0)
        content = stream.read()
        good = 0
        while (end := content.find(b"\n", good) + 1) > 0:
            if not self._take(content[good:end]):
                break
            good = end
        if good != len(content):  # half a line, of a kill
            stream.truncate(good)

    def _take(self, line: bytes) -> bool:
        try:
            entry = json.loads(line)
            data = entry["judged"]
            kind = Label if "judgement" in data else Failure
            judged = kind.model_validate_json(json.dumps(data))
        except (ValueError, KeyError, TypeError, ValidationError):
            return False
        if entry.get("how") == self._how:
            self._known[judged.item] = judged
        return True

    def _unusable(self, error: OSError) -> RunError:
        return RunError(f"judgements cannot be kept in {self._path}: {error.strerror or error}")
