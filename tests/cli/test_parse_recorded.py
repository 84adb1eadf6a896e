"""`vepa parse` with the recorded parses: raw files of benchmarks become the bundled events."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest
from raw_files import COUNTS, DATA, RAW, needs_raw, raw_file

from vepa.corpus.importing import read_traces
from vepa.llm import Recording
from vepa.llm.prompts import load_prompt
from vepa.parsing.llm import TEMPLATE, item_of
from vepa.project import Project

RECORDED = DATA / "recorded/benchmarks"


#: One file in every run; the three are parsed at once in every run as well.
ONE_STEM = [
    pytest.param(stem, marks=[] if stem == "rjudge_dev" else pytest.mark.slow) for stem in COUNTS
]


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def bundled(stem):
    """The bundled events; what they describe is told by none of them, and is a trajectory."""
    return [{"unit": "trajectory", **each} for each in lines(DATA / f"{stem}.events.jsonl")]


def by_id(records):
    return {each["id"]: each for each in records}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in: what is asked and kept goes there."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_recording_says_who_answered_and_how():
    manifest = Recording(RECORDED).manifest
    assert "does not name" in manifest.model
    assert "label-blind" in manifest.made
    assert "was not asked with the template" in manifest.made


def test_what_is_recorded_are_the_bundled_events():
    answers = lines(RECORDED / "answers.jsonl")
    events = [each["event"] for stem in COUNTS for each in bundled(stem)]
    assert [json.loads(each["message"]["content"]) for each in answers] == events
    assert {(each["template"], each["version"]) for each in answers} == {(TEMPLATE, "1.0")}
    assert [each["name"] for each in answers if "name" in each] == ["r-judge/142"]


@needs_raw
def test_the_script_makes_the_recording_that_ships(tmp_path):
    script = runpy.run_path(str(DATA.parent / "scripts/record_benchmarks.py"))
    count, named = script["record"](Path(RAW), tmp_path / "benchmarks")
    assert (count, named) == (sum(COUNTS.values()), ["r-judge/142"])
    for name in ("manifest.yaml", "answers.jsonl"):
        assert (tmp_path / "benchmarks" / name).read_bytes() == (RECORDED / name).read_bytes()


@needs_raw
@pytest.mark.parametrize("stem", COUNTS)
def test_every_trace_of_a_raw_file_finds_its_answer(stem):
    recording, prompt = Recording(RECORDED), load_prompt(Project(), TEMPLATE)
    missing = [
        each.id
        for each in read_traces(raw_file(stem))
        if recording.get(item_of(each, prompt, name=each.id)) is None
    ]
    assert missing == []


@needs_raw
@pytest.mark.parametrize("stem", ONE_STEM)
def test_a_raw_file_parses_to_the_bundled_records_in_their_order(vepa, here, stem):
    events = DATA / f"{stem}.events.jsonl"
    ran = vepa(
        "parse", raw_file(stem), "--parser", "llm:recorded/benchmarks", "--order-of", events,
        "--out", here / "events.jsonl", "--json",
    )  # fmt: skip
    assert ran.code == 0
    told = {name: ran.json[name] for name in ("traces", "events", "failed", "skipped")}
    assert told == {"traces": COUNTS[stem], "events": COUNTS[stem], "failed": [], "skipped": 0}
    assert (ran.json["tokens"], ran.json["dollars"]) == (0, 0.0)
    assert lines(here / "events.jsonl") == bundled(stem)


@needs_raw
def test_the_three_files_at_once_are_the_bundled_records(vepa, here):
    ran = vepa("parse", *map(raw_file, COUNTS), "--parser", "llm:recorded/benchmarks")
    assert ran.code == 0
    assert len(ran.lines) == sum(COUNTS.values())
    assert by_id(ran.lines) == by_id(each for stem in COUNTS for each in bundled(stem))


@needs_raw
@pytest.mark.parametrize("stem", ONE_STEM)
def test_the_bench_has_the_same_figures_on_parsed_and_on_bundled_events(vepa, here, stem):
    parsed = here / "events.jsonl"
    vepa("parse", raw_file(stem), "--parser", "llm:recorded/benchmarks", "--out", parsed)
    assert [each["id"] for each in lines(parsed)] != [each["id"] for each in bundled(stem)]
    figures = []
    for file in (parsed, DATA / f"{stem}.events.jsonl"):
        ran = vepa(
            "bench", "run", file, "--rounds", "3", "--seeds", "1", "--baselines", "lookup", "--json"
        )
        assert ran.code == 0
        found = ran.json
        del found["seconds"]
        found["config"]["files"] = list(found["config"]["files"].values())
        figures.append(found)
    assert figures[0] == figures[1]
    assert figures[0]["events"]["count"] == COUNTS[stem]


@needs_raw
def test_another_name_of_the_data_set_still_finds_what_was_recorded(vepa, here):
    ran = vepa(
        "parse", raw_file("rjudge_dev"), "--parser", "llm:recorded/benchmarks", "--dataset", "mine",
    )  # fmt: skip
    assert ran.code == 0
    found, wanted = by_id(ran.lines), by_id(bundled("rjudge_dev"))
    differ = [
        n for n in wanted if found[n.replace("r-judge", "mine")]["event"] != wanted[n]["event"]
    ]
    assert differ == ["r-judge/142"]  # the same trace as 143, read differently: its name tells
