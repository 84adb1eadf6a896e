"""The evidence of rules beyond counts: wrong feedback, a vouching committee, a held-out half."""

from __future__ import annotations

import numpy as np
import pytest
from evolving import WORLD, archive_of, drawn, rows, rule

from vepa.evolution import Archive, standing, update
from vepa.evolution.beliefs import GRID, Beliefs
from vepa.evolution.standing import TRUST, VOUCHED
from vepa.policy import Evidence, Policy, Threshold, authority, posterior
from vepa.policy.bitsets import unpack

REFUSE_RED = rule("red", "refuse", colour=["red"])
RED, BLUE = {"colour": "red"}, {"colour": "blue"}


def law(event):
    return "refuse" if event["colour"] == "red" or event["shape"] == "rod" else "allow"


def flipped(table, share, seed=0):
    wrong = np.random.default_rng(100 + seed).random(len(table)) < share
    return table.with_labels(np.where(wrong, 1 - table.labels, table.labels))


def reds(support, against):
    """An archive that covers red so often, beside as many blue events."""
    pairs = [(RED, "refuse")] * support + [(RED, "allow")] * against
    return archive_of(rows([*pairs, *[(BLUE, "allow")] * (support + against)]))


@pytest.fixture
def known(monkeypatch):
    """Settle what is believed: the share of wrong feedback, true labels and claims."""

    def settle(rho, true, claimed=None):
        def believe(table, context, corrected):
            assert corrected or not rho
            wrong = (np.round(GRID, 2) == rho).astype(np.float64)
            assert wrong.sum() == 1.0
            labels = np.broadcast_to(np.asarray(true(table), dtype=np.float64), len(table))
            claims = labels if claimed is None else np.full(len(table), claimed)
            none = np.zeros(0)
            return Beliefs(wrong, labels, claims, none, table.codes[:0], none)

        monkeypatch.setattr(standing, "believe", believe)

    return settle


# noise-aware


@pytest.mark.parametrize(("support", "against"), [(0, 0), (12, 0), (13, 0), (31, 1), (200, 15)])
def test_where_no_feedback_is_wrong_the_posterior_is_that_of_the_source(known, support, against):
    known(0.0, lambda table: table.labels)
    found = reds(support, against).evidence(REFUSE_RED, authority())
    assert (found.support, found.contradictions) == (support, against)
    assert found.probability == pytest.approx(posterior(support, against, 0.95), abs=1e-6)
    paper = reds(support, against).evidence(REFUSE_RED, authority("paper"))
    assert paper == Evidence(support, against)
    for decision in ("allow", "refuse"):
        assert authority().active(decision, found) is authority("paper").active(decision, paper)


def test_both_readings_are_joined_by_how_many_examples_there_are(known):
    """The counts against what feedback would agree with; the true labels against the target."""
    known(0.1, lambda table: table.codes[:, 0] == 1)  # every red event is truly `refuse`
    for support, against in ((9, 1), (36, 4), (270, 30)):
        size = support + against
        first = posterior(support, against, 0.1 + 0.8 * 0.95)
        second = posterior(float(size), 0.0, 0.95)
        weight = size / (size + TRUST)
        found = reds(support, against).evidence(REFUSE_RED, authority())
        expected = (1 - weight) * first + weight * second
        assert found.probability == pytest.approx(expected, abs=1e-6)
        assert authority().active("refuse", found) is (expected >= 0.5)


def test_decisions_are_judged_alike_each_by_its_own_threshold(known):
    thresholds = {"allow": Threshold(target=0.9, prior=(2.0, 0.5)), "refuse": Threshold()}
    allow_red = rule("a", "allow", colour=["red"])
    known(0.1, lambda table: np.where(table.labels == 1, 0.9, 0.2))
    one = reds(30, 4).evidence(REFUSE_RED, authority("noise-aware", thresholds))
    known(0.1, lambda table: np.where(table.labels == 0, 0.1, 0.8))
    mirrored = reds(4, 30)
    plain = mirrored.evidence(allow_red, authority("noise-aware"))
    assert plain == one
    easier = mirrored.evidence(allow_red, authority("noise-aware", thresholds))
    assert easier.probability > plain.probability


