"""κ: scikit-learn's on the sample, the same from tables of counts, and never NaN."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from vepa.annotate.agreement.kappa import (
    Question,
    binaries,
    cells_of,
    kappas,
    nominal,
    nominal_kappas,
)
from vepa.annotate.agreement.sampling import Resampling

SEVERAL = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)
KEYS = st.sampled_from(["x", "y", "z"])
NAMED = st.lists(st.tuples(KEYS, KEYS), min_size=1, max_size=40)


def asked(pairs, key="k"):
    a, b = np.array(pairs, dtype=bool).reshape(-1, 2).T
    return Question(key, a, b)


def measured(pairs, resamples=50):
    """Each item in an episode of its own."""
    episodes = [str(at) for at in range(len(pairs))]
    drawn = Resampling.drawn(set(episodes), resamples, 3)
    return binaries([asked(pairs)], drawn.position(episodes), drawn, ("a", "b"))[0]


@pytest.mark.property
@settings(max_examples=40, deadline=None)
@given(SEVERAL)
def test_a_table_of_counts_gives_the_kappa_of_scikit_learn(pairs):
    cells = cells_of(asked(pairs)).sum(axis=0)
    ours = float(kappas(cells.astype(float)))
    a, b = zip(*pairs, strict=True)
    if len(set(a)) < 2 or len(set(b)) < 2:
        assert np.isnan(ours)
    else:
        assert ours == pytest.approx(cohen_kappa_score(a, b))


@pytest.mark.property
@settings(max_examples=40, deadline=None)
@given(NAMED)
def test_so_does_a_table_of_keys(pairs):
    table = np.zeros((3, 3))
    for a, b in pairs:
        table["xyz".index(a), "xyz".index(b)] += 1
    a, b = zip(*pairs, strict=True)
    ours = float(nominal_kappas(table))
    if len(set(a)) < 2 or len(set(b)) < 2:
        assert np.isnan(ours)
    else:
        assert ours == pytest.approx(cohen_kappa_score(a, b))


@pytest.mark.property
@settings(max_examples=40, deadline=None)
@given(SEVERAL)
def test_no_figure_is_ever_not_a_number(pairs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = measured(pairs)
    for figure in (found.kappa, found.raw, found.positive, found.negative):
        assert (figure.value is None) <= bool(figure.reason)
        assert (figure.low is None) == (figure.high is None)
        if figure.low is not None:
            assert figure.low <= figure.high


def test_every_figure_of_a_table_by_hand():
    pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    found = measured(pairs)
    assert (found.both, found.only_a, found.only_b, found.neither) == (20, 5, 10, 15)
    # The textbook's table: 0.7 observed, 0.5 by chance.
    assert found.kappa.value == pytest.approx(0.4)
    assert found.raw.value == pytest.approx(0.7)
    assert found.positive.value == pytest.approx(40 / 55)
    assert found.negative.value == pytest.approx(30 / 45)
    assert (found.prevalence_a, found.prevalence_b) == (0.5, 0.6)
    assert found.prevalence == pytest.approx(0.55)
    assert not found.unstable


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        ([(0, 1), (0, 0)], "a never says it"),
        ([(1, 1), (1, 0)], "a always says it"),
        ([(0, 0), (0, 0)], "a never says it and b never says it"),
        ([], "no items"),
    ],
)
def test_a_rater_who_always_says_the_same_has_no_kappa(pairs, reason):
    found = measured(pairs)
    assert found.kappa.value is None
    assert found.kappa.low is None
    assert found.kappa.reason == reason


def test_fewer_than_five_of_either_is_unstable():
    assert measured([(1, 1)] * 4 + [(0, 1)] * 9 + [(0, 0)] * 30).unstable
    assert not measured([(1, 1)] * 5 + [(0, 0)] * 30).unstable


def test_no_interval_where_nobody_disagrees():
    found = measured([(1, 1)] * 9 + [(0, 0)] * 30)
    assert found.kappa.value == 1
    assert found.kappa.low is None
    assert "do not vary" in found.kappa.reason


def test_resamples_without_a_kappa_are_counted_and_left_out():
    found = measured([(1, 1)] * 2 + [(0, 1)] + [(0, 0)] * 6, resamples=400)
    # Two of nine episodes hold a yes of a: the chance to draw neither is (7/9)^9, a tenth.
    assert 20 <= found.kappa.undefined <= 70
    assert 0 < found.kappa.low < found.kappa.value


def test_items_of_which_one_names_none_are_left_out_of_a_nominal_kappa():
    named = [("x", "x"), ("y", "x"), (None, "y"), ("y", None), ("y", "y")]
    drawn = Resampling.drawn(set("12345"), 20, 0)
    found = nominal("key", named, drawn.position(list("12345")), drawn, ("a", "b"))
    assert found.items == 3
    assert found.categories == ["x", "y"]
    assert found.counts == [[1, 0], [1, 1]]
    assert found.kappa.value == pytest.approx(cohen_kappa_score(list("xyy"), list("xxy")))
    assert found.raw.value == pytest.approx(2 / 3)


def test_a_nominal_kappa_says_who_always_says_the_same():
    drawn = Resampling.drawn(set("12"), 20, 0)
    position = drawn.position(list("12"))
    found = nominal("key", [("x", "x"), ("x", "y")], position, drawn, ("a", "b"))
    assert found.kappa.value is None
    assert found.kappa.reason == "a always says x"
    none = nominal("key", [(None, "x"), ("x", None)], position, drawn, ("a", "b"))
    assert (none.items, none.kappa.value, none.raw.value) == (0, None, None)
