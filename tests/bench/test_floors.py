"""What the default makes of R-Judge stays above floors that leave room."""

from __future__ import annotations

import numpy as np
import pytest

from vepa.bench.prequential import Prequential, start
from vepa.bench.scores import score
from vepa.bench.streams import StreamSettings, make_stream
from vepa.evolution import EvolutionSettings
from vepa.policy import authority
from vepa.policy.verifier import verify


@pytest.mark.integration
def test_the_default_learns_rules_that_are_verified_precise_and_cover_most(rjudge):
    """Ten rounds of seeds 0 and 1, as `vepa bench run` works them off."""
    figures, begun = [], []
    for seed in (0, 1):
        stream = make_stream(rjudge, StreamSettings(), seed)
        loop = Prequential(stream, authority(), EvolutionSettings())
        for outcome in loop.run():
            assert verify(outcome.after).ok
            assert verify(outcome.after.activated()).ok
            assert outcome.record["wrong_feedback"] <= 0.1
        assert len(loop.current.active) >= 2
        figures.append(score(stream, loop.outcomes))
        begun.append(start(stream, authority(), EvolutionSettings()))

    def mean(name):
        return np.mean([seed[name] for seed in figures])

    assert mean("covered_macro_f1") >= 0.95
    assert mean("final3_coverage") >= 0.85
    assert mean("mean_coverage") >= 0.5
    assert mean("regression_rate") <= 0.03
    assert mean("unsafe_allowed") <= 0.05
    assert np.mean([first.coverage for first in begun]) >= 0.7
    assert np.mean([first.f1 for first in begun]) >= 0.93