@pytest.mark.parametrize("seed", range(3))
def test_a_spotless_rule_is_not_lost_for_flipped_labels(seed):
    """A tenth of all labels is wrong: the source gives no authority, the default does."""
    events = drawn(400, law, seed=seed)
    archive = archive_of(flipped(events, 0.1, seed))
    found = archive.evidence(REFUSE_RED, authority())
    assert found.contradictions / (found.contradictions + found.support) > 0.05
    assert authority().active("refuse", found)
    assert not authority("paper").active("refuse", archive.evidence(REFUSE_RED, authority("paper")))


@pytest.mark.parametrize("share", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_contradicted_systematically_stays_refused(seed, share):
    """Red discs have the other label, by the law or by feedback alone: no rule may say otherwise.

    The rest of the stream is clean, or a tenth of its labels is wrong at random.
    """
    events = drawn(500, law, seed=seed)
    shown = flipped(events, share, seed)
    region = (events.codes[:, 0] == 1) & (events.codes[:, 2] == 1)
    shown = shown.with_labels(np.where(region, 0, shown.labels))
    gate, judged = authority(), archive_of(shown).standing(authority())
    inside = rule("in", "refuse", colour=["red"], shape=["disc"])
    outside = rule("out", "refuse", colour=["red"], shape=["cube", "cone", "rod"])
    assert judged.evidence(inside).support == 0
    assert not gate.active("refuse", judged.evidence(inside))
    assert not gate.active("refuse", judged.evidence(REFUSE_RED))  # a quarter of it is the region
    assert gate.active("refuse", judged.evidence(outside))


def test_the_estimated_share_is_told_where_it_is_corrected_for_and_only_there():
    archive = archive_of(flipped(drawn(400, law, seed=4), 0.2, 4))
    told = update(Policy(WORLD), archive, round=1, authority=authority())
    assert told.to_dict()["wrong_feedback"] == archive.standing(authority()).wrong_feedback
    assert 0.1 < told.wrong_feedback < 0.3
    for mode in ("paper", "early", "held-out", "anytime"):
        assert archive.standing(authority(mode)).wrong_feedback is None


def test_a_policy_is_judged_with_the_probability_that_decided():
    archive = archive_of(flipped(drawn(400, law, seed=1), 0.1, 1))
    wrong = rule("wrong", "refuse", colour=["green"])
    judged = archive.judged(Policy(WORLD, (REFUSE_RED, wrong)), authority())
    assert [found.status for found in judged.rules] == ["active", "inactive"]
    assert judged.rules[0].evidence.probability >= 0.5 > judged.rules[1].evidence.probability
    again = archive.standing(authority())
    assert judged.rules[0] == again.judge(REFUSE_RED)
    everything = archive.index.all
    assert again.of("refuse", REFUSE_RED.masks, everything) == again.evidence(REFUSE_RED)


def test_a_mode_that_counts_less_knows_less():
    archive = Archive(WORLD)
    for number in (1, 2):
        part = drawn(100, law, seed=number, prefix=f"r{number}-")
        archive.add(part, np.full(100, -1, dtype=np.int8), number)
    born = rule("red", "refuse", 1, colour=["red"])
    later = archive.evidence(born, authority("noise-aware+prospective"))
    red = archive.table.codes[:, 0] == 1
    assert later.support == int(red[100:].sum())
    assert archive.evidence(born, authority()).support == int(red.sum())
    assert later.probability < archive.evidence(born, authority()).probability


# early


@pytest.mark.parametrize("size", [0, 1, 5, 6, 7, 12, 40])
def test_a_committee_never_adds_more_examples_than_feedback_has_shown(known, size):
    known(0.0, lambda table: table.labels, claimed=1.0)
    archive, extra = reds(size, 0), min(VOUCHED, size)
    found = archive.evidence(REFUSE_RED, authority("early"))
    assert (found.support, found.contradictions) == (size, 0)  # what is told are real examples
    assert found.probability == pytest.approx(posterior(size + extra, 0.0, 0.95), abs=1e-6)
    assert authority("early").active("refuse", found) is (size + extra >= 13)


def test_a_committee_that_doubts_speaks_against(known):
    for claimed, active in ((1.0, True), (0.5, False), (0.0, False)):
        known(0.0, lambda table: table.labels, claimed)
        found = reds(12, 0).evidence(REFUSE_RED, authority("early"))
        expected = posterior(12 + VOUCHED * claimed, VOUCHED * (1 - claimed), 0.95)
        assert found.probability == pytest.approx(expected, abs=1e-6)
        assert authority("early").active("refuse", found) is active
    doubted = reds(13, 0).evidence(REFUSE_RED, authority("early"))
    assert authority("paper").active("refuse", Evidence(13, 0))
    assert not authority("early").active("refuse", doubted)


def test_early_joins_noise_aware(known):
    known(0.1, lambda table: table.codes[:, 0] == 1)
    alone = reds(9, 1).evidence(REFUSE_RED, authority("noise-aware"))
    helped = reds(9, 1).evidence(REFUSE_RED, authority("noise-aware+early"))
    weight = 10 / (10 + TRUST)
    first = posterior(9 + VOUCHED, 1.0, 0.1 + 0.8 * 0.95)
    second = posterior(10.0 + VOUCHED, 0.0, 0.95)
    expected = (1 - weight) * first + weight * second
    assert helped.probability == pytest.approx(expected, abs=1e-6)
    assert helped.probability > alone.probability


# held-out


def in_two_rounds():
    archive = Archive(WORLD)
    for number, size in ((1, 150), (2, 150)):
        part = drawn(size, law, seed=number, prefix=f"r{number}-")
        archive.add(part, part.labels, number, drawn(20, law, seed=9, prefix=f"c{number}-"))
    return archive


def test_an_example_is_on_one_side_for_good():
    whole, first = in_two_rounds(), Archive(WORLD)
    first.add(whole.table.take(range(150)), whole.table.labels[:150], 1)
    before, after = unpack(first.held_out, 150), unpack(whole.held_out, 300)
    assert np.array_equal(after[:150], before)
    assert 0.4 < after.mean() < 0.6
    order = np.random.default_rng(0).permutation(300)
    shuffled = archive_of(whole.table.take(order))
    assert np.array_equal(unpack(shuffled.held_out, 300), after[order])


def test_evidence_counts_the_held_out_half_alone():
    archive = in_two_rounds()
    held, red = unpack(archive.held_out, 300), archive.table.codes[:, 0] == 1
    found = archive.evidence(REFUSE_RED, authority("held-out"))
    assert found == Evidence(int((held & red).sum()), 0)
    born = rule("red", "refuse", 1, colour=["red"])
    later = archive.evidence(born, authority("held-out+prospective"))
    assert later.support == int((held & red)[150:].sum())
    with_noise = archive.evidence(REFUSE_RED, authority("held-out+noise-aware"))
    assert with_noise.support == found.support


def test_a_search_sees_the_other_half_and_no_label_of_the_held_out_one():
    archive = in_two_rounds()
    held = unpack(archive.held_out, 300)
    seen = archive.searched(authority("held-out"))
    assert seen.table.ids == tuple(np.array(archive.table.ids)[~held].tolist())
    assert seen.table.labels.tolist() == archive.table.labels[~held].tolist()
    assert seen.rounds.tolist() == archive.rounds[~held].tolist()
    assert seen.failed.tolist() == archive.failed[~held].tolist()
    assert len(seen.context) == 40 + held.sum()
    assert set(seen.context.labels.tolist()) == {-1}
    assert archive.searched(authority("held-out")) is seen
    assert archive.searched(authority()) is archive


@pytest.mark.parametrize("mode", ["held-out", "held-out+noise-aware"])
def test_the_labels_of_the_held_out_half_change_no_proposal(mode):
    def learned(flip):
        archive = in_two_rounds()
        labels, held = archive.table.labels.copy(), unpack(archive.held_out, 300)
        if flip:
            labels[held] = 1 - labels[held]
        changed = Archive(WORLD)
        table = archive.table.with_labels(labels)
        changed.add(table, np.full(300, -1, dtype=np.int8), 1, archive.context)
        return update(Policy(WORLD), changed, round=1, authority=authority(mode))

    plain, turned = learned(False), learned(True)
    assert plain.attempts
    assert [a.to_dict() for a in plain.attempts] == [a.to_dict() for a in turned.attempts]
    assert plain.accepted == turned.accepted
    assert plain.policy.active
    assert not turned.policy.active  # authority is another matter: it reads these labels alone
