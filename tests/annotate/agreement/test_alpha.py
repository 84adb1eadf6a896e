"""α: the package's on the sample, our sums equal to it, MASI by hand."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vepa.annotate.agreement import alpha as measured
from vepa.annotate.agreement.alpha import (
    alpha,
    alphas,
    counts_of,
    masi_distance,
    masi_distances,
    nominal_distances,
)
from vepa.annotate.agreement.sampling import Resampling

SETS = [frozenset(each) for each in ("", "x", "y", "xy", "yz", "xyz")]
CODES = st.lists(
    st.lists(st.integers(0, len(SETS) - 1), min_size=1, max_size=4), min_size=1, max_size=25
)


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [
        ("", "", 0),
        ("x", "x", 0),
        ("xy", "yx", 0),
        ("", "x", 1),
        ("x", "y", 1),
        # NLTK's own example: 0.665, as it rounds 2/3 to 0.67.
        ("xy", "wxyz", 1 - 1 / 2 * 2 / 3),
        ("xy", "yz", 1 - 1 / 3 * 1 / 3),
        ("x", "xy", 1 - 1 / 2 * 2 / 3),
        ("xyz", "wxy", 1 - 2 / 4 * 1 / 3),
    ],
)
def test_masi_by_hand(a, b, distance):
    assert masi_distance(frozenset(a), frozenset(b)) == pytest.approx(distance)
    assert masi_distance(frozenset(b), frozenset(a)) == pytest.approx(distance)


def test_alpha_of_sets_by_hand():
    # Two readers, three items: {x}/{x}, {x}/{x,y}, {}/{}. Distances: {x}-{x,y} 2/3, else 1.
    values = [frozenset(), frozenset("x"), frozenset("xy")]
    counts = counts_of([(1, 1), (1, 2), (0, 0)], 3)
    # Observed: the one pair that differs, both ways: 2 · 2/3.
    observed = 2 * 2 / 3
    # Values given: {} 2, {x} 3, {x,y} 1; expected: 2 · (2·3·1 + 2·1·1 + 3·1·2/3) / (6 - 1).
    expected = 2 * (2 * 3 * 1 + 2 * 1 * 1 + 3 * 1 * 2 / 3) / 5
    found = alpha(counts, masi_distances(values))
    assert found.value == pytest.approx(1 - observed / expected)


def test_alpha_of_the_textbook_with_missing_judgements():
    # Krippendorff's own example of four readers and twelve units; nominal α is 0.743.
    units = [
        [1, 1, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
        [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [5, 5, 5], [1, 1], [3],
    ]  # fmt: skip
    counts = counts_of([[value - 1 for value in unit] for unit in units], 5)
    assert alpha(counts, nominal_distances(5)).value == pytest.approx(0.743, abs=5e-4)


@pytest.mark.property
@settings(max_examples=40, deadline=None)
@given(CODES)
def test_our_sums_give_the_alpha_of_the_package(codes):
    counts, distances = counts_of(codes, len(SETS)), masi_distances(SETS)
    several = counts[counts.sum(axis=1) >= 2]
    given_values = several.sum(axis=0) > 0
    observed, values = measured._parts(counts, distances)
    ours = float(alphas(observed.sum(), values.sum(axis=0), distances))
    if given_values.sum() < 2:
        assert np.isnan(ours)
        assert alpha(counts, distances).value is None
        return
    theirs = krippendorff.alpha(
        value_counts=counts,
        level_of_measurement=lambda v1, v2, **_: distances[v1, v2],
    )
    assert ours == pytest.approx(theirs)
    assert alpha(counts, distances).value == pytest.approx(theirs)


def test_what_is_too_large_for_the_package_has_the_same_alpha(monkeypatch):
    counts = counts_of([(1, 1), (1, 2), (0, 0), (3, 4)], len(SETS))
    whole = alpha(counts, masi_distances(SETS)).value
    monkeypatch.setattr(measured, "_MOST_CELLS", 0)
    monkeypatch.setattr(measured, "_by_package", None)
    assert alpha(counts, masi_distances(SETS)).value == pytest.approx(whole)


def test_nobody_can_disagree_where_all_say_the_same():
    found = alpha(counts_of([(1, 1), (1, 1)], 2), nominal_distances(2))
    assert (found.value, found.reason) == (None, "everybody always says the same")
    alone = alpha(counts_of([(1,), (0,)], 2), nominal_distances(2))
    assert (alone.value, alone.reason) == (None, "no item with two judgements")


def test_resampled_alphas_are_those_of_the_drawn_items():
    rng = np.random.default_rng(5)
    codes = [tuple(rng.integers(0, len(SETS), 2)) for _ in range(30)]
    episodes = [str(at // 3) for at in range(30)]
    drawn = Resampling.drawn(set(episodes), 25, 1)
    position = drawn.position(episodes)
    counts, distances = counts_of(codes, len(SETS)), masi_distances(SETS)
    observed, values = measured._parts(counts, distances)
    ours = alphas(drawn.sums(observed, position), drawn.sums(values, position), distances)
    for at, weights in enumerate(drawn.weights):
        repeated = np.repeat(counts, weights[position].astype(int), axis=0)
        assert ours[at] == pytest.approx(alpha(repeated, distances).value)
