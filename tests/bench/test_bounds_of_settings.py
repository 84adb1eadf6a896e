"""Settings that numbers or other packages cannot follow are refused before anything runs."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from vepa.bench.results import MAX_SEEDS, BenchSettings, config
from vepa.bench.runs.profile import Profile
from vepa.bench.streams import MAX_SEED
from vepa.corpus.events import EventTable
from vepa.evolution.settings import MAX_PRIOR, Gates, GateSettings
from vepa.policy.schema import bundled_schema


@pytest.mark.parametrize(
    "given",
    [
        {"first_seed": MAX_SEED},
        {"first_seed": MAX_SEED - MAX_SEEDS + 1},
        {"seeds": MAX_SEEDS + 1},
        {"views": ()},
    ],
)
def test_a_benchmark_is_bounded(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        BenchSettings.model_validate(given)


def test_the_last_seed_is_one_that_every_learner_takes() -> None:
    settings = BenchSettings(seeds=MAX_SEEDS, first_seed=MAX_SEED - MAX_SEEDS)
    assert settings.first_seed + settings.seeds - 1 < 2**32
    assert Profile(events=["e"], seed=MAX_SEED).seed == 2**32 - 1
    with pytest.raises(ValidationError):
        Profile(events=["e"], seed=MAX_SEED + 1)


def test_the_largest_priors_can_be_worked_out() -> None:
    gates = Gates(
        allow=GateSettings(prior_support=MAX_PRIOR),
        refuse=GateSettings(prior_contradictions=MAX_PRIOR),
    )
    judge = gates.authority("paper")
    assert judge.needed("allow", 0) == 0
    assert judge.needed("refuse", 0) is None
    with pytest.raises(ValidationError):
        GateSettings(prior_support=1e308, prior_contradictions=1e308)


def test_files_scored_apart_may_be_of_several_units_and_the_config_says_so() -> None:
    tables = {unit: EventTable.empty(bundled_schema(), unit) for unit in ("trajectory", "step")}
    settings = BenchSettings(separate=True)
    assert config(tables, settings)["unit"] == "trajectory+step"
    assert config({"step": tables["step"]}, settings)["unit"] == "step"
