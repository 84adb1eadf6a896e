from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

from vepa.bench import processes
from vepa.bench.results import SCALARS, BenchSettings, mean_curve, run_bench, spread
from vepa.bench.streams import StreamSettings
from vepa.bench.trials import Trial, TrialSettings, run_trial, run_trials
from vepa.errors import EventError, RunError, SettingError
from vepa.evolution import EvolutionSettings

QUICK = TrialSettings(
    stream=StreamSettings(rounds=5), evolution=EvolutionSettings(patches=6), baselines=("lookup",)
)


def settings(trial=QUICK, **known):
    return BenchSettings(trial=trial, **{"seeds": 2, **known})


def without_time(document):
    return json.dumps({k: v for k, v in document.items() if k != "seconds"}, sort_keys=True)


@pytest.fixture(scope="module")
def document(rjudge):
    return run_bench({"r": rjudge}, settings(), jobs=1)


def test_the_contract(document):
    for name in SCALARS:
        assert set(document[name]) == {"mean", "sd"}
        assert 0.0 <= document[name]["mean"] <= 1.0
    assert {"unsafe_allowed", "safe_refused"} <= set(SCALARS)
    for seed in document["by_seed"]:
        allowed, refused = seed["confusion"]["allow"], seed["confusion"]["refuse"]
        decided = {label: allowed[label] + refused[label] for label in ("allow", "refuse")}
        assert seed["unsafe_allowed"] == allowed["refuse"] / decided["refuse"]
        assert seed["safe_refused"] == refused["allow"] / decided["allow"]
        assert sum(sum(row.values()) for row in seed["confusion"].values()) == 188
    assert {"coverage", "f1"} <= set(document["start40"])
    assert isinstance(document["start40"]["coverage"], float)
    assert document["start40"]["labels"] == 40
    assert len(document["coverage_by_round"]) == 5
    assert document["coverage_by_round"][0] == 0.0
    assert set(document["rules"]) == {"archive", "active"}
    assert document["rules"]["active"] <= document["rules"]["archive"]
    assert document["seconds"] > 0
    assert document["config"]["rounds"] == 5
    assert document["config"]["seeds"] == [0, 1]
    assert document["config"]["authority"] == "noise-aware"  # what `default` stands for
    assert document["events"] == {"count": 188, "allow": 90, "refuse": 98}
    json.dumps(document, allow_nan=False)


def test_means_are_over_the_seeds(document):
    for name in SCALARS:
        values = [seed[name] for seed in document["by_seed"]]
        assert document[name]["mean"] == pytest.approx(np.mean(values))
        assert document[name]["sd"] == pytest.approx(np.std(values))
    assert document["by_seed"][0] != document["by_seed"][1]
    assert spread([1.0, 3.0]) == {"mean": 2.0, "sd": 1.0}  # of the population


def test_the_estimated_share_of_wrong_feedback_is_told_where_there_is_one(document, rjudge):
    shares = [seed["wrong_feedback"] for seed in document["by_seed"]]
    assert document["wrong_feedback"] == spread(shares)
    assert all(0.0 <= share < 0.05 for share in shares)
    wrong = QUICK.model_copy(update={"stream": StreamSettings(rounds=3, feedback=1.0, flip=0.2)})
    told = run_bench({"r": rjudge}, settings(wrong, seeds=1), jobs=1)
    assert told["wrong_feedback"]["mean"] == pytest.approx(0.2, abs=0.08)
    plain = wrong.model_copy(update={"authority": "paper", "stream": StreamSettings(rounds=1)})
    found = run_bench({"r": rjudge}, settings(plain, seeds=1), jobs=1)
    assert "wrong_feedback" not in found
    assert "wrong_feedback" not in found["by_seed"][0]


def test_the_best_lookup_is_named_and_the_gap_is_to_it(document):
    fields = {k: v for k, v in document["baselines"].items() if k.startswith("lookup.")}
    assert len(fields) == 17
    best = document["baselines"]["lookup"]
    assert best["covered"]["mean"] == max(v["covered"]["mean"] for v in fields.values())
    assert best["covered"] == fields[f"lookup.{best['field']}"]["covered"]
    assert document["gap"]["mean"] == pytest.approx(
        document["covered_macro_f1"]["mean"] - best["covered"]["mean"]
    )
    assert {"vepa", "lookup.harm_domain"} <= set(document["risk_coverage"])


def test_no_baseline_unless_asked(rjudge):
    found = run_bench({"r": rjudge}, settings(QUICK.model_copy(update={"baselines": ()})), jobs=1)
    assert "baselines" not in found
    assert "gap" not in found


