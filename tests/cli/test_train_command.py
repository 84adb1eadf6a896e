"""`vepa train data`: one command makes the data, says what is in it, and explains what is wrong."""

from __future__ import annotations

import json

import pytest
from tuning_traces import event, traces

from vepa.corpus.trajectory import write_trajectories


@pytest.fixture
def files(tmp_path):
    path, events = tmp_path / "traces.jsonl", tmp_path / "events.jsonl"
    found = traces()
    write_trajectories(path, found)
    lines = [json.dumps({"id": each.id, "event": event(at)}) for at, each in enumerate(found)]
    events.write_text("\n".join(lines) + "\n", "utf-8")
    return str(path), str(events)


def test_it_makes_the_data_and_says_what_is_in_it(vepa, files, tmp_path):
    path, events = files
    ran = vepa("train", "data", path, "--events", events, "--out", tmp_path / "d", "--json")
    assert ran.code == 0
    assert ran.json["made"] is True
    figures = ran.json["figures"]
    assert sum(each["examples"] for each in figures.values()) == len(traces())
    lines = (tmp_path / "d").glob("parser-*/train.jsonl")
    assert len(next(lines).read_text("utf-8").splitlines()) == figures["train"]["examples"]
    again = vepa("train", "data", path, "--events", events, "--out", tmp_path / "d")
    assert again.code == 0
    assert "stands already" in again.err
    assert "tokens of approximate" in again.err
    assert f"train: {figures['train']['examples']} examples" in again.out


def test_data_lies_with_what_the_project_makes(vepa, files, tmp_path):
    path, _ = files
    ran = vepa("train", "data", path, "--kind", "judge", "--project", tmp_path, "--json")
    assert ran.json["folder"].startswith(str(tmp_path / "artifacts" / "tuning" / "data" / "judge-"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "--events"),
        (["--kind", "judge", "--trace-tokens", "10"], "64 or more"),
        (["--kind", "judge", "--tokenizer", "nowhere"], "nowhere"),
        (["--kind", "reader"], "reader"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_left(vepa, files, tmp_path, arguments, says):
    ran = vepa("train", "data", files[0], *arguments, "--out", tmp_path / "d")
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert not (tmp_path / "d").exists()


def test_sources_that_are_not_there_are_named(vepa, tmp_path):
    ran = vepa("train", "data", tmp_path / "none.jsonl", "--kind", "judge")
    assert ran.code == 2
    assert "none.jsonl" in ran.err


def test_traces_for_evaluation_only_are_refused_for_training(vepa, tmp_path):
    path = tmp_path / "held.jsonl"
    write_trajectories(path, traces("atbench"))
    ran = vepa("train", "data", path, "--kind", "judge", "--out", tmp_path / "d")
    assert ran.code == 2
    assert "evaluation only" in ran.err


@pytest.fixture
def made(vepa, files, tmp_path):
    """Data that stands."""
    ran = vepa("train", "data", files[0], "--kind", "judge", "--out", tmp_path / "d", "--json")
    return ran.json["folder"]


@pytest.fixture
def recipe(tmp_path):
    """A recipe of a base of which only the sizes are there."""
    (tmp_path / "base").mkdir()
    sizes = {
        "hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9,
        "num_key_value_heads": 3, "intermediate_size": 1536, "vocab_size": 49152,
        "tie_word_embeddings": True,
    }  # fmt: skip
    (tmp_path / "base" / "config.json").write_text(json.dumps(sizes), "utf-8")
    path = tmp_path / "mine.yaml"
    path.write_text(
        f"recipe: 1\ntitle: Mine\nbase: {tmp_path}/base\ntrace_tokens: 100\n"
        "lora: {rank: 8, alpha: 16, targets: [q_proj]}\nbatch: 2\nsteps: 5\n"
        "learning_rate: 1.0e-3\n",
        "utf-8",
    )
    return path


def test_a_dry_run_tells_what_it_takes_and_trains_nothing(vepa, recipe, made, tmp_path):
    asked = ("train", "--recipe", recipe, "--data", made, "--dry-run")
    ran = vepa(*asked, "--json", "--project", tmp_path)
    assert ran.code == 0
    assert (ran.json["parameters"], ran.json["steps"]) == (134_515_008, 5)
    assert ran.json["memory"] > 2 * 134_515_008
    assert "5 steps" in vepa(*asked).out
    assert not (tmp_path / "artifacts").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "vepa train --recipe smoke"),
        (["--recipe", "smoke"], "--data"),
        (["--recipe", "smoke", "--data", "nowhere"], "manifest.json"),
        (["--recipe", "nothing", "--data", "nowhere"], "nothing"),
    ],
)
def test_a_training_that_cannot_begin_says_why(vepa, arguments, says):
    ran = vepa("train", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
