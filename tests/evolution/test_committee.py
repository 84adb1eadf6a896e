"""What the committee thinks of events: out of fold, deterministic, silent without knowledge."""

from __future__ import annotations

import numpy as np
import pytest
from evolving import drawn

from vepa.evolution.committee import DIGITS, FOLDS, log_odds, opinion, sigmoid


def law(event):
    return "refuse" if event["colour"] == "red" or event["shape"] == "rod" else "allow"


def asked(known, others, labels=None):
    target = (known.labels if labels is None else labels).astype(np.float64)
    return opinion(known.codes, target, others.codes)


def test_log_odds_undo_the_sigmoid_and_stay_finite():
    odds = np.linspace(-9.0, 9.0, 37)
    assert np.allclose(log_odds(sigmoid(odds)), odds, atol=1e-6)
    assert np.isfinite(log_odds(np.array([0.0, 1.0]))).all()
    assert np.isfinite(sigmoid(np.array([-1e9, 1e9]))).all()


def test_opinions_are_the_same_every_time_and_kept_to_a_few_digits():
    known, others = drawn(80, law, seed=1), drawn(50, law, seed=2)
    found, again = asked(known, others), asked(known, others)
    assert (found.own.shape, found.others.shape) == ((80,), (50,))
    for one, two in ((found.own, again.own), (found.others, again.others)):
        assert np.array_equal(one, two)
        assert np.array_equal(one, np.round(one, DIGITS))


def test_opinions_are_right_where_the_fields_tell_and_faint_where_they_do_not():
    known, others = drawn(120, law, seed=1), drawn(200, law, seed=2)
    found = asked(known, others)
    assert ((found.own > 0.0) == (known.labels == 1)).mean() > 0.93
    assert ((found.others > 0.0) == (others.labels == 1)).mean() > 0.95
    chance = asked(known, others, np.random.default_rng(0).integers(0, 2, 120))
    assert np.abs(chance.own).mean() < np.abs(found.own).mean() / 2


def test_opinions_follow_the_labels():
    known, others = drawn(120, law, seed=1), drawn(60, law, seed=2)
    found, mirrored = asked(known, others), asked(known, others, 1 - known.labels)
    assert np.allclose(found.own, -mirrored.own, atol=0.02)
    assert np.allclose(found.others, -mirrored.others, atol=0.02)


@pytest.mark.parametrize("row", [0, 7, 63])
def test_the_opinion_of_a_labelled_event_never_saw_its_label(row):
    """Flipped alone, a label moves the opinion of others, of its own event by a start value only.

    The regressions of a fold start from those of all labels, so as far as Newton's method stops
    short of its end a trace is left.
    """
    known = drawn(80, law, seed=1)
    labels = known.labels.copy()
    labels[row] = 1 - labels[row]
    before, after = asked(known, known), asked(known, known, labels)
    assert abs(before.own[row] - after.own[row]) < 1e-3
    assert abs(before.others[row] - after.others[row]) > 0.1
    assert np.abs(before.own - after.own).max() > 0.05


@pytest.mark.parametrize("size", [0, 1, 2 * FOLDS - 1, 40])
@pytest.mark.parametrize("label", ["allow", "refuse"])
def test_labels_of_one_kind_tell_nothing(size, label):
    found = asked(drawn(size, lambda e: label), drawn(7, law))
    assert found.own.tolist() == [0.0] * size
    assert found.others.tolist() == [0.0] * 7


def test_a_few_labels_tell_nothing_and_no_events_need_no_opinion():
    few = drawn(2 * FOLDS - 1, law, seed=4)
    assert set(few.labels) == {0, 1}
    assert not asked(few, few).others.any()
    many = drawn(40, law)
    assert asked(many, many.take([])).others.shape == (0,)


def test_one_odd_label_is_no_trouble():
    """All folds but one train on both kinds; the one that does not has no opinion."""
    known = drawn(30, lambda e: "allow")
    labels = known.labels.copy()
    labels[3] = 1
    found = asked(known, drawn(20, law), labels)
    assert np.isfinite(found.own).all()
    assert np.isfinite(found.others).all()
    assert found.others.mean() < 0.0
    assert found.own[3] == 0.0


def test_values_that_no_label_was_given_for_have_no_weight():
    known = drawn(60, lambda e: "refuse" if e["size"] == "small" else "allow", seed=3)
    shown = known.take(np.flatnonzero(known.codes[:, 2] != 4))  # without `rod`
    other = drawn(40, law, seed=5).codes
    strange, unknown = other.copy(), other.copy()
    strange[:, 2], unknown[:, 2] = 4, 0
    target = shown.labels.astype(np.float64)
    one = opinion(shown.codes, target, strange).others
    assert np.array_equal(one, opinion(shown.codes, target, unknown).others)
