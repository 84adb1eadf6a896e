"""Looking into a queue: what is open, who said what, how they did."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from vepa.annotate.arbitration.records import Case, Claim, Dispute, Given, QueueState, gold_score
from vepa.annotate.arbitration.store import QueueStore
from vepa.corpus.labels import Judgement, Label
from vepa.corpus.taxonomy import Taxonomy

__all__ = ["OPEN", "QueueView", "count_in", "dispute_in", "given_in"]

#: Of table `disputes`: what nobody settled.
OPEN = "withdrawn = 0 AND item NOT IN (SELECT item FROM verdicts WHERE gold = 0 AND undone IS NULL)"


class QueueView:
    """What can be asked of a queue; a context manager.

    Parameters
    ----------
    path
        Its file; made when it is missing.
    taxonomy
        Of its verdicts.
    clock
        Seconds since the epoch.

    Raises
    ------
    SettingError
        When the file is no queue, or one of another taxonomy.
    """

    def __init__(
        self, path: str | Path, taxonomy: Taxonomy, *, clock: Callable[[], float] = time.time
    ):
        self.taxonomy = taxonomy
        self._named = f"{taxonomy.id}/{taxonomy.version}"
        self._store = QueueStore(Path(path), {"taxonomy": self._named})
        self._clock = clock

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._store.close()

    @property
    def path(self) -> Path:
        """Its file."""
        return self._store.path

    def opinions(self, item: str, who: str) -> Dispute | None:
        """What the annotators said, for somebody whose own verdict stands; None for others."""
        with self._store.reading() as database:
            own = given_in(
                database, "WHERE item = ? AND who = ? AND gold = 0 AND undone IS NULL", (item, who)
            )
            return dispute_in(database, item, False) if own else None

    def given(self, who: str | None = None) -> list[Given]:
        """Every verdict, undone ones too, in the order in which they came; of one person or all."""
        with self._store.reading() as database:
            if who is None:
                return given_in(database)
            return given_in(database, "WHERE who = ?", (who,))

    def holding(self, who: str) -> Claim | None:
        """What is lent to somebody (at no special desk) just now; nothing is lent by asking.

        `before` is what they said about it when they took it back.
        """
        with self._store.reading() as database:
            row = database.execute(
                "SELECT token, item, gold, until FROM leases "
                "WHERE who = ? AND desk = '' AND until >= ?",
                (who, self._clock()),
            ).fetchone()
            if row is None:
                return None
            token, item, gold, until = row
            dispute = dispute_in(database, item, bool(gold))
        undone = self.taken_back(who, item)
        before = undone.verdict.judgement if undone else None
        return Claim(token, Case(item, dispute.step, dispute.shown), who, until, before)

    def claim_of(self, token: str) -> Claim | None:
        """A claim by its token, also when it was used for a verdict; None when it was lost."""
        with self._store.reading() as database:
            row = database.execute(
                "SELECT item, gold, who, until FROM leases WHERE token = ? "
                "UNION SELECT item, gold, who, 0 FROM verdicts WHERE token = ?",
                (token, token),
            ).fetchone()
            if row is None:
                return None
            item, gold, who, until = row
            dispute = dispute_in(database, item, bool(gold))
            return Claim(token, Case(item, dispute.step, dispute.shown), who, until)

    def last(self, who: str) -> Given | None:
        """Somebody's last verdict that stands."""
        with self._store.reading() as database:
            found = given_in(database, "WHERE who = ? AND undone IS NULL", (who,), latest=True)
            return found[0] if found else None

    def taken_back(self, who: str, item: str) -> Given | None:
        """The last verdict about a content that somebody took back."""
        with self._store.reading() as database:
            where = "WHERE who = ? AND item = ? AND undone IS NOT NULL"
            found = given_in(database, where, (who, item), latest=True)
            return found[0] if found else None

    def case_of(self, given: Given) -> Case:
        """What a verdict is about, as whoever gave it was shown it."""
        with self._store.reading() as database:
            dispute = dispute_in(database, given.verdict.item, given.gold)
            return Case(dispute.item, dispute.step, dispute.shown)

    def skipped(self, who: str) -> int:
        """How many open disputes somebody left to others."""
        with self._store.reading() as database:
            return count_in(
                database,
                f"SELECT COUNT(*) FROM disputes WHERE {OPEN} "  # noqa: S608 - a constant
                "AND item IN (SELECT item FROM skips WHERE who = ?)",
                who,
            )

    def standing(self) -> dict[str, Label]:
        """Content hash -> the verdict that stands: a person's before a model's, then the last."""
        found: dict[str, Label] = {}
        for given in self.given():
            if given.gold or given.undone is not None:
                continue
            before = found.get(given.verdict.item)
            if before is None or before.origin != "person" or given.verdict.origin == "person":
                found[given.verdict.item] = given.verdict
        return found

    def dispute(self, item: str) -> Dispute | None:
        """A dispute, whatever became of it; None when there was never one.

        With what the annotators said: not for those who still have to settle it.
        """
        with self._store.reading() as database:
            known = count_in(database, "SELECT COUNT(*) FROM disputes WHERE item = ?", item)
            return dispute_in(database, item, False) if known else None

    def all_disputes(self) -> list[Dispute]:
        """Open and settled ones, in order; not those that are withdrawn."""
        with self._store.reading() as database:
            rows = database.execute(
                "SELECT dispute FROM disputes WHERE withdrawn = 0 ORDER BY number"
            )
            return [Dispute.model_validate_json(row[0]) for row in rows]

    def skips_of(self, who: str) -> dict[str, str]:
        """Content hash -> why, of the cases that somebody left to others."""
        with self._store.reading() as database:
            return dict(database.execute("SELECT item, why FROM skips WHERE who = ?", (who,)))

    def open_disputes(self) -> list[Dispute]:
        """Disputes that nobody settled, lent ones too, in order."""
        with self._store.reading() as database:
            rows = database.execute(
                f"SELECT dispute FROM disputes WHERE {OPEN} ORDER BY number"  # noqa: S608
            )
            return [Dispute.model_validate_json(row[0]) for row in rows]

    def progress(self, who: str) -> dict[str, int]:
        """How far it is, in numbers alone: `total`, `open`, `leased`, `settled`, `mine`.

        `mine` counts somebody's verdicts with those on gold, so that nobody can tell one by a
        count that stays.
        """
        with self._store.reading() as database:
            total = count_in(database, "SELECT COUNT(*) FROM disputes WHERE withdrawn = 0")
            open_ = count_in(
                database,
                f"SELECT COUNT(*) FROM disputes WHERE {OPEN}",  # noqa: S608 - a constant
            )
            leased = count_in(
                database,
                f"SELECT COUNT(*) FROM disputes WHERE {OPEN} AND item IN "  # noqa: S608
                "(SELECT item FROM leases WHERE gold = 0 AND until >= ?)",
                self._clock(),
            )
            mine = count_in(
                database, "SELECT COUNT(*) FROM verdicts WHERE who = ? AND undone IS NULL", who
            )
        return {
            "total": total,
            "open": open_,
            "leased": leased,
            "settled": total - open_,
            "mine": mine,
        }

    def state(self) -> QueueState:
        """The queue now."""
        with self._store.reading() as database:
            total = count_in(database, "SELECT COUNT(*) FROM disputes WHERE withdrawn = 0")
            rows = database.execute(
                f"SELECT reasons FROM disputes WHERE {OPEN}"  # noqa: S608 - a constant
            ).fetchall()
            leased = count_in(
                database,
                f"SELECT COUNT(*) FROM disputes WHERE {OPEN} AND item IN "  # noqa: S608
                "(SELECT item FROM leases WHERE gold = 0 AND until >= ?)",
                self._clock(),
            )
            gold = count_in(database, "SELECT COUNT(*) FROM gold")
            known = {
                item: Judgement.model_validate_json(text)
                for item, text in database.execute("SELECT item, known FROM gold")
            }
            given = given_in(database)
        by = Counter(
            each.verdict.annotator for each in given if not each.gold and each.undone is None
        )
        # The first word about a gold step counts, taken back or not: afterwards one may know.
        first: dict[str, dict[str, Judgement]] = {}
        for each in given:
            if each.gold:
                own = first.setdefault(each.verdict.annotator, {})
                own.setdefault(each.verdict.item, each.verdict.judgement)
        quality = {
            who: gold_score([known[item] for item in own], list(own.values()))
            for who, own in sorted(first.items())
        }
        reasons = Counter(reason for row in rows for reason in json.loads(row[0]))
        return QueueState(
            total, len(rows), leased, total - len(rows), gold, dict(by), dict(reasons), quality
        )


def dispute_in(database: sqlite3.Connection, item: str, gold: bool) -> Dispute:
    """A dispute, or a gold case."""
    question = "SELECT gold FROM gold" if gold else "SELECT dispute FROM disputes"
    row = database.execute(f"{question} WHERE item = ?", (item,)).fetchone()
    return Dispute.model_validate_json(row[0])


def count_in(database: sqlite3.Connection, question: str, *values: object) -> int:
    """A number."""
    return int(database.execute(question, values).fetchone()[0])


def given_in(
    database: sqlite3.Connection,
    where: str = "",
    values: tuple[str, ...] = (),
    *,
    latest: bool = False,
) -> list[Given]:
    """Verdicts that fulfil a condition (a constant of this package), in order; or just the last."""
    order = "ORDER BY number DESC LIMIT 1" if latest else "ORDER BY number"
    rows = database.execute(
        f"SELECT number, verdict, undone, gold FROM verdicts {where} {order}",  # noqa: S608
        values,
    )
    return [
        Given(number, Label.model_validate_json(text), undone, bool(gold))
        for number, text, undone, gold in rows
    ]
