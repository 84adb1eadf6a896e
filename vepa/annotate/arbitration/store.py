"""The queue's file: SQLite in WAL mode, so that a server, a terminal and a flow can share it."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from vepa.errors import RunError, SettingError, Where

__all__ = ["QueueStore"]

_VERSION = "1"
#: Seconds that one process waits for another's write.
_WAIT = 30.0
_TABLES = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS disputes (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  item TEXT NOT NULL UNIQUE,
  dispute TEXT NOT NULL,
  reasons TEXT NOT NULL,
  withdrawn INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE IF NOT EXISTS gold (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  item TEXT NOT NULL UNIQUE,
  gold TEXT NOT NULL,
  known TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS leases (
  token TEXT PRIMARY KEY,
  place TEXT NOT NULL UNIQUE,
  item TEXT NOT NULL,
  gold INTEGER NOT NULL,
  who TEXT NOT NULL,
  desk TEXT NOT NULL,
  until REAL NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS skips (
  item TEXT NOT NULL,
  who TEXT NOT NULL,
  why TEXT NOT NULL,
  at TEXT NOT NULL,
  PRIMARY KEY (item, who)
) STRICT;
CREATE TABLE IF NOT EXISTS verdicts (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  token TEXT NOT NULL UNIQUE,
  item TEXT NOT NULL,
  who TEXT NOT NULL,
  gold INTEGER NOT NULL,
  verdict TEXT NOT NULL,
  undone TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS disputes_open ON disputes (withdrawn, item);
CREATE INDEX IF NOT EXISTS verdicts_of_item ON verdicts (item, undone);
CREATE INDEX IF NOT EXISTS verdicts_of_person ON verdicts (who, undone);
"""


class QueueStore:
    """A connection to the file; threads may share it, processes open their own.

    Parameters
    ----------
    path
        The file; it is made, with its folder, when it is missing.
    facts
        What has to be the same for everybody who opens it, by name: the taxonomy.

    Raises
    ------
    SettingError
        When the file is no queue, or was made under other facts.
    RunError
        When it cannot be opened.
    """

    def __init__(self, path: Path, facts: Mapping[str, str]):
        self.path = path
        self._lock = threading.RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(
                path, timeout=_WAIT, isolation_level=None, check_same_thread=False
            )
        except (OSError, sqlite3.Error) as error:
            raise RunError(f"the queue {path} cannot be opened: {error}") from None
        try:
            self._check_kind()
            self._into_wal()
            # A verdict is somebody's work: it is on disk when they are told that it was taken.
            self._database.execute("PRAGMA synchronous = FULL")
            with self.writing() as database:
                for statement in _TABLES.split(";"):
                    database.execute(statement)
            self._settle_facts({"version": _VERSION, **facts})
        except BaseException as error:
            self._database.close()
            if isinstance(error, sqlite3.Error):
                raise RunError(f"the queue {path} cannot be opened: {error}") from None
            raise

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._database.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The database for questions, as it is at one moment."""
        with self._lock, self._translated():
            if self._database.in_transaction:  # a question within a question
                yield self._database
                return
            self._database.execute("BEGIN")
            try:
                yield self._database
            finally:
                self._database.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that nobody else writes beside; it is taken back on any error."""
        with self._lock, self._translated():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise RunError(f"the queue {self.path} cannot be used: {error}") from error

    def _check_kind(self) -> None:
        """Refuse a file that is something else, before anything is written into it."""
        try:
            rows = self._database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = {row[0] for row in rows}
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            raise self._not_a_queue(str(error)) from None
        if tables and not {"meta", "disputes", "verdicts"} <= tables:
            raise self._not_a_queue("it is a database with other tables")

    def _not_a_queue(self, why: str) -> SettingError:
        return SettingError(
            f"this file is no arbitration queue: {why}",
            where=Where(str(self.path)),
            remedy="name the folder that `vepa annotate --out` wrote, or move the file away",
        )

    def _into_wal(self) -> None:
        """Switch the mode; SQLite does not wait for others who do the same at the same moment."""
        until = time.monotonic() + _WAIT
        while True:
            try:
                self._database.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def _settle_facts(self, facts: Mapping[str, str]) -> None:
        with self.writing() as database:
            for key, value in facts.items():
                database.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (key, value))
            known = dict(database.execute("SELECT key, value FROM meta").fetchall())
        for key, value in facts.items():
            if known[key] != value:
                raise SettingError(
                    f"the queue was made with {key} {known[key]}, and is opened with {value}",
                    where=Where(str(self.path), field=key),
                    remedy="settle it with what it was made with, or start another folder",
                )
