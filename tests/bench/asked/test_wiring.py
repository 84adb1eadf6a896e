"""How baselines that ask a model take part in a benchmark."""

from __future__ import annotations

import numpy as np
import pytest
from voices import Voice, colour_judge

from vepa.bench import trials as module
from vepa.bench.baselines import FAMILIES, make_baselines
from vepa.bench.baselines.asked.forecast import _LOADS, forecast_asked
from vepa.bench.baselines.asked.opening import open_asking
from vepa.bench.baselines.asked.settings import AskedSettings
from vepa.bench.results import BenchSettings, run_bench
from vepa.bench.scores import Answers, predict_stream, score_baselines
from vepa.bench.streams import StreamSettings, make_stream
from vepa.bench.trials import Trial, TrialSettings, run_trials
from vepa.errors import BudgetError, SettingError
from vepa.evolution import EvolutionSettings
from vepa.evolution.proposers.llm.opening import Desk
from vepa.llm import ModelSettings, Prices
from vepa.policy import Evidence, Policy, Rule

ASKED = [name for name, family in FAMILIES.items() if family.asks]


def policies(build, stream):
    """None decides the first round; then each knows one colour more."""
    found = [Policy(build.schema, ())]
    for name in ("red", "green", "blue"):
        made = Rule.build(
            build.schema, name, "refuse" if name == "red" else "allow", {"colour": {"in": [name]}}
        )
        found.append(
            found[-1].with_rules([*found[-1].rules, made.with_status("active", Evidence(3, 0))])
        )
    return found[: len(stream.rounds)]


def made(build, voice, names, **settings):
    return make_baselines(names, build.schema, build.schema.names, 0, voice.asking(**settings))


def test_the_judge_is_asked_only_where_the_policy_of_the_round_abstains(build):
    stream = make_stream(build.table(80), StreamSettings(rounds=4), 0)
    voice = Voice(judge=colour_judge)
    known = policies(build, stream)
    said = predict_stream(stream, made(build, voice, ["judge"])["judge"], known)
    truth = stream.table.labels[stream.order]
    assert np.array_equal(said.labels, truth)
    asked: list[set[str]] = [set() for _ in stream.rounds]
    for *rules, event in voice.of("judge"):
        asked[len(rules)].add(event["event"]["colour"])
    assert asked == [{"red", "green", "blue"}, {"green", "blue"}, {"blue"}, set()]
    decided = np.concatenate(
        [
            np.isin(stream.table.codes[part.indices, 0], range(1, k + 1))
            for k, part in enumerate(stream.rounds)
        ]
    )
    assert set(said.confidence[decided]) == {4 / 5}
    assert set(said.confidence[~decided]) == {0.75}


def test_the_judge_on_all_events_is_the_hybrid(build):
    stream = make_stream(build.table(80), StreamSettings(rounds=4), 0)
    voice = Voice(judge=lambda lines: {**colour_judge(lines), "verdict": "allow"})  # often wrong
    known = policies(build, stream)
    verdicts = np.concatenate(
        [
            np.where(
                stream.table.codes[part.indices, 0] <= k, stream.table.labels[part.indices], -1
            )
            for k, part in enumerate(stream.rounds)
        ]
    ).astype(np.int8)
    ours = Answers(stream.table.labels[stream.order], verdicts, np.ones(80))
    found = score_baselines(stream, ours, made(build, voice, ["judge", "no_memory"]), known)
    assert found["judge"]["full"] == found["judge"]["hybrid"] < 1.0
    assert found["judge"]["covered"] == 1.0
    assert found["no_memory"]["full"] < found["no_memory"]["hybrid"] == found["judge"]["full"]


def test_a_judge_without_a_policy_says_so(build):
    stream = make_stream(build.table(20), StreamSettings(rounds=2), 0)
    with pytest.raises(SettingError, match="no policy to judge beside"):
        predict_stream(stream, made(build, Voice(), ["judge"])["judge"])


@pytest.mark.parametrize("name", ASKED)
def test_a_family_that_asks_needs_a_model(build, name):
    with pytest.raises(SettingError, match="--judge MODEL"):
        make_baselines([name], build.schema, build.schema.names, 0)


@pytest.mark.parametrize("name", [name for name in ASKED if FAMILIES[name].embeds])
def test_a_family_with_a_memory_needs_an_embedder(build, name):
    with pytest.raises(SettingError, match="--embedder NAME"):
        made(build, Voice(), [name])


