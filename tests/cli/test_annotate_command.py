"""`vepa annotate`: labels of two readers, a second run that asks nothing, and plain errors."""

from __future__ import annotations

import json

import pytest
from batch_servers import BatchServer
from bulk_panels import project_at
from errands import errand

from vepa.corpus.labels import stream_labels
from vepa.corpus.trajectory import write_trajectories

GOOD = {
    "evidence": [],
    "rationale": "An ordinary step.",
    "triggers": [],
    "decision": "allow",
    "risk_source": "none",
    "harm": "none",
    "severity": "none",
    "confidence": 0.75,
    "event": [],
}


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


# -- in bulk --------------------------------------------------------------------------------------


@pytest.fixture
def vendor(monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "sk-canary-of-this-test")
    with BatchServer() as server:
        server.answer = lambda body: json.dumps(GOOD)
        yield server


@pytest.mark.xdist_group("litellm")  # the vendors' clients are loaded there already
def test_a_bulk_run_submits_leaves_and_collects(vepa, vendor, corpus, tmp_path):
    out, project = tmp_path / "labels", project_at(vendor, tmp_path / "project")
    arguments = ("annotate", corpus, "--out", out, "--project", project, "--bulk", "--json")
    vendor.takes = 3600
    sent = vepa(*arguments, "--no-wait")
    assert (sent.code, sent.json["labels"]) == (0, 0)
    assert sent.json["on_the_way"] == {"a": 6, "b": 6}
    assert "b: 6 requests on their way; the same command collects" in sent.err
    foretold = vepa(*arguments, "--dry-run").json
    assert [seat["to_ask"] for seat in foretold["seats"]] == [0, 0]
    singly = vepa(*arguments[:-2])
    assert singly.code == 2
    assert "6 requests of the annotator 'a' are on their way" in singly.err
    vendor.takes = 0
    collected = vepa(*arguments)
    assert (collected.code, collected.json["labels"]) == (0, 12)
    assert collected.json["on_the_way"] == {"a": 0, "b": 0}
    assert "a: 6 of 6 judged" in collected.err
    assert vendor.calls.count("create") == 2
    assert "sk-canary" not in sent.err + collected.err + sent.out + collected.out
    for file in tmp_path.rglob("*"):
        assert file.is_dir() or b"sk-canary" not in file.read_bytes(), file


def test_recorded_and_scripted_readers_just_read_in_bulk(vepa, corpus, tmp_path):
    ran = vepa("annotate", corpus, "--out", tmp_path / "x", "--panel", "panel.demo.yaml", "--bulk",
               "--json")  # fmt: skip
    assert (ran.code, ran.json["labels"], ran.json["on_the_way"]) == (0, 12, {})


def test_a_seat_without_a_batch_api_is_told(vepa, vendor, corpus, tmp_path):
    project = project_at(vendor, tmp_path / "project")
    panel = project / "annotation" / "panel.yaml"
    panel.write_text(panel.read_text().replace("openai/gpt-4o-mini", "ollama/llama3.2"))
    for more in ((), ("--dry-run",)):
        ran = vepa(
            "annotate", corpus, "--out", tmp_path / "x", "--project", project, "--bulk", *more
        )
        assert ran.code == 2
        assert "a.model" in ran.err
        assert "ollama/llama3.2 has no batch API" in ran.err
    assert not (tmp_path / "x").exists()


def test_waiting_or_not_is_a_question_for_batches_alone(vepa, corpus, tmp_path):
    ran = vepa("annotate", corpus, "--out", tmp_path / "x", "--no-wait")
    assert ran.code == 2
    assert "--bulk" in ran.err


def test_a_dry_run_tells_the_cost_and_writes_nothing(vepa, corpus, tmp_path, monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    arguments = ("annotate", corpus, "--out", tmp_path / "x", "--dry-run")
    ran = vepa(*arguments, "--json")
    assert ran.code == 0
    assert [seat["seat"] for seat in ran.json["seats"]] == ["a", "b", "c"]
    assert ran.json["enough"] is True
    assert ran.json["dollars"] == pytest.approx(sum(s["dollars"] for s in ran.json["seats"]))
    assert vepa(*arguments, "--bulk", "--json").json["dollars"] < ran.json["dollars"]
    told = vepa(*arguments).out
    assert "the arbiter is asked about 6.5%" in told
    assert "the panel's budget: " in told
    assert not (tmp_path / "x").exists()
