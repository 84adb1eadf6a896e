"""The bootstrap: whole episodes, the same for the same seed, equal to drawing them one by one."""

from __future__ import annotations

import numpy as np
import pytest

from vepa.annotate.agreement.kappa import Question, binaries, cells_of, kappas
from vepa.annotate.agreement.sampling import Resampling, estimate

EPISODES = ["e/10", "e/2", "e/2", "e/1", "e/10", "e/10"]


def test_episodes_come_whole():
    drawn = Resampling.drawn(set(EPISODES), 40, 0)
    assert list(drawn.episodes) == ["e/1", "e/2", "e/10"]
    assert (drawn.weights.sum(axis=1) == 3).all()
    values = np.array([1.0, 10, 100, 1000, 10_000, 100_000])
    sums = drawn.sums(values, drawn.position(EPISODES))
    for row, total in zip(drawn.weights, sums, strict=True):
        assert total == row[0] * 1000 + row[1] * 110 + row[2] * 110_001


def test_the_same_seed_draws_the_same_and_another_does_not():
    first = Resampling.drawn(set(EPISODES), 40, 7)
    assert (first.weights == Resampling.drawn(set(EPISODES), 40, 7).weights).all()
    assert (first.weights != Resampling.drawn(set(EPISODES), 40, 8).weights).any()


def test_the_interval_of_a_mean_is_the_one_that_theory_gives():
    rng = np.random.default_rng(2)
    values = rng.normal(size=400)
    names = [str(at) for at in range(400)]
    drawn = Resampling.drawn(set(names), 4000, 0)
    position = drawn.position(names)
    found = estimate(float(values.mean()), drawn.sums(values, position) / 400)
    half = 1.96 * values.std(ddof=1) / 20
    assert found.low == pytest.approx(values.mean() - half, abs=0.01)
    assert found.high == pytest.approx(values.mean() + half, abs=0.01)


def test_items_of_one_episode_that_say_the_same_widen_the_interval():
    rng = np.random.default_rng(2)
    of_episode = np.repeat(rng.normal(size=40), 10)
    alone, together = [str(at) for at in range(400)], [str(at // 10) for at in range(400)]
    widths = []
    for names in (alone, together):
        drawn = Resampling.drawn(set(names), 1000, 0)
        found = estimate(0.0, drawn.sums(of_episode, drawn.position(names)) / 400)
        widths.append(found.high - found.low)
    assert widths[1] > 2.5 * widths[0]


def test_one_episode_has_no_interval():
    drawn = Resampling.drawn({"e"}, 40, 0)
    found = estimate(0.5, drawn.sums(np.ones(3), drawn.position(["e"] * 3)))
    assert (found.value, found.low) == (0.5, None)
    assert "one episode" in found.reason


def test_an_interval_from_less_than_half_of_the_resamples_is_none():
    found = estimate(0.5, np.array([np.nan] * 60 + list(np.linspace(0, 1, 40))))
    assert (found.low, found.undefined) == (None, 60)
    kept = estimate(0.5, np.array([np.nan] * 40 + list(np.linspace(0, 1, 60))))
    assert (kept.low is not None, kept.undefined) == (True, 40)


@pytest.mark.slow
@pytest.mark.property
def test_the_interval_of_kappa_holds_the_true_one_as_often_as_it_says():
    """Episodes with moods of their own, of which kappa over very many is known."""
    rng = np.random.default_rng(11)

    def episodes(count: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
        mood = rng.beta(0.6, 2.4, size=count).repeat(6)
        truth = rng.random(len(mood)) < mood
        a, b = (truth ^ (rng.random(len(mood)) < 0.08) for _ in range(2))
        return a, b, [str(at) for at in np.arange(count).repeat(6)]

    a, b, _ = episodes(200_000)
    true = float(kappas(cells_of(Question("k", a, b)).sum(axis=0).astype(float)))
    held, runs = 0, 300
    for _ in range(runs):
        a, b, names = episodes(120)
        drawn = Resampling.drawn(set(names), 400, 0)
        found = binaries([Question("k", a, b)], drawn.position(names), drawn, ("a", "b"))[0].kappa
        held += found.low <= true <= found.high
    assert 0.91 <= held / runs <= 0.98
