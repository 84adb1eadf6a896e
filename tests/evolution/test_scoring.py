from __future__ import annotations

import numpy as np
import pytest
from evolving import CODES, WORLD, drawn, rows, rule, said
from hypothesis import given
from hypothesis import strategies as st

from vepa.evolution import Archive, Score, Scorer
from vepa.evolution.scoring import Outcome, macro_f1
from vepa.policy import Policy
from vepa.policy.bitsets import pack

shares = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
scores = st.builds(Score, shares, shares, st.just(0.0), st.just(0.0))


def archive(pairs):
    """Events of (colour, label, verdict of the policy that decided)."""
    found = Archive(WORLD)
    table = rows([({"colour": colour}, label) for colour, label, _ in pairs])
    found.add(table, np.array([CODES[v] for _, _, v in pairs], dtype=np.int8), 1)
    return found


@pytest.fixture(scope="module")
def f1_score():
    """Of scikit-learn: 2 s to load, so neither on collection nor within an example's deadline."""
    from sklearn.metrics import f1_score

    return f1_score


@pytest.mark.property
@given(pairs=st.lists(st.tuples(st.sampled_from([0, 1]), st.sampled_from([0, 1, -1])), max_size=40))
def test_macro_f1_equals_that_of_scikit_learn(f1_score, pairs):
    truth = np.array([label for label, _ in pairs], dtype=np.int8)
    verdicts = np.array([verdict for _, verdict in pairs], dtype=np.int8)
    found = macro_f1(
        Outcome(pack(verdicts == 0), pack(verdicts == 1)), pack(truth == 0), pack(truth == 1)
    )
    expected = (
        f1_score(truth, verdicts, labels=[0, 1], average="macro", zero_division=0) if pairs else 0.0
    )
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.property
@given(scores, scores, scores)
def test_dominance_is_a_strict_partial_order(one, two, three):
    assert not one.dominates(one)
    assert not (one.dominates(two) and two.dominates(one))
    if one.dominates(two) and two.dominates(three):
        assert one.dominates(three)
    better = one.repair >= two.repair and one.preservation >= two.preservation
    same = (one.repair, one.preservation) == (two.repair, two.preservation)
    assert one.dominates(two) == (better and not same)


def test_repair_preservation_and_objective_by_hand():
    found = archive(
        [
            ("red", "refuse", "allow"),  # a failure that the rules repair
            ("red", "refuse", "abstain"),  # and another
            ("blue", "refuse", "abstain"),  # a failure that stays: abstained
            ("green", "refuse", "allow"),  # a failure that stays: wrong
            ("red", "refuse", "refuse"),  # kept
            ("green", "allow", "allow"),  # kept
            ("blue", "allow", "allow"),  # lost: abstained
        ]
    )
    rules = [rule("a", "refuse", colour=["red"]), rule("b", "allow", colour=["green"])]
    score = Scorer(found, 2.0).score(rules)
    assert score.repair == 2 / 4
    assert score.preservation == 2 / 3
    # allow: 1 hit of 2 decided and 2 labelled; refuse: 3 hits of 3 decided and 5 labelled
    assert score.macro_f1 == pytest.approx((2 * 1 / 4 + 2 * 3 / 8) / 2)
    assert score.objective == pytest.approx(score.macro_f1 - 2.0 / 3)
    assert Scorer(found, 0.0).score(rules).objective == score.macro_f1
    assert score.to_dict() == {
        "repair": 0.5,
        "preservation": 2 / 3,
        "macro_f1": score.macro_f1,
        "objective": score.objective,
    }


def test_nothing_to_repair_and_nothing_to_keep_is_perfect():
    score = Scorer(Archive(WORLD), 1.0).score([rule("a", "allow", colour=["red"])])
    assert (score.repair, score.preservation, score.objective) == (1.0, 1.0, 0.0)


def test_an_event_that_both_decisions_match_abstains_or_is_refused():
    found = archive([("red", "refuse", "abstain"), ("blue", "allow", "abstain")])
    rules = [
        rule("a", "refuse", colour=["red", "blue"]),
        rule("b", "allow", colour=["red", "blue"]),
    ]
    assert Scorer(found, 1.0, "abstain").outcome(rules) == Outcome(0, 0)
    assert Scorer(found, 1.0, "abstain").score(rules).repair == 0.0
    assert Scorer(found, 1.0, "refuse").outcome(rules) == Outcome(0, 0b11)
    assert Scorer(found, 1.0, "refuse").score(rules).repair == 0.5


def test_standing_plays_no_part_in_what_rules_are_worth():
    found = archive([("red", "refuse", "abstain")])
    made = rule("a", "refuse", colour=["red"])
    assert Scorer(found, 1.0).score([made.with_status("inactive")]).repair == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_an_outcome_is_what_the_rules_say_one_by_one(seed):
    table = drawn(80, lambda e: "allow", seed)
    found = Archive(WORLD)
    found.add(table, np.full(80, -1, dtype=np.int8), 1)
    rules = [
        rule("a", "allow", colour=["red"], shape=["disc", "cube"]),
        rule("b", "allow", colour=["red"], size=["small"]),
        rule("c", "refuse", colour=["green"], noise=["p", "q"]),
    ]
    verdicts = said(Policy(WORLD, tuple(rules)), table)
    outcome = Scorer(found, 1.0).outcome(rules)
    assert outcome == Outcome(pack(verdicts == 0), pack(verdicts == 1))
    right = outcome.right(found.allow, found.refuse)
    assert right == pack(verdicts == table.labels)
