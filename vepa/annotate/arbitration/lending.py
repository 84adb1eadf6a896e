"""Cases are lent: to one person at a time, for as long as the lease runs."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from vepa.annotate.arbitration.looking import OPEN, QueueView, count_in, dispute_in, given_in
from vepa.annotate.arbitration.records import Case, Claim
from vepa.corpus.taxonomy import Taxonomy
from vepa.errors import InputError, Where

__all__ = ["LEASE_SECONDS", "LendingQueue", "LostClaimError", "check_name", "lost"]

#: How long a case is lent; a page that is open renews its lease.
LEASE_SECONDS = 600.0
#: One case in so many is a gold one, as long as there are some that the person has not seen.
GOLD_EVERY = 10


class LostClaimError(InputError):
    """The case is not lent to this person any more, or somebody settled it."""


class LendingQueue(QueueView):
    """A queue out of which cases are lent.

    Parameters
    ----------
    path
        Its file; made when it is missing.
    taxonomy
        What verdicts are held against.
    lease
        Seconds.
    clock
        Seconds since the epoch.

    Raises
    ------
    SettingError
        When the file is no queue, or one of another taxonomy.
    """

    def __init__(
        self,
        path: str | Path,
        taxonomy: Taxonomy,
        *,
        lease: float = LEASE_SECONDS,
        clock: Callable[[], float] = time.time,
    ):
        super().__init__(path, taxonomy, clock=clock)
        self._lease = lease

    def claim(
        self, who: str, *, gold: bool = True, desk: str = "", lease: float | None = None
    ) -> Claim | None:
        """Lend the next open case to somebody; None when there is none for them.

        What they hold already is lent to them again, so nobody holds two. Cases that they skipped
        are left out; `forget_skips` brings them back.

        Parameters
        ----------
        who
            A name; it stands in the verdict.
        gold
            Whether a gold case may come; not for models.
        desk
            Somebody at several desks, as a model is, holds one case at each.
        lease
            Seconds; those of the queue when left out.

        Raises
        ------
        InputError
            When the name cannot stand in a verdict.
        """
        check_name(who)
        with self._store.writing() as database:
            held = database.execute(
                "SELECT token, item, gold FROM leases WHERE who = ? AND desk = ? AND until >= ?",
                (who, desk, self._clock()),
            ).fetchone()
            if held is not None:
                return self._lent(database, who, held[1], bool(held[2]), desk, held[0], lease)
            row = database.execute(
                f"SELECT item FROM disputes WHERE {OPEN} "  # noqa: S608 - a constant
                "AND item NOT IN (SELECT item FROM leases WHERE gold = 0 AND until >= ?) "
                "AND item NOT IN (SELECT item FROM skips WHERE who = ?) ORDER BY number LIMIT 1",
                (self._clock(), who),
            ).fetchone()
            if row is None:  # a gold case on its own would be known for one
                return None
            known = self._gold_for(database, who) if gold else None
            return self._lent(database, who, known or row[0], known is not None, desk, lease=lease)

    def renew(self, token: str) -> float:
        """Lengthen a lease; returns until when.

        Raises
        ------
        LostClaimError
            When it ran out and somebody else has the case.
        """
        with self._store.writing() as database:
            self._held(database, token)
            until = self._clock() + self._lease
            database.execute("UPDATE leases SET until = ? WHERE token = ?", (until, token))
            return until

    def release(self, token: str) -> None:
        """Give a case back; does nothing when it is not lent any more."""
        with self._store.writing() as database:
            database.execute("DELETE FROM leases WHERE token = ?", (token,))

    def release_all(self, who: str) -> int:
        """Give back all that somebody holds, at any desk; returns how many."""
        with self._store.writing() as database:
            return database.execute("DELETE FROM leases WHERE who = ?", (who,)).rowcount

    def skip(self, token: str, why: str = "") -> None:
        """Leave a case to others.

        Raises
        ------
        LostClaimError
            As `renew`.
        """
        with self._store.writing() as database:
            item, who, _ = self._held(database, token)
            database.execute(
                "INSERT OR REPLACE INTO skips VALUES (?, ?, ?, ?)", (item, who, why, self._now())
            )
            database.execute("DELETE FROM leases WHERE token = ?", (token,))

    def forget_skips(self, who: str) -> int:
        """Let somebody's skipped cases come again; returns how many."""
        with self._store.writing() as database:
            return database.execute("DELETE FROM skips WHERE who = ?", (who,)).rowcount

    # -- inside ------------------------------------------------------------------------------------

    def _gold_for(self, database: sqlite3.Connection, who: str) -> str | None:
        """A gold case when it is its turn: drawn by the name and the count, so nobody foresees."""
        done = sum(
            count_in(database, f"SELECT COUNT(*) FROM {table} WHERE who = ?", who)  # noqa: S608
            for table in ("verdicts", "skips")
        )
        drawn = hashlib.sha256(f"{who}\0{done}".encode()).digest()
        if int.from_bytes(drawn[:4]) % GOLD_EVERY:
            return None
        row = database.execute(
            "SELECT item FROM gold WHERE item NOT IN "
            "(SELECT item FROM verdicts WHERE who = ?) "
            "AND item NOT IN (SELECT item FROM skips WHERE who = ?) ORDER BY number LIMIT 1",
            (who, who),
        ).fetchone()
        return None if row is None else str(row[0])

    def _lent(
        self,
        database: sqlite3.Connection,
        who: str,
        item: str,
        gold: bool,
        desk: str = "",
        token: str | None = None,
        lease: float | None = None,
    ) -> Claim:
        token = token or secrets.token_hex(16)
        until = self._clock() + (self._lease if lease is None else lease)
        place = f"{item}\0{who}" if gold else item
        database.execute(
            "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?, ?)",
            (token, place, item, int(gold), who, desk, until),
        )
        dispute = dispute_in(database, item, gold)
        own = given_in(
            database, "WHERE item = ? AND who = ? AND undone IS NOT NULL", (item, who), latest=True
        )
        before = own[0].verdict.judgement if own else None
        return Claim(token, Case(item, dispute.step, dispute.shown), who, until, before)

    def _held(self, database: sqlite3.Connection, token: str) -> tuple[str, str, bool]:
        """Item, holder and kind of a claim; a lease that ran out holds while nobody took it."""
        row = database.execute(
            "SELECT item, who, gold FROM leases WHERE token = ?", (token,)
        ).fetchone()
        if row is None:
            raise lost("the case is not lent to you any more")
        return str(row[0]), str(row[1]), bool(row[2])

    def _now(self) -> str:
        moment = datetime.fromtimestamp(self._clock(), UTC)
        return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def check_name(who: str) -> None:
    if not who.strip() or len(who) > 60 or not who.isprintable() or who != who.strip():
        raise InputError(
            f"{who[:80]!r} cannot stand in a verdict as a name",
            where=Where(field="who"),
            remedy="up to 60 printable characters",
        )


def lost(message: str) -> LostClaimError:
    return LostClaimError(message, remedy="take the next case; nothing that was settled is lost")
