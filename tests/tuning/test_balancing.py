"""Balanced sampling against what it promises, counted."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vepa.tuning.balancing import MOST_OFTEN, balanced_order, sampling_weights, stratum_of
from vepa.tuning.examples import Example, Turn


def example(at, stratum):
    turn = Turn(role="user", content="x")
    return Example(
        id=str(at), kind="judge", prompt=[turn], completion=[Turn(role="assistant", content="y")],
        answer={"verdict": "allow"}, trace=str(at), group="g", stratum=stratum, tokens=1, whole=1,
        left_out=0, cut=False,
    )  # fmt: skip


def test_verdicts_then_triggers_are_drawn_evenly():
    strata = ["allow"] * 60 + ["refuse/leak"] * 30 + ["refuse/guess"] * 10
    weights = sampling_weights(strata)
    shares = Counter()
    for name, weight in zip(strata, weights, strict=True):
        shares[name] += weight
    assert shares["allow"] == pytest.approx(0.5)
    assert shares["refuse/leak"] == pytest.approx(0.25)
    assert shares["refuse/guess"] == pytest.approx(0.25)


def test_a_lone_example_is_not_drawn_to_death():
    strata = ["allow"] * 999 + ["refuse/leak"]
    weights = sampling_weights(strata)
    assert weights[-1] <= MOST_OFTEN / len(strata) * 1.01 / (0.5 + MOST_OFTEN / len(strata))
    assert sum(weights) == pytest.approx(1)


def test_a_pass_draws_as_often_as_the_weights_say():
    strata = ["allow"] * 80 + ["refuse/leak"] * 20
    found = [example(at, name) for at, name in enumerate(strata)]
    drawn = list(islice(balanced_order(found, 7), len(found)))
    counts = Counter(strata[at].partition("/")[0] for at in drawn)
    assert abs(counts["refuse"] - 50) <= 1
    # Systematic: nobody is drawn more often than his weight, rounded up.
    assert max(Counter(drawn).values()) <= 3


def test_the_same_seed_gives_the_same_order_and_another_does_not():
    found = [example(at, "allow" if at % 3 else "refuse/leak") for at in range(30)]
    one, again, other = (list(islice(balanced_order(found, seed), 90)) for seed in (1, 1, 2))
    assert one == again != other


def test_nothing_to_draw_from_draws_nothing():
    assert list(balanced_order([], 0)) == []


@pytest.mark.property
@given(
    st.lists(
        st.sampled_from(["allow", "allow/leak", "refuse/leak", "refuse/guess", "unlabelled"]),
        min_size=1,
        max_size=60,
    )
)
def test_weights_are_a_distribution_and_equal_within_a_stratum(strata):
    weights = sampling_weights(strata)
    assert sum(weights) == pytest.approx(1)
    assert all(weight > 0 for weight in weights)
    for name in set(strata):
        assert len({w for w, each in zip(weights, strata, strict=True) if each == name}) == 1


def test_a_stratum_names_verdict_and_triggers():
    assert stratum_of("refuse", ["leak", "guess"]) == "refuse/leak/guess"
    assert stratum_of(None, []) == "unlabelled"
