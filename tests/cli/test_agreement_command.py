"""`vepa agreement`: a table, one JSON document, three files, plain errors."""

from __future__ import annotations

import json

import pytest
from judging import two_readers

from vepa.annotate.agreement import Agreement
from vepa.corpus.labels import write_labels

X, Y = "inefficient_or_wasteful_execution", "incorrect_tool_parameters"
PAIRS = [((X,), (X,)), ((X,), ()), ((), ()), ((X, Y), (Y,)), ((), ())] * 4


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "labels.jsonl"
    write_labels(path, two_readers(PAIRS))
    return path


def test_json_is_the_whole_agreement_and_a_seed_gives_it_again(vepa, labels):
    first = vepa("agreement", labels, "--resamples", 60, "--seed", 3, "--json")
    assert first.code == 0
    found = Agreement.model_validate(first.json)
    assert (found.items, found.settings.resamples, found.settings.seed) == (20, 60, 3)
    assert len(found.pairs[0].triggers) == 14
    again = vepa("agreement", labels, "--resamples", 60, "--seed", 3, "--json")
    assert again.json == first.json
    other = vepa("agreement", labels, "--resamples", 60, "--seed", 4, "--json").json
    assert other["pairs"][0]["decision"]["kappa"] != first.json["pairs"][0]["decision"]["kappa"]


def test_the_terminal_says_what_the_figures_are_of(vepa, labels):
    ran = vepa("agreement", labels, "--resamples", 20)
    assert ran.code == 0
    assert ran.out.startswith("two passes of one model family: an upper bound")
    assert "κ of the decision" in ran.out
    assert "20 contents that both judged" in ran.out


def test_out_gets_three_files_and_nothing_else(vepa, labels, tmp_path):
    out = tmp_path / "out"
    assert vepa("agreement", labels, "--out", out, "--resamples", 20, "--against", labels).code == 0
    names = sorted(path.name for path in out.iterdir())
    assert names == ["agreement.html", "agreement.json", "agreement.md"]
    found = json.loads((out / "agreement.json").read_text())
    assert found["drift"]["decision_changed"] == 0
    assert "# Agreement of annotators" in (out / "agreement.md").read_text()


def test_a_file_without_labels_is_told(vepa, tmp_path):
    path = tmp_path / "empty.jsonl"
    path.write_text("")
    ran = vepa("agreement", path)
    assert ran.code == 2
    assert "empty.jsonl: no labels" in ran.err


def test_a_broken_line_is_told_with_its_place(vepa, labels):
    labels.write_text(labels.read_text() + '{"schema_version": 1}\n')
    ran = vepa("agreement", labels, "--json")
    assert ran.code == 2
    assert ran.json["error"]["line"] == 41
    assert ran.json["error"]["file"] == str(labels)


def test_traces_that_do_not_fit_are_told(vepa, labels, tmp_path):
    traces = tmp_path / "traces.jsonl"
    traces.write_text('{"schema_version": 1, "id": "x", "steps": []}\n')
    ran = vepa("agreement", labels, "--traces", traces)
    assert ran.code == 2
    assert "the labels are about the trajectory 'episode/" in ran.err
    assert vepa("agreement", labels, "--marked").code == 2


def test_a_place_that_cannot_be_written_is_told_before_any_work(vepa, labels, tmp_path):
    (tmp_path / "file").write_text("")
    ran = vepa("agreement", labels, "--out", tmp_path / "file")
    assert ran.code == 2
    assert "cannot be written" in ran.err
