"""Pieces of many trajectories in any order, gathered on disk, so that memory stays constant."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["Gathered"]

#: Pages of the database that are held in memory, in KiB.
_CACHE_KIB = 16 * 1024


class Gathered:
    """A temporary table of pieces; a context manager that removes it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="vepa-import-")
        self._base = sqlite3.connect(Path(self._folder.name) / "pieces.db", isolation_level=None)
        for setting in (
            "journal_mode=OFF", "synchronous=OFF", f"cache_size=-{_CACHE_KIB}", "temp_store=FILE",
        ):  # fmt: skip
            self._base.execute(f"PRAGMA {setting}")
        self._base.execute("CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT UNIQUE)")
        self._base.execute(
            "CREATE TABLE pieces (owner INTEGER, number INTEGER, data TEXT, "
            "PRIMARY KEY (owner, number)) WITHOUT ROWID"
        )
        self._base.execute("BEGIN")
        self._count = 0

    def __enter__(self) -> Gathered:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()
        self._folder.cleanup()

    def add(self, key: str, piece: Any) -> None:
        """Keep a piece."""
        self._count += 1
        self._base.execute("INSERT OR IGNORE INTO names (name) VALUES (?)", (key,))
        self._base.execute(
            "INSERT INTO pieces SELECT id, ?, ? FROM names WHERE name = ?",
            (self._count, json.dumps(piece, ensure_ascii=False, separators=(",", ":")), key),
        )

    def groups(self) -> Iterator[tuple[str, int, list[Any]]]:
        """Key, number of its first piece, and its pieces; keys in the order of first appearance."""
        names = self._base.execute("SELECT id, name FROM names ORDER BY id")
        for owner, name in names:
            rows = self._base.execute(
                "SELECT number, data FROM pieces WHERE owner = ? ORDER BY number", (owner,)
            ).fetchall()
            yield name, rows[0][0], [json.loads(data) for _, data in rows]
