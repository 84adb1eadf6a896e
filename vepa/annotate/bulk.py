"""Annotation through the vendors' batch APIs: half the price, answers within a day.

Readers receive the same bytes, and their answers are read in the same way, as when they are asked
one by one; the one repair is a request of the next batch. All readers' batches are on their way
side by side. Readers without a vendor (recorded, scripted) just read.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial

from vepa.annotate.asking import Annotator, Judged
from vepa.annotate.dual import DualAnnotation
from vepa.annotate.items import StepItem
from vepa.annotate.reaching import Reach
from vepa.errors import ModelError, RunError
from vepa.llm import Budget, ModelRequest
from vepa.llm.batch import BatchModel, Outcome
from vepa.llm.repairs import repair_of

__all__ = ["BulkAnnotation", "Told"]

#: Nobody is asked more often than this, whatever is due.
_BREATH = 0.01
#: Requests that are kept; about 40 KB each beside what they share.
_KEPT = 4_096

#: Told about a reader: its name and where it is.
Told = Callable[[str, str], None]


@dataclass
class _Open:
    """One step that a reader has not judged."""

    item: StepItem
    make: Callable[[], ModelRequest]
    repair: bool = False


class _Requests:
    """Requests by their steps: each is needed several times, by both readers, and is large."""

    def __init__(self, reader: Annotator):
        self._reader = reader
        self._kept: OrderedDict[str, ModelRequest] = OrderedDict()

    def of(self, item: StepItem) -> ModelRequest:
        """What every reader of these rules is asked about a step."""
        found = self._kept.pop(item.hash, None) or self._reader.request(item)
        found.__dict__.pop("bytes", None)  # as large again, and not needed beside its hash
        self._kept[item.hash] = found
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found


@dataclass
class _Seat:
    """A reader's open steps, by the keys of their requests."""

    reader: Annotator
    model: BatchModel
    annotation: DualAnnotation
    requests: _Requests
    work: dict[str, _Open] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.reader.seat.name

    def begin(self) -> None:
        """Everything that is not judged; requests are made when they are needed."""
        for item in self.annotation.left(self.name):
            make = partial(self.requests.of, item)
            self.work[self.model.key_of(make())] = _Open(item, make)

    def step(self) -> bool:
        """One step of its batches; True when something was judged, or needs its repair."""
        found = self.model.step({key: each.make for key, each in self.work.items()})
        for key, outcome in found.items():
            done = self.work.pop(key)
            judged = self._judged(done, outcome)
            if isinstance(judged, ModelRequest):
                again = _Open(done.item, partial(_itself, judged), repair=True)
                self.work[self.model.key_of(judged)] = again
            else:
                self.annotation.keep(self.name, judged)
        return bool(found)

    def _judged(self, done: _Open, outcome: Outcome) -> Judged | ModelRequest:
        if outcome.reply is None:
            assert outcome.error is not None
            return self.reader.failed(done.item, outcome.error)
        reply, request = outcome.reply, done.make()
        if outcome.fault is None:
            return self.reader.read(done.item, request, reply, last=done.repair)
        if not done.repair:
            cut = reply.finish == "length"
            return repair_of(request, reply.message.content, outcome.fault, cut=cut)
        error = ModelError(
            f"{self.model.name}: the structured answer does not fit its shape, and neither does "
            "the one that was asked for again",
            "malformed",
        )
        return self.reader.failed(done.item, error)

    def where(self) -> str:
        """For people."""
        of = len(self.annotation.items)
        batches = self.model.on_the_way()
        text = f"{of - len(self.work):,} of {of:,} judged"
        if batches:
            count, done = sum(b.count for b in batches), sum(b.done for b in batches)
            text += f"; {count:,} on their way in {len(batches)} ({done:,} done there)"
        if any(batch.id is None for batch in batches):
            text += "; a batch that may have been taken is being looked for"
        if self.model.held_up:
            room = "in the vendor's queue" if self.model.blocked is None else "in the budget"
            text += f"; {self.model.unsent:,} wait for room {room}"
        if self.model.trouble:
            text += f"; {self.model.trouble}"
        return text


def _itself(request: ModelRequest) -> ModelRequest:
    return request


