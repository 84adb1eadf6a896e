"""The queue: who is lent what, which verdicts count, and which files are refused."""

from __future__ import annotations

import sqlite3

import pytest
from disputed import (
    ALLOW,
    NAMED,
    REFUSE,
    TAXONOMY,
    Clock,
    dispute,
    gold,
    item,
    label,
    opened,
)

from vepa.annotate.arbitration.queue import ArbitrationQueue, LostClaimError
from vepa.corpus.labels import Evidence, Judgement
from vepa.errors import InputError, RunError, SettingError


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def queue(tmp_path, clock):
    with opened(tmp_path, lease=60.0, clock=clock) as queue:
        queue.fill(dispute(number) for number in range(3))
        yield queue


def test_a_case_shows_nothing_of_what_others_said(queue):
    claim = queue.claim("ada")
    assert claim.case.shown.id == ""
    assert not {"labels", "failures", "reasons", "trajectory"} & set(vars(claim.case))


def test_people_are_lent_different_cases_and_nobody_two(queue):
    ada, ben = queue.claim("ada"), queue.claim("ben")
    assert ada.case.item == item(0).hash
    assert ben.case.item == item(1).hash
    assert queue.claim("ada").token == ada.token


def test_others_labels_are_shown_once_ones_own_verdict_is_in(queue):
    claim = queue.claim("ada")
    assert queue.opinions(claim.case.item, "ada") is None
    queue.settle(claim.token, REFUSE)
    assert [each.annotator for each in queue.opinions(claim.case.item, "ada").labels] == ["a", "b"]
    assert queue.opinions(claim.case.item, "ben") is None


def test_a_verdict_says_who_when_and_why(queue):
    given = queue.settle(queue.claim("ada").token, REFUSE, note="Ben wrote twice.")
    verdict = given.verdict
    assert (verdict.annotator, verdict.note, verdict.origin) == (
        "ada",
        "Ben wrote twice.",
        "person",
    )
    assert (verdict.trajectory, verdict.step) == ("errand-0", 1)
    assert (verdict.at, verdict.taxonomy) == ("2027-01-15T08:00:00Z", NAMED)


@pytest.mark.parametrize("note", [None, "", "a word"])
def test_a_verdict_sent_twice_is_one(queue, note):
    token = queue.claim("ada").token
    first = queue.settle(token, ALLOW, note=note)
    assert queue.settle(token, ALLOW, note=note) == first
    assert len(queue.given()) == 1
    with pytest.raises(LostClaimError, match="another verdict"):
        queue.settle(token, REFUSE)


def test_a_late_verdict_counts_while_nobody_has_the_case(queue, clock):
    token = queue.claim("ada").token
    clock.now += 61
    assert queue.settle(token, ALLOW).verdict.annotator == "ada"


def test_a_late_verdict_is_refused_when_somebody_else_has_the_case(queue, clock):
    token = queue.claim("ada").token
    clock.now += 61
    ben = queue.claim("ben")
    assert ben.case.item == item(0).hash
    for late in (lambda: queue.settle(token, ALLOW), lambda: queue.renew(token)):
        with pytest.raises(LostClaimError, match="not lent to you any more"):
            late()
    queue.settle(ben.token, REFUSE)
    assert [each.verdict.annotator for each in queue.given()] == ["ben"]


def test_a_renewed_lease_holds(queue, clock):
    token = queue.claim("ada").token
    clock.now += 50
    assert queue.renew(token) == clock.now + 60
    clock.now += 50
    assert queue.claim("ben").case.item == item(1).hash


def test_a_skipped_case_goes_to_others_and_comes_back_when_asked_for(queue):
    queue.skip(queue.claim("ada").token, why="cannot tell")
    assert queue.claim("ben").case.item == item(0).hash
    assert queue.skips_of("ada") == {item(0).hash: "cannot tell"}
    queue.release(queue.claim("ben").token)
    assert queue.forget_skips("ada") == 1
    assert queue.claim("ada").case.item == item(0).hash


