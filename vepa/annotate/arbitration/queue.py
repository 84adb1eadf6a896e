"""Who settles what: cases are lent with a lease, and every verdict is kept.

A case is lent to one person at a time. Whoever lets the lease run out may lose the case to somebody
else, and then hears so; as long as nobody took it, a late verdict counts. A verdict that is sent
twice, as after a lost connection, is one verdict. Nothing is deleted: an undone verdict stays, with
the moment when it was taken back.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from vepa.annotate.arbitration.looking import (
    OPEN,
    QueueView,
    count_in,
    dispute_in,
    given_in,
)
from vepa.annotate.arbitration.records import Case, Claim, Dispute, Given
from vepa.annotate.shape import check_evidence
from vepa.corpus.labels import Judgement, Label, Origin
from vepa.corpus.taxonomy import Taxonomy
from vepa.errors import InputError, Where

__all__ = ["LEASE_SECONDS", "QUEUE_FILE", "ArbitrationQueue", "LostClaimError"]

#: Name of the file in the folder of an annotation.
QUEUE_FILE = "queue.sqlite"
#: How long a case is lent; a page that is open renews its lease.
LEASE_SECONDS = 600.0
#: One case in so many is a gold one, as long as there are some that the person has not seen.
GOLD_EVERY = 10


class LostClaimError(InputError):
    """The case is not lent to this person any more, or somebody settled it."""


class ArbitrationQueue(QueueView):
    """A queue of disputes: filled, lent out, settled.

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

    # -- what is to be settled ---------------------------------------------------------------------

    def fill(self, disputes: Iterable[Dispute]) -> int:
        """Make the queue hold just these disputes; returns how many are new.

        One that is there stays in its place, with what is said about it now. One that is no dispute
        any more is withdrawn, unless it was settled; verdicts stay in any case.
        """
        with self._store.writing() as database:
            known = {row[0] for row in database.execute("SELECT item FROM disputes")}
            database.execute("UPDATE disputes SET withdrawn = 1")
            new = 0
            for dispute in disputes:
                new += dispute.item not in known
                database.execute(
                    "INSERT INTO disputes (item, dispute, reasons) VALUES (?, ?, ?) "
                    "ON CONFLICT (item) DO UPDATE SET dispute = excluded.dispute, "
                    "reasons = excluded.reasons, withdrawn = 0",
                    (
                        dispute.item,
                        dispute.model_dump_json(exclude_defaults=True),
                        json.dumps(dispute.reasons),
                    ),
                )
        return new

    def add_gold(self, known: Iterable[tuple[Case, Judgement]]) -> int:
        """Add steps whose answer is known; returns how many are new.

        People cannot tell them from the others, and what they say about them settles nothing.
        """
        with self._store.writing() as database:
            before = count_in(database, "SELECT COUNT(*) FROM gold")
            for case, judgement in known:
                judgement.check_against(self.taxonomy)
                dispute = Dispute(
                    trajectory="", step=case.step, item=case.item, shown=case.shown, reasons=[]
                )
                database.execute(
                    "INSERT OR IGNORE INTO gold (item, gold, known) VALUES (?, ?, ?)",
                    (
                        case.item,
                        dispute.model_dump_json(exclude_defaults=True),
                        judgement.model_dump_json(),
                    ),
                )
            return count_in(database, "SELECT COUNT(*) FROM gold") - before

    # -- claims ------------------------------------------------------------------------------------

    def claim(self, who: str, *, gold: bool = True, desk: str = "") -> Claim | None:
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

        Raises
        ------
        InputError
            When the name cannot stand in a verdict.
        """
        _check_name(who)
        with self._store.writing() as database:
            held = database.execute(
                "SELECT token, item, gold FROM leases WHERE who = ? AND desk = ? AND until >= ?",
                (who, desk, self._clock()),
            ).fetchone()
            if held is not None:
                return self._lent(database, who, held[1], bool(held[2]), desk, held[0])
            found = self._gold_for(database, who) if gold else None
            if found is not None:
                return self._lent(database, who, found, True, desk)
            row = database.execute(
                f"SELECT item FROM disputes WHERE {OPEN} "  # noqa: S608 - a constant
                "AND item NOT IN (SELECT item FROM leases WHERE gold = 0 AND until >= ?) "
                "AND item NOT IN (SELECT item FROM skips WHERE who = ?) ORDER BY number LIMIT 1",
                (self._clock(), who),
            ).fetchone()
            return None if row is None else self._lent(database, who, row[0], False, desk)

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

    # -- verdicts ----------------------------------------------------------------------------------

    def settle(
        self,
        token: str,
        judgement: Judgement,
        *,
        note: str | None = None,
        origin: Origin = "person",
        model: str | None = None,
        template: str | None = None,
    ) -> Given:
        """Take a verdict; on disk when this returns.

        Parameters
        ----------
        token
            Of the claim. The same verdict sent again is the same one.
        judgement, note
            What, and why.
        origin, model, template
            Of a model's verdict.

        Raises
        ------
        LostClaimError
            When somebody else has the case or settled it, or another verdict was given with this
            claim.
        InputError
            When the judgement does not fit the taxonomy, or quotes what does not stand there.
        """
        judgement.check_against(self.taxonomy)
        with self._store.writing() as database:
            given = given_in(database, "WHERE token = ? AND undone IS NULL", (token,))
            if given:
                if (given[0].verdict.judgement, given[0].verdict.note) == (judgement, note):
                    return given[0]
                raise _lost("another verdict was given with this claim")
            item, who, gold = self._held(database, token)
            dispute = dispute_in(database, item, gold)
            check_evidence(judgement, dispute.shown)
            verdict = Label(
                trajectory=dispute.trajectory,
                step=dispute.step,
                item=item,
                annotator=who,
                model=model,
                origin=origin,
                taxonomy=self._named,
                template=template,
                at=self._now(),
                judgement=judgement,
                note=note or None,
            )
            self._keep(database, token, verdict, gold)
            database.execute("DELETE FROM leases WHERE token = ?", (token,))
            return given_in(database, "WHERE token = ?", (token,))[0]

    def record(self, verdict: Label) -> str:
        """Take a verdict that was given elsewhere, without a claim.

        Returns
        -------
        str
            `taken`; `known` when the same one stands; `settled` when another one stands, which is
            left alone; `unknown` when there is no such dispute; `lent` when somebody works on it.

        Raises
        ------
        InputError
            As `settle`.
        """
        _check_name(verdict.annotator)
        verdict.judgement.check_against(self.taxonomy)
        with self._store.writing() as database:
            if not count_in(database, "SELECT COUNT(*) FROM disputes WHERE item = ?", verdict.item):
                return "unknown"
            for given in given_in(
                database, "WHERE item = ? AND gold = 0 AND undone IS NULL", (verdict.item,)
            ):
                same = given.verdict.annotator == verdict.annotator
                return (
                    "known" if same and given.verdict.judgement == verdict.judgement else "settled"
                )
            lent = database.execute(
                "SELECT who FROM leases WHERE item = ? AND gold = 0 AND until >= ?",
                (verdict.item, self._clock()),
            ).fetchone()
            if lent is not None and lent[0] != verdict.annotator:
                return "lent"
            dispute = dispute_in(database, verdict.item, False)
            check_evidence(verdict.judgement, dispute.shown)
            own = {"trajectory": dispute.trajectory, "step": dispute.step, "taxonomy": self._named}
            whole = verdict.model_copy(update={**own, "at": verdict.at or self._now()})
            self._keep(database, f"record-{secrets.token_hex(16)}", whole, False)
            database.execute("DELETE FROM leases WHERE item = ? AND gold = 0", (verdict.item,))
            return "taken"

    def undo(self, who: str) -> Claim | None:
        """Take one's last verdict back, and lend its case again; None when there is none.

        A case that one holds is given back for it.
        """
        with self._store.writing() as database:
            row = database.execute(
                "SELECT number, item, gold, verdict FROM verdicts WHERE who = ? AND undone IS NULL "
                "ORDER BY number DESC LIMIT 1",
                (who,),
            ).fetchone()
            if row is None:
                return None
            number, item, gold, text = row
            database.execute("DELETE FROM leases WHERE who = ?", (who,))
            database.execute(
                "UPDATE verdicts SET undone = ? WHERE number = ?", (self._now(), number)
            )
            before = Label.model_validate_json(text).judgement
            return self._lent(database, who, item, bool(gold), before=before)

    # -- inside ------------------------------------------------------------------------------------

    def _gold_for(self, database: sqlite3.Connection, who: str) -> str | None:
        """A gold case when it is its turn: drawn by the name and the count, so nobody foresees."""
        done = count_in(database, "SELECT COUNT(*) FROM verdicts WHERE who = ?", who)
        drawn = hashlib.sha256(f"{who}\0{done}".encode()).digest()
        if int.from_bytes(drawn[:4]) % GOLD_EVERY:
            return None
        row = database.execute(
            "SELECT item FROM gold WHERE item NOT IN "
            "(SELECT item FROM verdicts WHERE who = ? AND gold = 1 AND undone IS NULL) "
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
        before: Judgement | None = None,
    ) -> Claim:
        token = token or secrets.token_hex(16)
        until = self._clock() + self._lease
        place = f"{item}\0{who}" if gold else item
        database.execute(
            "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?, ?)",
            (token, place, item, int(gold), who, desk, until),
        )
        dispute = dispute_in(database, item, gold)
        return Claim(token, Case(item, dispute.step, dispute.shown), who, until, before)

    def _held(self, database: sqlite3.Connection, token: str) -> tuple[str, str, bool]:
        """Item, holder and kind of a claim; a lease that ran out holds while nobody took it."""
        row = database.execute(
            "SELECT item, who, gold FROM leases WHERE token = ?", (token,)
        ).fetchone()
        if row is None:
            raise _lost("the case is not lent to you any more")
        return str(row[0]), str(row[1]), bool(row[2])

    def _keep(self, database: sqlite3.Connection, token: str, verdict: Label, gold: bool) -> None:
        text = verdict.model_dump_json(exclude_none=True)
        database.execute(
            "INSERT INTO verdicts (token, item, who, gold, verdict) VALUES (?, ?, ?, ?, ?)",
            (token, verdict.item, verdict.annotator, int(gold), text),
        )

    def _now(self) -> str:
        moment = datetime.fromtimestamp(self._clock(), UTC)
        return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _check_name(who: str) -> None:
    if not who.strip() or len(who) > 60 or not who.isprintable() or who != who.strip():
        raise InputError(
            f"{who[:80]!r} cannot stand in a verdict as a name",
            where=Where(field="who"),
            remedy="up to 60 printable characters",
        )


def _lost(message: str) -> LostClaimError:
    return LostClaimError(message, remedy="take the next case; nothing that was settled is lost")
