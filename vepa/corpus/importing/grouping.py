"""Pieces of many trajectories in any order, gathered on disk, so that memory stays constant."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import from_json, to_json

from vepa.errors import SettingError, Where

__all__ = ["Gathered", "Link"]

#: Pages of the database that are held in memory, in KiB.
_CACHE_KIB = 16 * 1024
#: So many keys are remembered with their numbers.
_REMEMBERED = 1000


@dataclass(frozen=True, slots=True)
class Link:
    """Says that all pieces of a key belong to the trajectory of another key; the first one counts.

    Attributes
    ----------
    into
        The other key (the conversation of a trace).
    """

    into: str


class Gathered:
    """A temporary table of pieces; a context manager that removes it.

    Raises
    ------
    SettingError
        From the context manager, when the disk of temporary files is full.
    """

    def __init__(self) -> None:
        try:
            self._open()
        except (sqlite3.OperationalError, OSError) as error:
            raise _no_room(error) from None

    def _open(self) -> None:
        folder = tempfile.mkdtemp(prefix="vepa-import-")
        try:
            self._base = sqlite3.connect(Path(folder) / "pieces.db", isolation_level=None)
            self._begin()
        finally:  # a file without a name is gone with its process, however that ends
            shutil.rmtree(folder, ignore_errors=True)

    def _begin(self) -> None:
        for setting in (
            "journal_mode=OFF", "synchronous=OFF", f"cache_size=-{_CACHE_KIB}", "temp_store=FILE",
        ):  # fmt: skip
            self._base.execute(f"PRAGMA {setting}")
        self._base.execute(
            "CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT UNIQUE, whole INTEGER)"
        )
        self._base.execute("CREATE INDEX parts ON names (whole)")
        self._base.execute(
            "CREATE TABLE pieces (number INTEGER PRIMARY KEY, owner INTEGER, record INTEGER, "
            "data BLOB)"
        )
        self._base.execute("BEGIN")
        self._count = 0
        self._recent: dict[str, int] = {}

    def __enter__(self) -> Gathered:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._base.close()
        if isinstance(error, sqlite3.OperationalError):
            raise _no_room(error) from None

    def add(self, key: str, piece: Any, record: int) -> None:
        """Keep a piece of the record of that number, or a `Link`."""
        owner = self._named(key)
        if isinstance(piece, Link):
            whole = self._named(piece.into)
            if whole != owner:
                change = "UPDATE names SET whole = ? WHERE id = ? AND whole IS NULL"
                self._base.execute(change, (whole, owner))
            return
        self._count += 1
        self._base.execute(
            "INSERT INTO pieces VALUES (?, ?, ?, ?)", (self._count, owner, record, _kept(piece))
        )

    def groups(self) -> Iterator[tuple[str, int, list[Any]]]:
        """Key, record of its first piece, and its pieces; keys in the order of first appearance."""
        # Made at the end, as it takes less than to keep it in order piece by piece.
        self._base.execute("CREATE INDEX IF NOT EXISTS owners ON pieces (owner)")
        wholes = self._base.execute(
            "SELECT coalesce(whole, id) AS owner, min(id) AS first FROM names "
            "GROUP BY owner ORDER BY first"
        )
        for owner, _ in wholes:
            rows = self._base.execute(
                "SELECT record, data FROM pieces WHERE owner = ?1 "
                "OR owner IN (SELECT id FROM names WHERE whole = ?1) ORDER BY number",
                (owner,),
            ).fetchall()
            if rows:
                name = self._base.execute("SELECT name FROM names WHERE id = ?", (owner,))
                yield name.fetchone()[0], rows[0][0], [_again(data) for _, data in rows]

    def _named(self, key: str) -> int:
        """The number of a key; those of late are remembered, as their pieces stand together."""
        known = self._recent.get(key)
        if known is None:
            self._base.execute("INSERT OR IGNORE INTO names (name) VALUES (?)", (key,))
            found = self._base.execute("SELECT id FROM names WHERE name = ?", (key,))
            if len(self._recent) >= _REMEMBERED:
                self._recent.clear()
            known = self._recent[key] = int(found.fetchone()[0])
        return known


def _no_room(error: Exception) -> SettingError:
    return SettingError(
        f"the pieces of the traces cannot be gathered: {error}",
        where=Where(tempfile.gettempdir()),
        remedy="make room there, or name another folder: TMPDIR=FOLDER",
    )


def _kept(piece: Any) -> bytes:
    """JSON; in the slow way what the fast one refuses (half a character, a deep nest)."""
    try:
        return to_json(piece)
    except ValueError:
        return json.dumps(piece).encode()


def _again(data: bytes) -> Any:
    try:
        return from_json(data)
    except ValueError:
        return json.loads(data)
