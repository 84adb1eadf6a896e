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
