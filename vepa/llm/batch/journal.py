"""What was sent to a vendor's batch API and what came back: SQLite, on disk before and after."""

from __future__ import annotations

import fcntl
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from vepa.errors import RunError, SettingError, Where
from vepa.llm.batch.records import BatchRow, Kept, Member, State, Unanswered

__all__ = ["BatchJournal", "requests_on_the_way"]

_VERSION = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS about (place TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS batches (
    token TEXT PRIMARY KEY, state TEXT NOT NULL, prepared TEXT NOT NULL DEFAULT '',
    vendor_id TEXT, at REAL NOT NULL, tokens INTEGER NOT NULL, dollars REAL NOT NULL, note TEXT);
CREATE TABLE IF NOT EXISTS members (
    token TEXT NOT NULL, number INTEGER NOT NULL, key TEXT NOT NULL, request TEXT NOT NULL,
    shape TEXT, mode TEXT, PRIMARY KEY (token, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, token TEXT NOT NULL, text TEXT NOT NULL, finish TEXT NOT NULL,
    model TEXT NOT NULL, prompt INTEGER NOT NULL, completion INTEGER NOT NULL, dollars REAL);
CREATE TABLE IF NOT EXISTS unanswered (
    key TEXT NOT NULL, token TEXT NOT NULL, kind TEXT NOT NULL, code TEXT, again INTEGER NOT NULL,
    PRIMARY KEY (key, token)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS foreign_batches (
    token TEXT NOT NULL, vendor_id TEXT NOT NULL, PRIMARY KEY (token, vendor_id)) WITHOUT ROWID;
"""


class BatchJournal:
    """The journal of one model's batches; a context manager that holds it for this process.

    Parameters
    ----------
    path
        The file; it is made, with its folder.
    place
        The vendor and its address; nothing of another one is looked for here.

    Raises
    ------
    SettingError
        When another process holds it, it is no journal, or batches of another place are on their
        way in it.
    RunError
        When it cannot be read or written.
    """

    def __init__(self, path: Path, place: str):
        self.path, self._place = path, place
        self._base: sqlite3.Connection | None = None
        self._lock: BinaryIO | None = None

    def __enter__(self) -> BatchJournal:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = open(self.path.with_name(f"{self.path.name}.lock"), "ab")
        except OSError as error:
            raise RunError(
                f"batches cannot be written down in {self.path}: {error.strerror}"
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._close()
            raise SettingError(
                "another process works on these batches",
                where=Where(str(self.path)),
                remedy="wait for it, or stop it",
            ) from None
        try:
            self._open()
            self._check_place()
        except sqlite3.Error as error:
            self._close()
            raise SettingError(
                f"this is no journal of batches ({error})",
                where=Where(str(self.path)),
                remedy="move it away; what is on its way at the vendor is then not collected",
            ) from None
        except SettingError:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _open(self) -> None:
        base = sqlite3.connect(self.path, isolation_level=None, timeout=30, check_same_thread=False)
        self._base = base
        base.execute("PRAGMA synchronous = EXTRA")  # the folder as well, after every change
        version = base.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, _VERSION):
            raise sqlite3.DatabaseError(f"version {version}")
        base.executescript(_TABLES)
        base.execute(f"PRAGMA user_version = {_VERSION}")

    def _check_place(self) -> None:
        places = [row[0] for row in self._read("SELECT place FROM about")]
        if places != [self._place] and self.batches("sending", "submitted"):
            raise SettingError(
                f"batches are on their way at another place ({places[0].strip()})",
                where=Where(str(self.path)),
                remedy="collect them there first: set the model and `api_base` as they were",
            )
        with self._writing() as base:
            base.execute("DELETE FROM about")
            base.execute("INSERT INTO about VALUES (?)", (self._place,))

    def _close(self) -> None:
        if self._base is not None:
            self._base.close()
            self._base = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    # -- batches ----------------------------------------------------------------------------------

    def intend(self, token: str, members: Sequence[Member], tokens: int, dollars: float) -> None:
        """A batch is about to be sent."""
        with self._writing() as base:
            base.execute(
                "INSERT INTO batches (token, state, at, tokens, dollars) VALUES (?, ?, ?, ?, ?)",
                (token, "intended", time.time(), tokens, dollars),
            )
            base.executemany(
                "INSERT INTO members VALUES (?, ?, ?, ?, ?, ?)",
                [(token, m.number, m.key, m.request, m.shape, m.mode) for m in members],
            )

    def mark(
        self,
        token: str,
        state: State,
        *,
        prepared: str | None = None,
        vendor_id: str | None = None,
        note: str | None = None,
    ) -> None:
        """A batch comes into another state; what is None stays as it is."""
        with self._writing() as base:
            base.execute(
                "UPDATE batches SET state = ?, at = ?, prepared = coalesce(?, prepared), "
                "vendor_id = coalesce(?, vendor_id), note = coalesce(?, note) WHERE token = ?",
                (state, time.time(), prepared, vendor_id, note, token),
            )

    def collect(
        self, token: str, answers: Iterable[Kept], unanswered: Iterable[Unanswered]
    ) -> None:
        """Everything that came of a batch, and that it is done, in one piece."""
        with self._writing() as base:
            base.executemany(
                "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (a.key, token, a.text, a.finish, a.model, a.prompt, a.completion, a.dollars)
                    for a in answers
                ],
            )
            base.executemany(
                "INSERT OR REPLACE INTO unanswered VALUES (?, ?, ?, ?, ?)",
                [(u.key, token, u.kind, u.code, int(u.again)) for u in unanswered],
            )
            base.execute(
                "UPDATE batches SET state = 'collected', at = ? WHERE token = ?",
                (time.time(), token),
            )

    def batches(self, *states: State) -> list[BatchRow]:
        """Batches in these states, of those that are not done, the oldest first."""
        rows = self._read(
            "SELECT token, state, prepared, vendor_id, at, tokens, dollars, "
            "(SELECT count(*) FROM members WHERE members.token = batches.token) FROM batches "
            "WHERE state NOT IN ('collected', 'void') ORDER BY rowid"
        )
        return [row for row in (BatchRow(*each) for each in rows) if row.state in states]

    def members(self, token: str) -> dict[int, Member]:
        """The requests of a batch by their number."""
        rows = self._read(
            "SELECT number, key, request, shape, mode FROM members WHERE token = ?", (token,)
        )
        return {row[0]: Member(*row) for row in rows}

    def vendor_ids(self, token: str) -> set[str]:
        """Batches of the vendor that are known not to be the one with this token."""
        rows = self._read(
            "SELECT vendor_id FROM batches WHERE vendor_id IS NOT NULL "
            "UNION SELECT vendor_id FROM foreign_batches WHERE token = ?",
            (token,),
        )
        return {row[0] for row in rows}

    def not_it(self, token: str, vendor_id: str) -> None:
        """A batch of the vendor turned out not to be the one with this token."""
        with self._writing() as base:
            base.execute("INSERT OR IGNORE INTO foreign_batches VALUES (?, ?)", (token, vendor_id))

    # -- requests ---------------------------------------------------------------------------------

    def busy(self) -> set[str]:
        """Keys that are on their way, or may be."""
        rows = self._read(
            "SELECT key FROM members JOIN batches USING (token) "
            "WHERE state IN ('intended', 'sending', 'submitted')"
        )
        return {row[0] for row in rows}

    def answered(self) -> set[str]:
        """Keys that have an answer."""
        return {row[0] for row in self._read("SELECT key FROM answers")}

    def answer(self, key: str) -> Kept | None:
        """The answer of a key."""
        rows = self._read(
            "SELECT key, text, finish, model, prompt, completion, dollars FROM answers "
            "WHERE key = ?",
            (key,),
        )
        return Kept(*rows[0]) if rows else None

    def given_up(self, attempts: int) -> dict[str, Unanswered]:
        """Keys without an answer that are not asked again: refused, or asked so many times."""
        rows = self._read(
            "SELECT key, kind, code, min(again), count(*) FROM unanswered "
            "WHERE key NOT IN (SELECT key FROM answers) GROUP BY key "
            "HAVING min(again) = 0 OR count(*) >= ?",
            (attempts,),
        )
        return {row[0]: Unanswered(row[0], row[1], row[2], bool(row[3])) for row in rows}

    # -- the file ---------------------------------------------------------------------------------

    def _held(self) -> sqlite3.Connection:
        if self._base is None:
            raise RunError(f"{self.path} is not open")
        return self._base

    def _read(self, words: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._held().execute(words, values).fetchall()
        except sqlite3.Error as error:
            raise RunError(f"the journal {self.path} cannot be read: {error}") from None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        base = self._held()
        try:
            base.execute("BEGIN IMMEDIATE")
            yield base
            base.execute("COMMIT")
        except sqlite3.Error as error:
            if base.in_transaction:
                base.execute("ROLLBACK")
            raise RunError(
                f"batches cannot be written down in {self.path}: {error}; nothing more is sent"
            ) from None


def requests_on_the_way(path: Path) -> int:
    """Requests in batches that have not been collected, without touching the file."""
    if not path.is_file():
        return 0
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as base:
            words = (
                "SELECT count(*) FROM members JOIN batches USING (token) "
                "WHERE state IN ('sending', 'submitted')"
            )
            return int(base.execute(words).fetchone()[0])
    except sqlite3.Error as error:
        raise RunError(f"the journal {path} cannot be read: {error}") from None