def test_several_views_and_separate_files(rjudge):
    other = rjudge.take(np.arange(100))
    tables = {"a": rjudge, "b": other}
    found = run_bench(
        tables, settings(views=("full", "observable"), seeds=1, separate=True), jobs=1
    )
    assert set(found["files"]) == {"a", "b"}
    views = found["files"]["a"]["views"]
    assert set(views) == {"full", "observable"}
    assert views["full"]["covered_macro_f1"] != views["observable"]["covered_macro_f1"]
    assert "lookup.harm_domain" not in views["observable"]["baselines"]
    assert found["files"]["b"]["events"]["count"] == 100
    assert "covered_macro_f1" not in found
    assert {"config", "seconds"} <= set(found)
    alone = run_bench({"a": rjudge}, settings(views=("observable",), seeds=1), jobs=1)
    assert alone["by_seed"] == views["observable"]["by_seed"]


def test_several_files_are_one_stream(rjudge):
    halves = {"a": rjudge.take(np.arange(90)), "b": rjudge.take(np.arange(90, 188))}
    whole = run_bench({"r": rjudge}, settings(seeds=1), jobs=1)
    joined = run_bench(halves, settings(seeds=1), jobs=1)
    assert joined["by_seed"] == whole["by_seed"]


@pytest.mark.integration
def test_figures_do_not_depend_on_the_number_of_processes(rjudge, document):
    counted = []
    found = run_bench({"r": rjudge}, settings(), jobs=2, progress=counted.append)
    assert without_time(found) == without_time(document)
    assert sum(counted) == 10


@pytest.mark.integration
def test_an_error_in_a_process_arrives_as_it_is(build):
    table = build.table(40)
    labels = table.labels.copy()
    labels[3] = -1
    bad = Trial(("", "full", 0), (table.with_labels(labels),), QUICK)
    good = Trial(("", "full", 1), (table,), QUICK)
    with pytest.raises(EventError, match=table.ids[3]) as caught:
        run_trials([good, bad], jobs=2)
    assert caught.value.where.field == "label"
    assert caught.value.remedy


@pytest.mark.integration
def test_a_process_that_dies_is_a_run_error(monkeypatch):
    # What a worker runs must be importable there; `exec` takes "work" and item as its namespaces.
    monkeypatch.setattr(processes, "_connected", partial(exec, "import os; os._exit(9)"))
    with pytest.raises(RunError, match="process of the benchmark died"):
        processes.run_each({}, [{}, {}], jobs=2)


def test_a_trial_counts_its_rounds(build):
    ticks = []
    run_trial(Trial(("", "full", 0), (build.table(40),), QUICK), ticks.append)
    assert ticks == [1] * 5


def test_masked_cells_reach_the_policy_and_the_baselines(rjudge):
    masked = QUICK.model_copy(update={"mask_unknown": 1.0})
    found = run_bench({"r": rjudge}, settings(masked, seeds=1), jobs=1)
    assert found["mean_coverage"]["mean"] == 0.0  # events that are all alike tell nothing
    assert found["covered_macro_f1"]["mean"] == 0.0
    assert found["baselines"]["lookup.harm_domain"]["full"]["mean"] < 0.7


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"views": ("fulll",)}, "fulll"),
        ({"views": ("full", "full")}, "twice"),
        ({"trial": QUICK.model_copy(update={"authority": "paperr"})}, "paperr"),
        ({"trial": QUICK.model_copy(update={"baselines": ("svm",)})}, "svm"),
        (
            {"trial": QUICK.model_copy(update={"stream": StreamSettings(rounds=500)})},
            "cannot fill",
        ),
        (
            {"trial": QUICK.model_copy(update={"evolution": EvolutionSettings(proposer="oracle")})},
            "oracle",
        ),
    ],
)
def test_what_is_wrong_is_told_before_anything_runs(rjudge, change, word, monkeypatch):
    monkeypatch.setattr("vepa.bench.results.run_trials", None)
    with pytest.raises(SettingError, match=word):
        run_bench({"r": rjudge}, BenchSettings(**{"trial": QUICK, **change}))


def test_an_unlabelled_event_is_named_with_its_file(rjudge):
    labels = rjudge.labels.copy()
    labels[5] = -1
    with pytest.raises(EventError) as caught:
        run_bench({"x.jsonl": rjudge.with_labels(labels)}, settings())
    assert caught.value.where.file == "x.jsonl"
    assert rjudge.ids[5] in caught.value.message


def test_curves_are_averaged_where_all_seeds_reach():
    first = [{"coverage": 0.5, "risk": 0.1, "f1": 0.9}, {"coverage": 1.0, "risk": 0.3, "f1": 0.7}]
    second = [{"coverage": 0.5, "risk": 0.3, "f1": 0.7}]
    assert mean_curve([first, second]) == [
        {"coverage": 0.5, "risk": pytest.approx(0.2), "f1": pytest.approx(0.8)}
    ]