def test_every_family_that_asks_has_a_forecast_that_grows_with_the_events(build):
    assert set(_LOADS) == set(ASKED)
    asked = AskedSettings(
        model="openai/m",
        embedder="hashing/64",
        settings=ModelSettings(prices=Prices(prompt=1, completion=2)),
    )
    one, two = (
        forecast_asked(TrialSettings(baselines=tuple(ASKED), asked=asked), build.schema, [size] * 3)
        for size in (1000, 2000)
    )
    assert one.families["no_memory"].calls == one.families["judge"].calls == 3000
    assert one.families["judge"].prompt > one.families["no_memory"].prompt
    assert one.calls == sum(load.calls for load in one.families.values())
    assert one.dollars == pytest.approx((one.prompt + 2 * one.completion) / 1e6)
    for name in ASKED:
        assert two.families[name].calls > one.families[name].calls


def test_an_embedder_of_another_provider_is_not_asked_at_the_models_address():
    model = ModelSettings(api_base="http://127.0.0.1:1/v1", prices=Prices(prompt=1, completion=1))

    def told(name, **more):
        return AskedSettings(model="openai/m", embedder=name, settings=model, **more).how_to_embed

    assert told("openai/e") == ModelSettings(api_base="http://127.0.0.1:1/v1")
    assert told("cohere/e") == ModelSettings()
    assert told("cohere/e", embedder_settings=model) == model


def test_questions_are_written_down_as_the_baselines_and_apart_from_the_run(build, tmp_path):
    desk = Desk(tmp_path, run="r1", share=0.5)
    asked = AskedSettings(model="scripted/v", tokens=100, dollars=2.0)
    asking = open_asking(asked, desk, script=Voice(judge=colour_judge))
    learner = make_baselines(["no_memory"], build.schema, build.schema.names, 0, asking)
    learner["no_memory"].predict(build.table(5))
    (entry, *_) = entries = list(desk.ledger.entries())
    assert dict(entry.tags) == {"purpose": "baseline", "run": "r1.baselines"}
    assert asking.figures() == {
        "questions": len(entries),
        "kept": len(entries),
        "tokens": 0,
        "dollars": 0.0,
    }
    assert (asking.budget.tokens, asking.budget.dollars) == (50, 1.0)


def scripted(monkeypatch, voice):
    monkeypatch.setattr(
        module, "open_asking", lambda asked, desk: open_asking(asked, desk, script=voice)
    )


def settings(**more):
    return TrialSettings(
        stream=StreamSettings(rounds=3),
        evolution=EvolutionSettings(patches=3),
        baselines=("no_memory", "judge"),
        asked=AskedSettings(model="scripted/voice"),
        **more,
    )


def test_a_benchmark_tells_what_its_baselines_asked(build, monkeypatch):
    voice = Voice(judge=colour_judge)
    scripted(monkeypatch, voice)
    rounds: list[int] = []
    wanted = BenchSettings(trial=settings(), seeds=2)
    told = run_bench({"e": build.table(60)}, wanted, jobs=1, progress=rounds.append)
    assert sum(rounds) == 2 * wanted.trial.rounds == 2 * 3 * 3  # ours, and two that ask
    assert told["asked"]["questions"] == len(voice.asked) > 0
    assert sum(seed["asked"]["questions"] for seed in told["by_seed"]) == len(voice.asked)
    assert told["config"]["asked"]["model"] == "scripted/voice"
    assert told["baselines"]["no_memory"]["full"]["mean"] == 1.0
    assert told["baselines"]["judge"]["full"] == told["baselines"]["judge"]["hybrid"]


def test_a_budget_that_is_used_up_in_one_trial_ends_no_other(build, monkeypatch, tmp_path):
    finished = []

    def run(trial, progress):
        if trial.key[2] == 0:
            raise BudgetError("the share's 5 tokens are used up", "tokens", "share")
        finished.append(trial.key)
        return {}

    monkeypatch.setattr(module, "run_trial", run)
    trials = [Trial(("e", "full", at), (), settings(), Desk(tmp_path)) for at in range(3)]
    with pytest.raises(BudgetError) as caught:
        run_trials(trials)
    assert [key[2] for key in finished] == [1, 2]
    assert "ran out in 1 of 3 trials" in str(caught.value)
    assert str(tmp_path / "answers.sqlite") in str(caught.value)
