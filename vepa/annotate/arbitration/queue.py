"""Who settles what: cases are lent with a lease, and every verdict is kept.

A case is lent to one person at a time. Whoever lets the lease run out may lose the case to somebody
else, and then hears so; as long as nobody took it, a late verdict counts. A verdict that is sent
twice, as after a lost connection, is one verdict. Nothing is deleted: an undone verdict stays, with
the moment when it was taken back.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from vepa.annotate.arbitration.lending import (
    LEASE_SECONDS,
    LendingQueue,
    LostClaimError,
    check_name,
    lost,
)
from vepa.annotate.arbitration.looking import count_in, dispute_in, given_in
from vepa.annotate.arbitration.records import Case, Claim, Dispute, Given
from vepa.annotate.shape import check_evidence
from vepa.corpus.labels import Judgement, Label, Origin
from vepa.files import canonical_json, sha256_of

__all__ = ["LEASE_SECONDS", "QUEUE_FILE", "ArbitrationQueue", "LostClaimError", "check_name"]

#: Name of the file in the folder of an annotation.
QUEUE_FILE = "queue.sqlite"


class ArbitrationQueue(LendingQueue):
    """A queue of disputes: filled, lent out, settled; a context manager.

    Parameters and errors are those of `LendingQueue`.
    """

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
        note = note or None
        with self._store.writing() as database:
            given = given_in(database, "WHERE token = ? AND undone IS NULL", (token,))
            if given:
                if (given[0].verdict.judgement, given[0].verdict.note) == (judgement, note or None):
                    return given[0]
                raise lost("another verdict was given with this claim")
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
                note=note,
            )
            self._keep(database, token, verdict, gold)
            database.execute("DELETE FROM leases WHERE token = ?", (token,))
            return given_in(database, "WHERE token = ?", (token,))[0]

    def record(self, verdict: Label) -> str:
        """Take a verdict that was given elsewhere, without a claim.

        Returns
        -------
        str
            `taken`; `known` when the same one is there already, and stays taken back if it was;
            `settled` when another one stands, which is left alone (a model's gives way to a
            person's); `unknown` when there is no such dispute; `lent` when somebody works on it.

        Raises
        ------
        InputError
            As `check`.
        """
        self.check(verdict)
        token = _token_of(verdict)
        with self._store.writing() as database:
            if not count_in(database, "SELECT COUNT(*) FROM disputes WHERE item = ?", verdict.item):
                return "unknown"
            if count_in(database, "SELECT COUNT(*) FROM verdicts WHERE token = ?", token):
                return "known"
            for given in given_in(
                database, "WHERE item = ? AND gold = 0 AND undone IS NULL", (verdict.item,)
            ):
                if verdict.origin == "person" and given.verdict.origin != "person":
                    continue  # both are kept, and the person's stands
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
            own = {"trajectory": dispute.trajectory, "step": dispute.step, "taxonomy": self._named}
            whole = verdict.model_copy(update={**own, "at": verdict.at or self._now()})
            self._keep(database, token, whole, False)
            database.execute("DELETE FROM leases WHERE item = ? AND gold = 0", (verdict.item,))
            return "taken"

    def check(self, verdict: Label) -> None:
        """Hold a verdict that was given elsewhere against the queue.

        Raises
        ------
        InputError
            When its name cannot stand there, when it does not fit the taxonomy, or when it quotes
            what does not stand in its case.
        """
        check_name(verdict.annotator)
        verdict.judgement.check_against(self.taxonomy)
        dispute = self.dispute(verdict.item)
        if dispute is not None:
            check_evidence(verdict.judgement, dispute.shown)

    def undo(self, who: str) -> Claim | None:
        """Take one's last verdict back, and lend its case again; None when there is none.

        A case that one holds is given back for it.
        """
        with self._store.writing() as database:
            row = database.execute(
                "SELECT number, item, gold FROM verdicts WHERE who = ? AND undone IS NULL "
                "ORDER BY number DESC LIMIT 1",
                (who,),
            ).fetchone()
            if row is None:
                return None
            number, item, gold = row
            database.execute("DELETE FROM leases WHERE who = ?", (who,))
            database.execute(
                "UPDATE verdicts SET undone = ? WHERE number = ?", (self._now(), number)
            )
            return self._lent(database, who, item, bool(gold))

    # -- inside ------------------------------------------------------------------------------------

    def _keep(self, database: sqlite3.Connection, token: str, verdict: Label, gold: bool) -> None:
        text = verdict.model_dump_json(exclude_none=True)
        database.execute(
            "INSERT INTO verdicts (token, item, who, gold, verdict) VALUES (?, ?, ?, ?, ?)",
            (token, verdict.item, verdict.annotator, int(gold), text),
        )


def _token_of(verdict: Label) -> str:
    """The same verdict from the same file has the same, however often it is handed in."""
    told = [
        verdict.item,
        verdict.annotator,
        verdict.at,
        verdict.judgement.model_dump(mode="json"),
    ]
    return f"record-{sha256_of(canonical_json(told))}"