def test_an_undone_verdict_is_kept_and_its_case_lent_again(queue):
    queue.settle(queue.claim("ada").token, REFUSE)
    held = queue.claim("ada")
    again = queue.undo("ada")
    assert (again.case.item, again.before) == (item(0).hash, REFUSE)
    assert queue.claim("ada").before == REFUSE  # asked for again, as after a reload
    assert queue.claim("ben").case.item == held.case.item  # given back for it
    queue.settle(again.token, ALLOW)
    assert [each.undone is None for each in queue.given("ada")] == [False, True]
    assert queue.standing()[item(0).hash].judgement == ALLOW
    assert queue.undo("nobody") is None


def test_the_verdict_of_an_undone_claim_does_not_come_back(queue):
    token = queue.claim("ada").token
    queue.settle(token, REFUSE)
    queue.undo("ada")
    with pytest.raises(LostClaimError):
        queue.settle(token, REFUSE)  # sent again by a browser that heard no answer
    assert not queue.standing()


def test_filling_again_keeps_places_and_verdicts_and_withdraws_the_rest(queue):
    queue.settle(queue.claim("ada").token, REFUSE)
    assert queue.fill([dispute(0), dispute(2), dispute(9)]) == 1
    state = queue.state()
    assert (state.total, state.settled, state.open) == (3, 1, 2)
    assert [each.item for each in queue.open_disputes()] == [item(2).hash, item(9).hash]
    assert queue.fill([dispute(0), dispute(1), dispute(2)]) == 0
    assert [each.item for each in queue.all_disputes()] == [item(n).hash for n in range(3)]


@pytest.mark.parametrize(
    ("judgement", "field"),
    [
        (REFUSE.model_copy(update={"triggers": ["no_such_trigger"]}), "triggers.0"),
        (REFUSE.model_copy(update={"harm": "no_such_harm"}), "harm"),
        (ALLOW.model_copy(update={"evidence": [Evidence(step=1, quote="nobody")]}),
         "evidence.0.quote"),
        (ALLOW.model_copy(update={"evidence": [Evidence(step=3, quote="sent")]}),
         "evidence.0.step"),
    ],
)  # fmt: skip
def test_a_verdict_that_does_not_fit_is_refused_and_the_case_stays_lent(queue, judgement, field):
    token = queue.claim("ada").token
    with pytest.raises(InputError) as caught:
        queue.settle(token, judgement)
    assert caught.value.where.field == field
    assert not queue.given()
    queue.settle(token, ALLOW)


@pytest.mark.parametrize("name", ["", " ada", "a" * 61, "a\x1b[0m", "a\nb"])
def test_a_name_that_cannot_stand_in_a_verdict_is_refused(queue, name):
    with pytest.raises(InputError, match="name"):
        queue.claim(name)


# -- verdicts from elsewhere -----------------------------------------------------------------------


def elsewhere(number: int, judgement: Judgement = REFUSE, who: str = "cleo", **more):
    return label(item(number), who, judgement, origin="person", **more)


def test_a_verdict_from_elsewhere_is_taken_once(queue):
    verdict = elsewhere(0, at="2026-01-01T00:00:00Z", note="by hand")
    assert queue.record(verdict) == "taken"
    assert queue.record(verdict) == "known"
    assert queue.standing()[item(0).hash] == verdict
    assert queue.record(elsewhere(0, ALLOW)) == "settled"
    assert queue.record(elsewhere(0, who="dan")) == "settled"
    assert queue.record(elsewhere(77)) == "unknown"
    assert len(queue.given()) == 1


def test_a_verdict_that_was_taken_back_does_not_come_back_with_its_file(queue):
    verdict = elsewhere(0, at="2026-01-01T00:00:00Z")
    queue.record(verdict)
    queue.release(queue.undo("cleo").token)
    assert queue.record(verdict) == "known"
    assert not queue.standing()


