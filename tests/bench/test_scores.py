from __future__ import annotations

import numpy as np
import pytest

from vepa.bench import metrics
from vepa.bench.prequential import Prequential
from vepa.bench.scores import CURVE, score, worked_off
from vepa.bench.streams import StreamSettings, make_stream
from vepa.evolution import EvolutionSettings
from vepa.policy import Evidence, authority


@pytest.fixture
def worked(build):
    def evolve(parent, archive, *, round, **known):
        learned = build.evolve(parent, archive, round=round, **known)
        rules = [rule.with_status("active", Evidence(round, 0)) for rule in learned.policy.rules]
        return type(learned)(parent.with_rules(rules), round)

    stream = make_stream(build.table(160), StreamSettings(rounds=4, flip=0.1), 0)
    run = Prequential(stream, authority(), EvolutionSettings(), evolve=evolve)
    return stream, run.run()


def test_confidence_is_that_of_the_policy_that_decided(worked):
    stream, outcomes = worked
    answers = worked_off(stream, outcomes)
    decided = answers.verdicts != -1
    rounds = np.repeat([1, 2, 3, 4], [len(part.indices) for part in stream.rounds])
    assert np.array_equal(decided, rounds > 1)
    assert answers.confidence == pytest.approx(np.where(decided, rounds / (rounds + 1), 0.0))
    assert np.array_equal(answers.truth, stream.table.labels[stream.order])


def test_figures_by_their_definitions(worked):
    stream, outcomes = worked
    found = score(stream, outcomes)
    answers = worked_off(stream, outcomes)
    later = answers.verdicts != -1
    assert found["covered_macro_f1"] == metrics.macro_f1(
        answers.truth[later], answers.verdicts[later]
    )
    assert found["coverage_by_round"] == [0.0, 1.0, 1.0, 1.0]
    assert found["mean_coverage"] == 0.75
    assert found["final_coverage"] == found["final3_coverage"] == 1.0
    assert found["regression_rate"] == sum(o.lost for o in outcomes) / sum(
        o.correct for o in outcomes
    )
    failures = np.concatenate([o.failures for o in outcomes])
    repaired = np.concatenate([o.repaired for o in outcomes])
    assert found["adaptation_f1"] == metrics.macro_f1(stream.table.labels[failures], repaired)
    assert found["rules"] == {"archive": 3, "active": 3}


def test_the_curve_ends_where_the_policy_abstains(worked):
    curve = worked_off(*worked).curve()
    assert [point["coverage"] for point in curve] == [c for c in CURVE if c <= 0.75]
