"""The raw files of ASSEBench-Security, R-Judge and ATBench: whole, restored, named as bundled."""

from __future__ import annotations

import json

import pytest
from hand_written import imported
from raw_files import COUNTS, DATA, needs_raw, raw_file

from vepa.corpus.importing.restoring import restore
from vepa.corpus.trajectory import stream_trajectories, write_trajectories

pytestmark = needs_raw
FORMATS = {"assebench_security": "assebench", "rjudge_dev": "rjudge", "atbench_dev": "atbench"}


@pytest.mark.parametrize("stem", COUNTS)
def test_every_record_is_imported_and_understood(stem):
    found, report = imported(raw_file(stem))
    assert (report.format, report.records, report.skipped) == (FORMATS[stem], COUNTS[stem], 0)
    assert len(found) == COUNTS[stem]
    assert dict(report.notes.unknown) == {}
    twice = {"tool offered twice": 2} if stem == "atbench_dev" else {}
    assert dict(report.notes.remarks) == twice


@pytest.mark.parametrize("stem", COUNTS)
def test_every_record_is_restored_to_the_letter(stem, tmp_path):
    found, _ = imported(raw_file(stem))
    write_trajectories(tmp_path / "out.jsonl", found)
    wanted = json.loads(raw_file(stem).read_text())
    back = [restore(each) for each in stream_trajectories(tmp_path / "out.jsonl")]
    assert [json.dumps(each) for each in back] == [json.dumps(each) for each in wanted]


@pytest.mark.parametrize("stem", COUNTS)
def test_ids_labels_and_annotations_are_those_of_the_bundled_events(stem):
    found, _ = imported(raw_file(stem))
    lines = (DATA / f"{stem}.events.jsonl").read_text().splitlines()
    events = {each["id"]: each for each in map(json.loads, lines)}
    assert {each.id for each in found} == set(events)
    for each in found:
        meta = {name: value for name, value in each.meta.items() if name != "rationale"}
        event = events[each.id]
        assert (each.label, meta) == (event["label"], event["meta"])
        assert list(meta) == list(event["meta"])


def test_nothing_that_an_annotator_wrote_is_in_a_step():
    found, _ = imported(raw_file("atbench_dev"))
    planted = 0
    for each in found:
        described = [tool.description for tool in each.offered]
        for tool in each.meta["rationale"]["tool_used"]:
            if isinstance(tool, dict) and "_original_description" in tool:
                planted += 1
                assert tool["_original_description"] not in described
        reason = each.meta["rationale"]["reason"]
        texts = [text for step in each.steps for text in (step.text, step.thought, step.written)]
        assert reason == "" or not any(reason in (text or "") for text in texts)
    assert planted == 22
