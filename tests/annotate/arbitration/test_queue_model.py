"""The queue against a plain model of it: any course of claims, verdicts, skips and lost leases."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from disputed import ALLOW, REFUSE, Clock, dispute, item, label, opened
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from vepa.annotate.arbitration.queue import LostClaimError

LEASE = 60.0
ITEMS = [item(number).hash for number in range(4)]
WHO = st.sampled_from(["ada", "ben", "cleo"])
JUDGEMENT = st.sampled_from([ALLOW, REFUSE])
AT = st.integers(0, 40)


class Course(RuleBasedStateMachine):
    """Both are told the same; what they answer and hold is compared."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = Clock()
        self.queue = opened(Path(self.folder.name), lease=LEASE, clock=self.clock)
        self.queue.fill(dispute(number) for number in range(len(ITEMS)))
        #: item -> (who, token, until): whoever was lent it last and has not given it back.
        self.leases = {}
        #: (token, item, who, judgement, undone), as they came.
        self.verdicts = []
        self.skips = set()
        #: Every token that was ever given out.
        self.tokens = []

    def teardown(self):
        self.queue.__exit__(None, None, None)
        self.folder.cleanup()

    # -- the model -------------------------------------------------------------------------------

    def standing(self, item):
        return next((v for v in self.verdicts if v[1] == item and not v[4]), None)

    def free_for(self, item, who):
        lease = self.leases.get(item)
        lent = lease is not None and lease[2] >= self.clock.now
        return self.standing(item) is None and not lent and (item, who) not in self.skips

    def lend(self, claim, item, who):
        assert (claim.case.item, claim.who) == (item, who)
        assert claim.until == self.clock.now + LEASE
        self.leases[item] = (who, claim.token, claim.until)
        self.tokens.append(claim.token)

    def item_of(self, token):
        return next((i for i, lease in self.leases.items() if lease[1] == token), None)

    # -- what may happen -------------------------------------------------------------------------

    @rule(who=WHO)
    def claim(self, who):
        claim = self.queue.claim(who)
        held = [i for i, x in self.leases.items() if x[0] == who and x[2] >= self.clock.now]
        if held:
            assert claim.token == self.leases[held[0]][1]
            self.lend(claim, held[0], who)
            return
        wanted = next((i for i in ITEMS if self.free_for(i, who)), None)
        if wanted is None:
            assert claim is None
        else:
            assert claim.token not in self.tokens
            self.lend(claim, wanted, who)

    @rule(at=AT, judgement=JUDGEMENT)
    def settle(self, at, judgement):
        if not self.tokens:
            return
        token = self.tokens[at % len(self.tokens)]
        same = next((v for v in self.verdicts if v[0] == token and not v[4]), None)
        item = self.item_of(token)
        if same is not None and same[3] == judgement:
            assert self.queue.settle(token, judgement).verdict.annotator == same[2]
        elif same is not None or item is None:
            with pytest.raises(LostClaimError):
                self.queue.settle(token, judgement)
        else:
            who = self.leases.pop(item)[0]
            assert self.queue.settle(token, judgement).verdict.annotator == who
            self.verdicts.append((token, item, who, judgement, False))

    @rule(at=AT)
    def skip(self, at):
        if not self.tokens:
            return
        token = self.tokens[at % len(self.tokens)]
        item = self.item_of(token)
        if item is None:
            with pytest.raises(LostClaimError):
                self.queue.skip(token)
        else:
            self.queue.skip(token)
            self.skips.add((item, self.leases.pop(item)[0]))

    @rule(at=AT)
    def release(self, at):
        if self.tokens:
            token = self.tokens[at % len(self.tokens)]
            self.queue.release(token)
            self.leases.pop(self.item_of(token), None)

    @rule(who=WHO)
    def undo(self, who):
        own = [at for at, v in enumerate(self.verdicts) if v[2] == who and not v[4]]
        claim = self.queue.undo(who)
        if not own:
            assert claim is None
            return
        token, item, _, judgement, _ = self.verdicts[own[-1]]
        self.verdicts[own[-1]] = (token, item, who, judgement, True)
        self.leases = {i: x for i, x in self.leases.items() if x[0] != who}
        assert claim.before == judgement
        self.lend(claim, item, who)

    @rule(who=WHO, at=st.integers(0, 3), judgement=JUDGEMENT)
    def record(self, who, at, judgement):
        item_hash = ITEMS[at]
        verdict = label(item(at), who, judgement, origin="person")
        token = f"record {who} {at} {judgement.decision}"
        lease, stands = self.leases.get(item_hash), self.standing(item_hash)
        if any(v[0] == token for v in self.verdicts):
            wanted = "known"
        elif stands is not None:
            wanted = "known" if stands[2:4] == (who, judgement) else "settled"
        elif lease is not None and lease[2] >= self.clock.now and lease[0] != who:
            wanted = "lent"
        else:
            wanted = "taken"
            self.verdicts.append((token, item_hash, who, judgement, False))
            self.leases.pop(item_hash, None)
        assert self.queue.record(verdict) == wanted

    @rule(who=WHO)
    def forget(self, who):
        self.queue.forget_skips(who)
        self.skips = {each for each in self.skips if each[1] != who}

    @rule(seconds=st.sampled_from([1.0, 59.0, 60.5]))
    def wait(self, seconds):
        self.clock.now += seconds

    # -- what always holds -----------------------------------------------------------------------

    @invariant()
    def every_verdict_is_there_once_and_in_order(self):
        kept = [
            (g.verdict.item, g.verdict.annotator, g.verdict.judgement, g.undone is not None)
            for g in self.queue.given()
        ]
        assert kept == [v[1:] for v in self.verdicts]

    @invariant()
    def no_case_is_settled_twice_or_open_and_settled(self):
        stand = [v[1] for v in self.verdicts if not v[4]]
        assert len(stand) == len(set(stand))
        state = self.queue.state()
        assert (state.settled, state.open) == (len(stand), len(ITEMS) - len(stand))
        lent = [i for i, x in self.leases.items() if x[2] >= self.clock.now]
        assert state.leased == len(lent)


Course.TestCase.settings = settings(max_examples=8, stateful_step_count=40, deadline=None)
test_any_course = pytest.mark.property(Course.TestCase)


class LongCourse(Course):
    """The same, many times."""


LongCourse.TestCase.settings = settings(max_examples=100, stateful_step_count=80, deadline=None)
test_many_courses = pytest.mark.slow(LongCourse.TestCase)
