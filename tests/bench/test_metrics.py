from __future__ import annotations

import numpy as np
import pytest

from vepa.bench import metrics


def random_case(seed, size=300, abstain=True):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, size).astype(np.int8)
    verdicts = rng.integers(-1 if abstain else 0, 2, size).astype(np.int8)
    return truth, verdicts


@pytest.mark.parametrize("seed", range(20))
def test_macro_f1_equals_scikit_learn(seed):
    f1_score = pytest.importorskip("sklearn.metrics").f1_score
    truth, verdicts = random_case(seed)
    covered = verdicts != -1
    theirs = f1_score(
        truth[covered], verdicts[covered], labels=[0, 1], average="macro", zero_division=0
    )
    assert metrics.covered_macro_f1(truth, verdicts) == pytest.approx(theirs, abs=1e-12)
    # An abstention is a class of its own there: never right, so a miss of the true class.
    theirs = f1_score(truth, verdicts, labels=[0, 1], average="macro", zero_division=0)
    assert metrics.full_macro_f1(truth, verdicts) == pytest.approx(theirs, abs=1e-12)


def test_by_hand():
    truth = np.array([0, 0, 0, 1, 1, 1], np.int8)
    verdicts = np.array([0, 1, -1, 1, 1, -1], np.int8)
    # covered: allow tp 1, fp 0, fn 1 -> 2/3; refuse tp 2, fp 1, fn 0 -> 4/5
    assert metrics.covered_macro_f1(truth, verdicts) == pytest.approx((2 / 3 + 4 / 5) / 2)
    # full: allow tp 1, fn 2 -> 1/2; refuse tp 2, fp 1, fn 1 -> 2/3
    assert metrics.full_macro_f1(truth, verdicts) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert metrics.coverage(verdicts) == pytest.approx(4 / 6)


def test_nothing_covered_is_zero_and_one_class_is_no_perfection():
    truth = np.array([0, 1], np.int8)
    assert metrics.covered_macro_f1(truth, np.array([-1, -1], np.int8)) == 0.0
    assert metrics.covered_macro_f1(truth[:0], truth[:0]) == 0.0
    assert metrics.covered_macro_f1(truth, np.array([-1, 1], np.int8)) == 0.5
    assert metrics.coverage(truth[:0]) == 0.0


def test_coverages_by_rounds():
    rounds = [np.array(codes, np.int8) for codes in ([-1, -1], [0, -1], [1, 0, 1, -1], [1, 1])]
    assert metrics.final_coverage(rounds) == 1.0
    assert metrics.final_coverage(rounds, last=3) == pytest.approx(6 / 8)
    assert metrics.mean_coverage(rounds) == pytest.approx(6 / 10)


def test_losses_count_abstentions_and_not_what_was_wrong_before():
    truth = np.array([0, 0, 1, 1, 1], np.int8)
    before = np.array([0, 0, 1, 0, -1], np.int8)
    after = np.array([0, -1, 0, 1, -1], np.int8)
    assert metrics.losses(truth, before, after) == 2
    assert metrics.regression_rate([2, 0], [5, 15]) == pytest.approx(0.1)
    assert metrics.regression_rate([], []) == 0.0


def test_risk_coverage_by_hand():
    truth = np.array([0, 1, 0, 1], np.int8)
    verdicts = np.array([0, 1, 1, -1], np.int8)
    confidence = np.array([0.7, 0.9, 0.5, 0.99])
    curve = metrics.risk_coverage(truth, verdicts, confidence, [0.25, 0.5, 0.75, 1.0])
    assert [point["coverage"] for point in curve] == [0.25, 0.5, 0.75]
    assert [point["risk"] for point in curve] == pytest.approx([0.0, 0.0, 1 / 3])
    assert curve[1]["f1"] == 1.0
    assert metrics.at_coverage(truth, verdicts, confidence, 0.5) == 1.0
    assert metrics.at_coverage(truth, verdicts, confidence, 0.75) == pytest.approx(2 / 3)


@pytest.mark.parametrize("seed", range(5))
def test_risk_of_a_curve_equals_a_sort_by_hand(seed):
    truth, verdicts = random_case(seed, abstain=False)
    confidence = np.random.default_rng(seed + 100).random(len(truth))
    ranked = sorted(range(len(truth)), key=lambda at: -confidence[at])
    for point in metrics.risk_coverage(truth, verdicts, confidence, [0.1, 0.33, 1.0]):
        kept = ranked[: round(point["coverage"] * len(truth))]
        wrong = sum(truth[at] != verdicts[at] for at in kept)
        assert point["risk"] == pytest.approx(wrong / len(kept))


@pytest.mark.parametrize("seed", range(5))
def test_errors_by_kind_and_the_confusion_they_come_from(seed):
    truth, verdicts = random_case(seed)
    table = metrics.confusion(truth, verdicts)
    pairs = list(zip(truth.tolist(), verdicts.tolist(), strict=True))
    for said, code in (("allow", 0), ("refuse", 1), ("abstain", -1)):
        for meant, label in (("allow", 0), ("refuse", 1)):
            assert table[said][meant] == pairs.count((label, code)) > 0
    unsafe = pairs.count((1, 0)) + pairs.count((1, 1))
    safe = pairs.count((0, 0)) + pairs.count((0, 1))
    assert metrics.unsafe_allowed(truth, verdicts) == pairs.count((1, 0)) / unsafe
    assert metrics.safe_refused(truth, verdicts) == pairs.count((0, 1)) / safe


def test_without_decided_events_no_error_is_counted():
    truth = np.array([1, 1, 0], np.int8)
    assert metrics.unsafe_allowed(truth, np.array([-1, -1, 1], np.int8)) == 0.0
    assert metrics.safe_refused(truth, np.array([-1, -1, 1], np.int8)) == 1.0
