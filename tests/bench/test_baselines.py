from __future__ import annotations

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

from vepa.bench import baselines as package
from vepa.bench.baselines import FAMILIES, check_families, make_baselines
from vepa.bench.scores import Answers, predict_stream, score_baselines
from vepa.bench.streams import StreamSettings, make_stream
from vepa.errors import MissingExtraError, SettingError

ALONE = tuple(name for name, family in FAMILIES.items() if not family.asks)
NAMES = [name for name in ALONE if name != "lookup"]


def made(build, names=ALONE, fields=None, seed=0):
    return make_baselines(names, build.schema, fields or build.schema.names, seed)


def test_families_bring_these_baselines(build):
    assert set(made(build)) == {
        "hoeffding",
        "hoeffding_tuned",
        "ripper",
        "forest",
        "lookup.colour",
        "lookup.size",
        "lookup.noise",
    }


def test_before_feedback_everything_is_refused_with_no_confidence(build):
    table = build.table(20)
    for name, learner in made(build).items():
        learner.learn(table.take([]))
        said = learner.predict(table)
        assert said.labels.tolist() == [1] * 20, name
        assert said.confidence.tolist() == [0.0] * 20, name


@pytest.mark.parametrize("name", ["hoeffding_tuned", "ripper", "forest", "lookup.colour"])
def test_a_separable_problem_is_learned(build, name):
    table, unseen = build.table(200), build.table(100, seed=8)
    learner = made(build)[name]
    for part in np.array_split(np.arange(200), 4):
        learner.learn(table.take(part))
    said = learner.predict(unseen)
    assert np.array_equal(said.labels, unseen.labels)
    assert ((said.confidence > 0.5) & (said.confidence <= 1.0)).all()


def test_a_field_that_tells_nothing_is_no_better_than_chance(build):
    table, unseen = build.table(200), build.table(100, seed=8)
    learner = made(build)["lookup.noise"]
    learner.learn(table)
    said = learner.predict(unseen)
    assert (said.labels == unseen.labels).mean() < 0.8


def test_lookup_by_hand(build):
    learner = made(build)["lookup.colour"]
    codes = np.zeros((8, 3), np.int8)
    codes[:, 0] = [1, 1, 1, 2, 2, 3, 3, 3]
    told = build.table(8).with_codes(codes).with_labels(np.array([1, 1, 0, 0, 1, 0, 0, 0]))
    learner.learn(told.take(range(5)))
    learner.learn(told.take(range(5, 8)))
    four = np.array([[1, 0, 0], [2, 0, 0], [3, 0, 0], [0, 0, 0]], np.int8)
    asked = build.table(4).with_codes(four)
    said = learner.predict(asked)
    # 2 of 3 refuse; a tie is refused; 3 of 3 allow; a value without feedback is refused
    assert said.labels.tolist() == [1, 1, 0, 1]
    assert said.confidence.tolist() == pytest.approx([3 / 5, 2 / 4, 4 / 5, 0.0])


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("name", ["hoeffding", "hoeffding_tuned", "ripper", "forest"])
def test_feedback_of_one_class_is_answered_with_it(build, name, label):
    table = build.table(30)
    learner = made(build)[name]
    learner.learn(table.with_labels(np.full(30, label, np.int8)))
    assert (learner.predict(table).labels == label).all()


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6, 9])
def test_a_handful_of_examples_breaks_no_learner_and_warns_of_nothing(rjudge, size):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        # The garbage collector tells of what other tests left open whenever it pleases.
        warnings.simplefilter("ignore", ResourceWarning)
        for seed in range(4):
            rows = np.random.default_rng(seed).permutation(len(rjudge))[:size]
            learners = make_baselines(NAMES, rjudge.schema, rjudge.schema.names, seed)
            for learner in learners.values():
                learner.learn(rjudge.take(rows))
                said = learner.predict(rjudge)
                assert set(said.labels) <= {0, 1}
                assert ((said.confidence >= 0) & (said.confidence <= 1)).all()
                assert len(learner.predict(rjudge.take([])).labels) == 0
    assert [str(warning.message) for warning in seen] == []


