"""Batches on their way: those in doubt are looked for, the others polled, what ended is fetched."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, replace

from vepa.errors import ModelError
from vepa.llm.batch.holds import Holds
from vepa.llm.batch.journal import BatchJournal
from vepa.llm.batch.pace import Pace
from vepa.llm.batch.records import BatchRow, Kept, Member, Unanswered
from vepa.llm.batch.vendors import Result, Standing, Vendor, number_of
from vepa.llm.failures import AttemptError
from vepa.llm.ledger import Ledger
from vepa.llm.messages import Shape
from vepa.llm.prices import estimate
from vepa.llm.settings import ModelSettings

__all__ = ["Follower", "OnTheWay"]

_TOO_MUCH = "token_limit_exceeded"


@dataclass(frozen=True)
class OnTheWay:
    """A batch that has not been collected.

    Attributes
    ----------
    id
        The vendor's; None as long as nobody knows whether it has it.
    count, done
        Requests, and how many of them were done when it was last asked about.
    """

    id: str | None
    count: int
    done: int


@dataclass
class Follower:
    """Follows the batches of one model; see the package.

    Attributes
    ----------
    name, settings, pace
        The model, how it is asked, and how patiently.
    vendor, journal, holds, ledger
        Where batches are, where they are written down, what is set aside, who is told.
    trouble
        What the last call met; None when it went well.
    too_large
        Requests of a batch that the vendor had no room for; None without one.
    """

    name: str
    settings: ModelSettings
    pace: Pace
    vendor: Vendor
    journal: BatchJournal
    holds: Holds
    ledger: Ledger | None
    trouble: str | None = None
    too_large: int | None = None

    def __post_init__(self) -> None:
        self._due: dict[str, float] = {}
        self._times: Counter[str] = Counter()
        self._fetched: Counter[str] = Counter()
        self._done: Counter[str] = Counter()

    def recover(self) -> None:
        """What an earlier process left: batches that it never sent are none."""
        for row in self.journal.batches("intended"):
            self.journal.mark(row.token, "void", note="never sent")
        for row in self.journal.batches("sending", "submitted"):
            self.holds.again(row)

    def on_the_way(self) -> list[OnTheWay]:
        """What has not been collected."""
        rows = self.journal.batches("sending", "submitted")
        return [OnTheWay(row.vendor_id, row.count, self._done[row.token]) for row in rows]

    def next_at(self) -> float | None:
        """When there is something to ask about, on the monotonic clock; None without batches."""
        rows = self.journal.batches("sending", "submitted")
        return min((self._due_at(row) for row in rows), default=None)

    def follow(self) -> bool:
        """Ask about what is due; True when keys came free or got their answers.

        Raises
        ------
        ModelError
            When the vendor refuses the key, knows a batch no more, or refuses one as a whole.
        """
        changed = False
        for row in self.journal.batches("sending", "submitted"):
            if self._due_at(row) > time.monotonic():
                continue
            self._times[row.token] += 1
            self._due[row.token] = time.monotonic() + self.pace.wait(self._times[row.token])
            try:
                done = self._look(row) if row.state == "sending" else self._poll(row)
                changed, self.trouble = changed or done, None
            except AttemptError as fault:
                self._troubled(row, fault)
        return changed

    def _due_at(self, row: BatchRow) -> float:
        """At once after a restart, else after the first wait."""
        if row.token not in self._due:
            passed = time.time() - row.at
            self._due[row.token] = time.monotonic() + max(0.0, self.pace.first - max(0.0, passed))
        return self._due[row.token]

    def _troubled(self, row: BatchRow, fault: AttemptError) -> None:
        hint = "what is on its way stays written down, and the same command goes on"
        if fault.status == 404 and row.state == "submitted":
            hint = (
                f"the batch {row.vendor_id} is not known there (another key or project?); to ask "
                f"its requests anew, move {self.journal.path} away"
            )
        error = fault.as_model_error(self.name, 1, hint)
        if not fault.again:
            raise error from None
        self.trouble = str(error)
        if fault.wait is not None:
            self._due[row.token] = max(self._due[row.token], time.monotonic() + fault.wait)

    # -- in doubt ---------------------------------------------------------------------------------

    def _look(self, row: BatchRow) -> bool:
        """Look for a batch that may have been taken."""
        if self._found(row):
            return False
        if time.time() - row.at < self.pace.doubt:
            left = self.pace.doubt - (time.time() - row.at)
            self._due[row.token] = min(self._due[row.token], time.monotonic() + left)
            return False
        self.vendor.fence(row)
        if self._found(row):
            return False
        self.journal.mark(row.token, "void", note="looked for and not found")
        self.holds.free(row.token)
        return True

    def _found(self, row: BatchRow) -> bool:
        """Whether it is there, or may be."""
        sight, vendor_id = self.vendor.look_for(
            row,
            self.journal.vendor_ids(row.token),
            lambda other: self.journal.not_it(row.token, other),
        )
        if vendor_id is not None:
            self.journal.mark(row.token, "submitted", vendor_id=vendor_id)
            self._due[row.token] = time.monotonic()
            self._times[row.token] = 0
        return sight != "absent"

    # -- taken ------------------------------------------------------------------------------------

    def _poll(self, row: BatchRow) -> bool:
        assert row.vendor_id is not None
        standing = self.vendor.standing(row.vendor_id)
        if standing.done > self._done[row.token]:
            self._done[row.token] = standing.done
        if not standing.ended:
            return False
        if standing.refused is not None:
            self._refused(row, standing.refused)
            return True
        return self._fetch(row, standing)

    def _refused(self, row: BatchRow, code: str) -> None:
        """As a whole, before any work: nothing was charged."""
        self.journal.mark(row.token, "void", note=code)
        self.holds.free(row.token)
        if code == _TOO_MUCH:  # of what may wait there at once
            self.too_large = row.count
            return
        raise ModelError(
            f"{self.name}: the vendor refuses the batch {row.vendor_id} as a whole ({code}); "
            "nothing was charged",
            "bad_request",
        )

    def _fetch(self, row: BatchRow, standing: Standing) -> bool:
        assert row.vendor_id is not None
        members = self.journal.members(row.token)
        results: dict[int, Result] = {}
        for name, raw in self.vendor.results(row.vendor_id, standing):
            number = number_of(row.token, name)
            if number in members and number not in results:
                member = members[number]
                shape = None if member.shape is None else Shape(name=member.shape, schema_={})
                results[number] = self.vendor.read(raw, shape, member.mode)  # type: ignore[arg-type]
        missing = [number for number in members if number not in results]
        if missing and standing.unfinished is None:
            self._fetched[row.token] += 1
            if self._fetched[row.token] < self.settings.max_attempts:  # cut on its way to us?
                self._due[row.token] = time.monotonic() + self.settings.first_wait
                return False
        kind = standing.unfinished or "malformed"
        lost = Result(kind=kind, code=None, again=standing.unfinished is not None)
        results |= dict.fromkeys(missing, lost)
        self._collect(row, members, results)
        return True

    def _collect(
        self, row: BatchRow, members: dict[int, Member], results: dict[int, Result]
    ) -> None:
        answers: list[Kept] = []
        unanswered: list[Unanswered] = []
        worst = row.tokens // row.count, row.dollars / row.count
        spent, dollars = 0, 0.0
        for number, result in sorted(results.items()):
            key = members[number].key
            if result.answer is None:
                unanswered.append(Unanswered(key, result.kind, result.code, result.again))
                if result.kind == "malformed":  # it may have been charged
                    spent, dollars = spent + worst[0], dollars + worst[1]
                continue
            kept = self._kept(key, result, worst)
            answers.append(kept)
            spent += kept.prompt + kept.completion
            dollars += kept.dollars or 0.0
        self._tell(row, members, answers, unanswered, worst[0])
        self.journal.collect(row.token, answers, unanswered)
        self.holds.settle(row.token, spent, dollars)

    def _kept(self, key: str, result: Result, worst: tuple[int, float]) -> Kept:
        answer = result.answer
        assert answer is not None
        kept = Kept(
            key, answer.text, answer.finish, answer.model or self.name, worst[0], 0, worst[1]
        )
        if answer.prompt is None or answer.completion is None:
            return kept  # the vendor does not say: its worst case
        cost = estimate(self.name, answer.prompt, answer.completion, self.settings, batch=True)
        return replace(kept, prompt=answer.prompt, completion=answer.completion, dollars=cost)

    def _tell(
        self,
        row: BatchRow,
        members: dict[int, Member],
        answers: list[Kept],
        unanswered: list[Unanswered],
        worst: int,
    ) -> None:
        """A line a request in the ledger, once: a kill may have come between it and the journal."""
        if self.ledger is None:
            return
        told = {
            entry.request for entry in self.ledger.entries() if entry.tags.get("batch") == row.token
        }
        ledger = self.ledger.tagged(batch=row.token)
        requests = {member.key: member.request for member in members.values()}
        lines: list[dict[str, object]] = [
            {
                "request": requests[a.key],
                "prompt": a.prompt,
                "completion": a.completion,
                "dollars": a.dollars,
                "outcome": a.finish,
            }
            for a in answers
        ]
        lines += [
            {
                "request": requests[u.key],
                "outcome": u.kind,
                "lost": worst if u.kind == "malformed" else 0,
            }
            for u in unanswered
        ]
        lines = [line for line in lines if line["request"] not in told]
        seconds = round(max(0.0, time.time() - row.at), 4)
        for at, line in enumerate(lines, 1):
            # The last one carries the HTTP requests and forces all of them to the disk.
            calls = self._times[row.token] + 2 if at == len(lines) else 0
            ledger.write(
                model=self.name, source="provider", seconds=seconds, requests=calls, **line
            )
