"""The opt-in cache: a whole, good answer is paid for once."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from vepa.errors import InputError, Where
from vepa.files import canonical_json, sha256_of
from vepa.llm.messages import Message, ModelReply, ModelRequest, Usage
from vepa.llm.settings import ModelSettings
from vepa.llm.tally import Backend, Tally

__all__ = ["AnswerCache", "CachedModel"]

_VERSION = 1
#: Settings that change what a model answers; the others only change how it is reached.
_TELLING = {"api_base", "temperature", "max_tokens", "structured"}
_WAIT = 30.0


class AnswerCache:
    """Answers by model, settings and request; threads and processes may share it.

    Parameters
    ----------
    path
        The SQLite file; it is made, with its folder, when it is first used.

    Raises
    ------
    InputError
        When it is first used, and the file is no such cache.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._here = threading.local()

    @staticmethod
    def key(model: str, settings: ModelSettings, request: ModelRequest) -> str:
        """What an answer is found by."""
        telling = settings.model_dump(mode="json", include=_TELLING)
        return sha256_of(
            canonical_json({"model": model, "settings": telling, "request": request.content_hash})
        )

    def get(self, key: str) -> ModelReply | None:
        """The answer, at no cost and marked `cache`; None when there is none."""
        text = self.read(key)
        if text is None:
            return None
        data = json.loads(text)
        return ModelReply(
            message=Message.model_validate(data["message"]),
            finish=data["finish"],
            model=data["model"],
            source="cache",
            data=data["data"],
            usage=Usage(),
            repaired=data["repaired"],
        )

    def put(self, key: str, reply: ModelReply) -> None:
        """Keep an answer, if it is a whole and good one; the first for a key stays."""
        if reply.source != "provider" or reply.finish not in ("stop", "tools"):
            return
        if not reply.message.content and not reply.message.calls:
            return
        text = canonical_json(
            {
                "message": reply.message.model_dump(mode="json"),
                "finish": reply.finish,
                "model": reply.model,
                "data": reply.data,
                "repaired": reply.repaired,
            }
        )
        self.write({key: text})

    def read(self, key: str) -> str | None:
        """What is kept under a key, as it was written."""
        try:
            row = (
                self._database()
                .execute("SELECT answer FROM answers WHERE key = ?", (key,))
                .fetchone()
            )
        except sqlite3.Error as error:
            raise self._unusable(error) from None
        return None if row is None else str(row[0])

    def write(self, kept: Mapping[str, str]) -> None:
        """Keep texts under their keys; the first for a key stays."""
        made = time.time()
        try:
            self._database().executemany(
                "INSERT OR IGNORE INTO answers VALUES (?, ?, ?)",
                [(key, text, made) for key, text in kept.items()],
            )
        except sqlite3.Error as error:
            raise self._unusable(error) from None

    def close(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._here, "connection", None)
        if connection is not None:
            connection.close()
            self._here.connection = None

    def _database(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._here, "connection", None)
        if connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)
            self._prepare(connection)
            self._here.connection = connection
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        try:
            _write_ahead(connection)
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS answers "
                    "(key TEXT PRIMARY KEY, answer TEXT NOT NULL, made REAL NOT NULL)"
                )
                connection.execute(f"PRAGMA user_version = {_VERSION}")
                connection.execute("COMMIT")
            elif version != _VERSION:
                raise sqlite3.DatabaseError(f"made by another version ({version})")
        except sqlite3.Error:
            connection.close()
            raise

    def _unusable(self, error: sqlite3.Error) -> InputError:
        return InputError(
            f"this cache of answers cannot be used: {error}",
            where=Where(str(self.path)),
            remedy="remove the file; what it kept is asked, and paid for, again",
        )


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Set the journal's mode; SQLite does not wait by itself when others do the same just now."""
    until = time.monotonic() + _WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
        time.sleep(0.02)


class CachedModel:
    """A provider's model with a cache before it.

    Parameters
    ----------
    backend
        Who is asked when the cache has nothing.
    settings
        Its settings.
    cache
        The cache.
    """

    def __init__(self, backend: Backend, settings: ModelSettings, cache: AnswerCache):
        self._backend, self._settings, self._cache = backend, settings, cache

    @property
    def name(self) -> str:
        """As it was asked for."""
        return self._backend.name

    def answer(self, request: ModelRequest, tally: Tally) -> ModelReply:
        """The kept answer, or a new one."""
        key = self._cache.key(self.name, self._settings, request)
        kept = self._cache.get(key)
        if kept is not None:
            tally.source = "cache"
            return kept
        reply = self._backend.answer(request, tally)
        self._cache.put(key, reply)
        return reply
