"""A model as arbiter: it settles what is open, leaves to people what it fails on, stops in time."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest
from disputed import ALLOW, PANEL, REFUSE, Clock, dispute, item, label, opened

from vepa.annotate.arbitration.arbiter import arbitrate
from vepa.annotate.asking import Failure
from vepa.errors import BudgetError, SettingError

SEAT = PANEL.arbiter


@dataclass
class Arbiter:
    """Judges what it is asked; of some contents it gives no judgement, or cannot go on."""

    fails: tuple[str, ...] = ()
    stops_after: int | None = None
    seat = SEAT
    asked: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    meanwhile = staticmethod(lambda: None)

    def judge(self, step):
        with self.lock:
            if self.stops_after is not None and len(self.asked) >= self.stops_after:
                raise BudgetError("used up", "dollars")
            self.asked.append(step.hash)
        self.meanwhile()
        if step.hash in self.fails:
            return Failure(
                trajectory="", step=step.step, item=step.hash, annotator="c",
                kind="declined", reason="the model declined",
            )  # fmt: skip
        return label(step, SEAT.name, REFUSE, origin="recorded", model="x/y", template="annotate/2")


@pytest.fixture
def queue(tmp_path):
    with opened(tmp_path, lease=60.0, clock=Clock()) as queue:
        queue.fill(dispute(number) for number in range(10))
        yield queue


def test_it_settles_what_is_open_each_case_once(queue):
    told = []
    arbiter = Arbiter()
    done = arbitrate(queue, arbiter, workers=4, progress=told.append)
    assert (done.settled, done.failures, done.lost) == (10, [], 0)
    assert sorted(arbiter.asked) == sorted(item(n).hash for n in range(10))
    assert sorted(told) == list(range(1, 11))
    verdict = queue.given()[0].verdict
    assert (verdict.annotator, verdict.origin) == (SEAT.name, "recorded")
    assert (verdict.model, verdict.template) == ("x/y", "annotate/2")
    assert arbitrate(queue, arbiter).settled == 0
    assert len(arbiter.asked) == 10


def test_what_it_fails_on_is_left_to_people_and_not_asked_again(queue):
    failing = Arbiter(fails=(item(3).hash,))
    done = arbitrate(queue, failing)
    assert [each.item for each in done.failures] == [item(3).hash]
    assert queue.skips_of(SEAT.name) == {item(3).hash: "declined: the model declined"}
    arbitrate(queue, failing)
    assert failing.asked.count(item(3).hash) == 1
    assert queue.claim("ada").case.item == item(3).hash
    queue.release_all("ada")
    queue.forget_skips(SEAT.name)
    assert arbitrate(queue, Arbiter()).settled == 1


def test_a_budget_that_ends_keeps_what_was_settled_and_gives_the_rest_back(queue):
    with pytest.raises(BudgetError):
        arbitrate(queue, Arbiter(stops_after=4), workers=2)
    state = queue.state()
    assert (state.settled, state.open, state.leased) == (4, 6, 0)
    assert arbitrate(queue, Arbiter()).settled == 6


def test_what_a_person_works_on_is_not_touched(queue):
    claim = queue.claim("ada")
    assert arbitrate(queue, Arbiter()).settled == 9
    queue.settle(claim.token, ALLOW)
    assert queue.state().by == {SEAT.name: 9, "ada": 1}


def test_a_verdict_that_comes_too_late_is_counted_and_does_not_stop_it(queue):
    def meanwhile():
        if not queue.given("ada"):
            queue.release_all(SEAT.name)
            queue.settle(queue.claim("ada").token, ALLOW)

    arbiter = Arbiter()
    arbiter.meanwhile = meanwhile
    done = arbitrate(queue, arbiter, workers=1)
    assert (done.settled, done.lost) == (9, 1)
    assert queue.state().by == {SEAT.name: 9, "ada": 1}


def test_two_arbiters_at_one_queue_are_one_too_many(queue):
    def meanwhile():
        with pytest.raises(SettingError, match="another process"):
            arbitrate(queue, Arbiter())

    first = Arbiter()
    first.meanwhile = meanwhile
    assert arbitrate(queue, first, workers=1).settled == 10


def test_what_a_killed_run_held_is_taken_up_again(queue):
    for desk in ("0", "7"):
        queue.claim(SEAT.name, gold=False, desk=desk, lease=9_999.0)
    assert queue.claim("ada").case.item == item(2).hash
    queue.release_all("ada")
    assert arbitrate(queue, Arbiter(), workers=1).settled == 10