def test_ripper_hides_its_own_warnings_only(build):
    from vepa.bench.baselines.ripper import _quiet

    with pytest.warns(UserWarning, match="of somebody else"), _quiet():
        warnings.warn("of somebody else", UserWarning, stacklevel=1)


def test_a_learner_looks_at_no_field_outside_the_view(build):
    table = build.table(200)
    other = table.codes.copy()
    other[:, 0] = np.random.default_rng(0).integers(1, 4, 200)
    for name, learner in made(build, fields=("size", "noise")).items():
        twin = made(build, fields=("size", "noise"))[name]
        learner.learn(table)
        twin.learn(table.with_codes(other))
        assert np.array_equal(learner.predict(table).labels, twin.predict(table).labels), name
    assert "lookup.colour" not in made(build, fields=("size", "noise"))


def test_predictions_use_no_label_that_is_not_revealed_yet(build):
    settings = StreamSettings(rounds=4, flip=0.2)
    table = build.table(120)
    stream = make_stream(table, settings, 0)
    seen = np.concatenate([part.feedback for part in stream.rounds[:2]])
    labels = table.labels.copy()
    hidden = np.setdiff1d(np.arange(120), seen)
    labels[hidden] = 1 - labels[hidden]
    other = make_stream(table.with_labels(labels), settings, 0)
    early = sum(len(part.indices) for part in stream.rounds[:3])
    for name in made(build):
        first = predict_stream(stream, made(build)[name])
        second = predict_stream(other, made(build)[name])
        assert np.array_equal(first.labels[:early], second.labels[:early]), name
        assert np.array_equal(first.confidence[:early], second.confidence[:early]), name


def test_baselines_are_scored_on_what_the_policy_covers(build):
    stream = make_stream(build.table(120), StreamSettings(rounds=4), 0)
    truth = stream.table.labels[stream.order]
    size = len(stream.rounds[0].indices)
    # The policy decides the last three rounds, when the look-up on colour knows everything.
    verdicts = np.where(np.arange(120) < size, -1, truth).astype(np.int8)
    ours = Answers(truth, verdicts, np.ones(120))
    found = score_baselines(stream, ours, made(build, ["lookup"]))
    assert found["lookup.colour"]["covered"] == 1.0
    assert 0.5 < found["lookup.colour"]["full"] < 1.0  # the first round was all refused
    # Where the policy abstains, in the first round, everything is refused: as good as alone here.
    assert found["lookup.colour"]["hybrid"] == found["lookup.colour"]["full"]
    # A learner that knows nothing does no harm where the policy decides.
    assert found["lookup.noise"]["hybrid"] == found["lookup.colour"]["hybrid"]
    assert found["lookup.noise"]["hybrid"] > found["lookup.noise"]["full"]
    assert found["lookup.colour"]["at_coverage"] == 1.0
    assert found["lookup.noise"]["covered"] < 0.8
    assert found["lookup.colour"]["curve"][-1]["coverage"] == 1.0


def test_unknown_families_and_missing_packages(build, monkeypatch):
    with pytest.raises(SettingError, match="forst") as caught:
        check_families(["forst"])
    assert "forest" in str(caught.value)
    monkeypatch.setattr(package, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="river") as missing:
        check_families(["lookup", "hoeffding"])
    assert "[bench]'" in str(missing.value)
    check_families(["lookup"])


SCRIPT = """
import hashlib, sys
from vepa.bench.baselines import FAMILIES, make_baselines
from vepa.bench.scores import predict_stream
from vepa.bench.streams import StreamSettings, make_stream
from vepa.corpus.events import read_events
table = read_events(sys.argv[1])
stream = make_stream(table, StreamSettings(rounds=4), 0)
ALONE = [name for name, family in FAMILIES.items() if not family.asks]
digest = hashlib.sha256()
for name, learner in make_baselines(ALONE, table.schema, table.schema.names, 0).items():
    said = predict_stream(stream, learner)
    digest.update(name.encode() + said.labels.tobytes() + said.confidence.tobytes())
print(digest.hexdigest())
"""


@pytest.mark.slow
@pytest.mark.integration
def test_predictions_do_not_depend_on_the_hash_seed(rjudge_path):
    seen = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(rjudge_path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(seen) == 1
