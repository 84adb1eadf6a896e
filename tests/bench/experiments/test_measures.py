"""Measures and intervals, held against the plain definitions on repeated events."""

from __future__ import annotations

import numpy as np
import pytest

from vepa.bench import metrics
from vepa.bench.experiments.beside import moved
from vepa.bench.experiments.document import Cell
from vepa.bench.experiments.measures import MEASURES
from vepa.bench.experiments.measuring import Resamples, drawn
from vepa.bench.experiments.plays import Answered

COUNTED = [name for name, measure in MEASURES.items() if measure.counts is not None]


def answered(seed: int, size: int = 80, *, rules: bool = True) -> Answered:
    rng = np.random.default_rng(seed)
    none = np.zeros(0, dtype=np.int64)
    rounds = np.arange(1, 5)
    truth = np.random.default_rng(size).integers(0, 2, size).astype(np.int8)
    rows = rng.permutation(size).astype(np.int32)
    wrong = rng.random(size) < 0.2
    verdicts = np.where(wrong, 1 - truth[rows], truth[rows]).astype(np.int8)
    if rules:
        verdicts[rng.random(size) < 0.3] = -1
    return Answered(
        rows=rows,
        round=np.repeat(rounds, size // 4).astype(np.int16),
        truth=truth[rows],
        aimed=rng.random(size) < 0.5,
        verdicts=verdicts,
        sure=rng.random(size),
        failed_round=none.astype(np.int16),
        failed_truth=none.astype(np.int8),
        repaired=none.astype(np.int8),
        correct=rounds * 10 if rules else none,
        lost=rounds if rules else none,
        archive=rounds if rules else none,
        active=rounds if rules else none,
    )


def test_a_resample_is_the_measure_on_the_events_that_were_drawn():
    ours, theirs = answered(0), answered(0, rules=False)
    resamples = Resamples(80)
    drawn = resamples.of(MEASURES["full_f1"], ours, ours)
    hybrid = resamples.of(MEASURES["hybrid_f1"], theirs, ours)
    shares = resamples.of(MEASURES["mean_coverage"], ours, ours)
    place = np.argsort(ours.rows)  # row of the table -> position in the stream
    for at in (0, 1, 999):
        again = np.repeat(np.arange(80), resamples.weights[at].astype(int))
        truth, said = ours.truth[place[again]], ours.verdicts[place[again]]
        assert drawn[at] == pytest.approx(metrics.macro_f1(truth, said))
        assert shares[at] == pytest.approx(metrics.coverage(said))
        fallback = theirs.verdicts[np.argsort(theirs.rows)[again]]
        assert hybrid[at] == pytest.approx(metrics.hybrid_macro_f1(truth, said, fallback))


@pytest.mark.parametrize("name", COUNTED)
def test_an_interval_holds_its_mean_and_has_a_width(name):
    plays, refs = [answered(s) for s in range(3)], [answered(s) for s in range(3)]
    measured = drawn(MEASURES[name], plays, refs, Resamples(80))
    assert measured is not None
    found = measured.cell
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.mean < found.high
    assert found.mean == pytest.approx(np.mean(found.by_seed))


def test_a_method_less_itself_is_exactly_nothing():
    plays = [answered(s) for s in range(3)]
    found = drawn(MEASURES["covered_f1"], plays, plays, Resamples(80))
    assert found is not None
    assert found.less(found).cell == Cell(
        mean=0.0, sd=0.0, low=0.0, high=0.0, by_seed=(0.0, 0.0, 0.0)
    )


def test_pairing_makes_the_interval_of_a_difference_narrower():
    ours = [answered(s, 400) for s in range(3)]
    theirs = []
    for play in ours:  # the same answers but for a few
        verdicts = play.verdicts.copy()
        verdicts[:8] = 1 - play.truth[:8]
        theirs.append(Answered(**{**vars_of(play), "verdicts": verdicts}))
    resamples = Resamples(400)
    measure = MEASURES["full_f1"]
    one, other = (drawn(measure, plays, plays, resamples) for plays in (ours, theirs))
    assert one is not None
    assert other is not None
    paired, alone = one.less(other).cell, one.cell
    assert paired.high - paired.low < 0.5 * (alone.high - alone.low)
    assert paired.low > 0.0


def vars_of(play: Answered) -> dict[str, object]:
    return {name: getattr(play, name) for name in Answered.__dataclass_fields__}


def test_a_learner_is_scored_where_the_policy_decides():
    ours, theirs = answered(1), answered(1, rules=False)
    covered = ours.verdicts != -1
    told = MEASURES["covered_f1"].of(theirs, ours)
    assert told == pytest.approx(metrics.macro_f1(theirs.truth[covered], theirs.verdicts[covered]))
    assert MEASURES["regression"].of(theirs, ours) is None
    assert MEASURES["active_rules"].of(theirs, ours) is None
    assert MEASURES["regression"].of(ours, ours) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("mean", "low", "high", "source", "told", "same"),
    [
        (
            -0.05,
            -0.08,
            -0.02,
            -0.13,
            "moves the same way",
            True,
        ),
        (-0.01, -0.04, 0.01, -0.13, "does not move", False),
        (0.05, 0.02, 0.08, -0.13, "moves the other way", False),
        (0.0, 0.0, 0.0, -0.04, "does not move", False),
    ],
)
def test_whether_a_difference_moves_as_the_sources_does(mean, low, high, source, told, same):
    verdict, found = moved(Cell(mean=mean, sd=0.01, low=low, high=high), source, "score")
    assert verdict.startswith(told)
    assert found is same
