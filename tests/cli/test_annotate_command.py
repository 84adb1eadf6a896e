"""`vepa annotate`: labels of two readers, a second run that asks nothing, and plain errors."""

from __future__ import annotations

import json

import pytest
from errands import errand

from vepa.corpus.labels import stream_labels
from vepa.corpus.trajectory import write_trajectories


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "traces.jsonl"
    write_trajectories(path, [errand("one"), errand("two", user="Answer the mail of Ada.")])
    return path


def test_two_labels_a_step_and_nothing_asked_twice(vepa, corpus, tmp_path):
    out = tmp_path / "labels"
    arguments = ("annotate", corpus, "--out", out, "--panel", "panel.demo.yaml", "--json")
    first = vepa(*arguments)
    assert first.code == 0
    assert (first.json["steps"], first.json["labels"], first.json["failures"]) == (6, 12, 0)
    assert first.json["origins"] == {"scripted": 12}
    labels = (out / "labels.jsonl").read_bytes()
    assert len(list(stream_labels(out / "labels.jsonl"))) == 12
    again = vepa(*arguments)
    assert again.json["asked"] == 0
    assert (out / "labels.jsonl").read_bytes() == labels


def test_the_ledger_says_who_was_asked(vepa, corpus, tmp_path):
    out = tmp_path / "labels"
    vepa("annotate", corpus, "--out", out, "--panel", "panel.demo.yaml")
    lines = [json.loads(line) for line in (out / "ledger.jsonl").read_text().splitlines()]
    assert {line["source"] for line in lines} == {"scripted"}
    assert {line["tags"]["purpose"] for line in lines} == {"annotate"}


def test_a_panel_that_does_not_exist_is_told(vepa, corpus, tmp_path):
    ran = vepa("annotate", corpus, "--out", tmp_path / "x", "--panel", "panel.none.yaml")
    assert ran.code == 2
    assert "panel.none.yaml" in ran.err