class BulkAnnotation:
    """An annotation whose readers are asked in bulk.

    Parameters
    ----------
    annotation
        Entered, with the readers of `reached`.
    reached
        As `open_bulk` gives them.
    budget
        Its seconds end the waiting.
    """

    def __init__(
        self, annotation: DualAnnotation, reached: Sequence[Reach], budget: Budget | None = None
    ):
        self._annotation, self._reached = annotation, reached
        self._budget = budget or Budget()
        self.on_the_way: dict[str, int] = {}

    def run(self, *, wait: bool = True, told: Told | None = None) -> int:
        """Submit what is open, and collect it; returns how many judgements were open.

        Parameters
        ----------
        wait
            False collects what is there, submits what is open and leaves: `on_the_way` says how
            many requests of which reader a later run will collect.
        told
            Where a reader is, whenever that changes.

        Raises
        ------
        BudgetError
            When a budget is used up and nothing is on its way any more, or its time is over.
        ModelError
            When a vendor refuses, or cannot be reached.
        RunError
            When batches are still on their way after so long. A later run goes on in every case.
        """
        with self._seats() as seats:
            readers = [reach.reader.seat.name for reach in self._reached]
            asked = sum(len(self._annotation.left(name)) for name in readers)
            tell = _Changes(told)
            for seat in seats:
                seat.begin()
                _settle(seat)
                tell(seat)
            self._read_directly(told)
            if wait:
                self._follow(seats, tell)
            else:
                self._submit(seats, tell)
            self.on_the_way = {
                seat.name: sum(each.count for each in seat.model.on_the_way()) for seat in seats
            }
        return asked

    @contextmanager
    def _seats(self) -> Iterator[list[_Seat]]:
        requests: dict[tuple[str, str, int], _Requests] = {}
        seats: list[_Seat] = []
        with ExitStack() as stack:
            for reach in self._reached:
                if reach.model is None:
                    continue
                reader = reach.reader
                told = reader.rules.sha256, reader.prompt.sha256, reader.tokens
                shared = requests.setdefault(told, _Requests(reader))
                model = stack.enter_context(reach.model)
                seats.append(_Seat(reader, model, self._annotation, shared))
            yield seats

    def _read_directly(self, told: Told | None) -> None:
        def progress(name: str, done: int, of: int) -> None:
            if told is not None and (done == of or not done % 500):
                told(name, f"{done:,} of {of:,} judged")

        for reach in self._reached:
            if reach.model is None:
                self._annotation.judge(reach.reader.seat.name, progress)

    def _submit(self, seats: Sequence[_Seat], tell: _Changes) -> None:
        """Send all that can be sent now: what a busy vendor refused is tried again."""
        while any(seat.model.unsent and not seat.model.held_up for seat in seats):
            time.sleep(max(_BREATH, min(seat.model.idle() for seat in seats)))
            for seat in seats:
                _settle(seat)
                tell(seat)
        self._check_room(seats)

    def _check_room(self, seats: Sequence[_Seat]) -> None:
        """A budget that is used up, and nothing on its way that could come back cheaper."""
        if not any(seat.model.on_the_way() for seat in seats):
            for seat in seats:
                if seat.model.blocked is not None:
                    raise seat.model.blocked

    def _follow(self, seats: Sequence[_Seat], tell: _Changes) -> None:
        began = time.monotonic()
        while any(seat.work for seat in seats):
            for seat in seats:
                _settle(seat)
                tell(seat)
            if not any(seat.work for seat in seats):
                return
            self._budget.check()
            self._check_room(seats)
            patience = min(seat.model.pace.patience for seat in seats)
            if time.monotonic() - began > patience:
                raise RunError(
                    f"batches are still on their way after {patience / 3600:.1f} hours of "
                    "waiting; nothing is lost, and the same command goes on"
                )
            time.sleep(max(_BREATH, min(seat.model.idle() for seat in seats)))


def _settle(seat: _Seat) -> None:
    """Step until nothing more comes of it now: what was collected may need its repair."""
    while seat.step():
        pass


class _Changes:
    """Tells where a reader is, once."""

    def __init__(self, told: Told | None):
        self._told = told
        self._last: dict[str, str] = {}

    def __call__(self, seat: _Seat) -> None:
        where = seat.where()
        if self._told is not None and self._last.get(seat.name) != where:
            self._last[seat.name] = where
            self._told(seat.name, where)