def test_a_case_that_somebody_works_on_is_left_to_them(queue, clock):
    token = queue.claim("ada").token
    assert queue.record(elsewhere(0)) == "lent"
    assert queue.record(elsewhere(0, who="ada")) == "taken"
    with pytest.raises(LostClaimError):
        queue.settle(token, ALLOW)
    queue.claim("ada")
    clock.now += 61
    assert queue.record(elsewhere(1)) == "taken"


# -- gold ------------------------------------------------------------------------------------------


def judge_all(queue, who, judgement):
    """Settle what comes; the places at which a gold case came."""
    known, places, at = {item(n).hash for n in range(100, 110)}, [], 0
    while (claim := queue.claim(who)) is not None:
        if claim.case.item in known:
            places.append(at)
        queue.settle(claim.token, judgement)
        at += 1
    return places


def test_gold_comes_at_places_nobody_foresees_and_settles_nothing(tmp_path):
    with opened(tmp_path) as queue:
        queue.fill(dispute(number) for number in range(60))
        assert queue.add_gold(gold(number) for number in range(100, 110)) == 10
        assert queue.add_gold([gold(100)]) == 0
        ada = judge_all(queue, "ada", REFUSE)
        assert 1 <= len(ada) <= 10
        state = queue.state()
        assert (state.total, state.settled, state.gold) == (60, 60, 10)
        assert state.by == {"ada": 60}
        assert set(queue.standing()) == {item(n).hash for n in range(60)}
        quality = state.quality["ada"]
        assert (quality.seen, quality.decisions, quality.triggers) == (len(ada), len(ada), 1.0)
        queue.fill(dispute(number) for number in range(200, 260))
        assert judge_all(queue, "ben", ALLOW) not in ([], ada)
        ben = queue.state().quality["ben"]
        assert (ben.decisions, ben.triggers) == (0, 0.0)


def test_no_gold_when_nothing_is_open(tmp_path):
    with opened(tmp_path) as queue:
        queue.add_gold(gold(number) for number in range(100, 110))
        assert all(queue.claim(f"person {n}") is None for n in range(40))


def gold_claim(queue, who="ada"):
    """The first gold case that comes to somebody."""
    while True:
        claim = queue.claim(who)
        if claim.case.item == item(100).hash:
            return claim
        queue.settle(claim.token, ALLOW)


def test_what_one_says_first_about_gold_counts(tmp_path):
    with opened(tmp_path) as queue:
        queue.fill(dispute(number) for number in range(60))
        queue.add_gold([gold(100)])
        queue.settle(gold_claim(queue).token, ALLOW)
        queue.settle(queue.undo("ada").token, REFUSE)
        quality = queue.state().quality["ada"]
        assert (quality.seen, quality.decisions) == (1, 0)


def test_whoever_skips_gold_is_not_given_the_next_one_at_once(tmp_path):
    with opened(tmp_path) as queue:
        queue.fill(dispute(number) for number in range(60))
        queue.add_gold([gold(100), gold(101)])
        queue.skip(gold_claim(queue).token)
        assert queue.claim("ada").case.item != item(101).hash


# -- files -----------------------------------------------------------------------------------------


def test_another_taxonomy_is_refused(tmp_path):
    opened(tmp_path).__exit__(None, None, None)
    other = TAXONOMY.model_copy(update={"version": "2.0"})
    with pytest.raises(SettingError) as caught:
        ArbitrationQueue(tmp_path / "queue.sqlite", other)
    assert caught.value.where.field == "taxonomy"
    assert "2.0" in str(caught.value)


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "queue.sqlite"
    path.write_text("These are notes, no queue. " * 100)
    before = path.read_bytes()
    with pytest.raises(SettingError, match="no arbitration queue"):
        opened(tmp_path)
    assert path.read_bytes() == before


def test_another_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "queue.sqlite"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE answers (key TEXT)")
    database.commit()
    database.close()
    before = path.read_bytes()
    with pytest.raises(SettingError, match="other tables"):
        opened(tmp_path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["queue.sqlite"]


def test_a_folder_in_its_place_is_told(tmp_path):
    (tmp_path / "queue.sqlite").mkdir()
    with pytest.raises(RunError, match="cannot be opened"):
        opened(tmp_path)
