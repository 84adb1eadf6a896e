"""A hundred thousand events: what a bound and a sample leave as it was."""

from __future__ import annotations

import numpy as np
import pytest

from vepa.bench import metrics
from vepa.bench.prequential import Prequential
from vepa.bench.streams import StreamSettings, make_stream
from vepa.bench.synth import SyntheticSettings, make_synthetic
from vepa.bench.verdicts import decide
from vepa.corpus.events import read_events
from vepa.evolution import EvolutionSettings
from vepa.evolution.bounding import bounded
from vepa.evolution.sampling import SAMPLE
from vepa.policy import authority
from vepa.project import Project

pytestmark = pytest.mark.slow


def played(table, most, mode, rounds=4, flip=0.05):
    stream = make_stream(table, StreamSettings(rounds=rounds, flip=flip), 0)
    run = Prequential(stream, authority(mode), EvolutionSettings(archive=most))
    run.run()
    return run


@pytest.mark.parametrize("mode", ["paper", "noise-aware"])
def test_a_bound_keeps_decisions_authority_and_quality(mode):
    events = make_synthetic(SyntheticSettings(events=120_000, rules=8, hard=0.02)).table
    table, fresh = events.take(range(100_000)), events.take(range(100_000, 120_000))
    whole, kept = played(table, None, mode), played(table, 5000, mode)
    assert (len(whole.archive), len(kept.archive)) == (50_000, 5000)
    gate, policy = authority(mode), whole.current
    once = bounded(whole.archive, 5000, policy, gate)
    assert len(once) == 5000
    assert once.judged(policy, gate).document_hash == policy.document_hash
    one, other = whole.archive.sampled(), kept.archive.sampled()
    assert len(one) == SAMPLE
    assert np.array_equal(one.table.codes, other.table.codes)
    full = [
        metrics.full_macro_f1(fresh.labels, decide(run.current, fresh.columns))
        for run in (whole, kept)
    ]
    assert abs(full[0] - full[1]) <= 0.005


def test_real_events_come_again_and_again_in_few_rows():
    real = read_events(Project().find("data", "rjudge_dev.events.jsonl"))
    drawn = real.take(np.random.default_rng(0).integers(0, len(real), 60_000))
    table = type(real)(
        real.schema, tuple(map(str, range(60_000))), drawn.codes, drawn.labels, real.unit
    )
    whole, kept = played(table, None, "paper"), played(table, 1000, "paper")
    assert len(kept.archive) < 1000
    assert whole.current.document_hash == kept.current.document_hash
