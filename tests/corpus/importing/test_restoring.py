"""Records of R-Judge, ASSEBench and ATBench come back from their trajectories, to the letter."""

from __future__ import annotations

import pytest
from hand_written import imported, traces, write_record

from vepa.corpus.importing.restoring import restore
from vepa.corpus.trajectory import stream_trajectories, write_trajectories
from vepa.errors import InputError

FORMATS = ("assebench", "atbench", "rjudge")


@pytest.mark.parametrize("trace", [t for t in traces() if t.format in FORMATS], ids=str)
def test_a_record_is_restored(trace, tmp_path):
    (found,), _ = imported(write_record(tmp_path / "traces.json", trace.record))
    assert restore(found) == trace.record
    write_trajectories(tmp_path / "out.jsonl", [found])
    assert [restore(each) for each in stream_trajectories(tmp_path / "out.jsonl")] == [trace.record]


def test_an_id_that_was_used_twice_is_restored(tmp_path):
    record = {"id": 7, "contents": [[{"role": "user", "content": "Hello"}]], "label": 0}
    found, report = imported(write_record(tmp_path / "traces.json", [record, record]))
    assert [each.id for each in found] == ["r-judge/7", "r-judge/7~2"]
    assert dict(report.notes.remarks) == {"id used twice, a number was added": 1}
    assert [restore(each) for each in found] == [record, record]


def test_other_formats_cannot_be_restored(tmp_path):
    messages = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello."}]
    (found,), _ = imported(write_record(tmp_path / "traces.json", {"messages": messages}))
    for trajectory in (found, found.model_copy(update={"format": None})):
        with pytest.raises(InputError, match="cannot be restored") as caught:
            restore(trajectory)
        assert "rjudge" in (caught.value.remedy or "")
