"""Every format over its hand-written traces: at least twenty good ones and ten bad ones."""

from __future__ import annotations

from collections import Counter

import pytest
from hand_written import imported, malformed, told, traces, write_record

from vepa.corpus.importing import FORMATS, Import
from vepa.corpus.trajectory import stream_trajectories, write_trajectories
from vepa.errors import InputError


def _as_told(trajectory):
    return {
        "id": trajectory.id,
        "steps": [told(step) for step in trajectory.steps],
        "model": trajectory.model,
        "system": trajectory.system,
        "label": trajectory.label,
        "marked": trajectory.marked,
        "offered": [tool.name for tool in trajectory.offered],
        "meta": trajectory.meta,
    }


@pytest.mark.parametrize("trace", traces(), ids=str)
def test_a_trace_becomes_what_was_written_down(trace, tmp_path):
    file = write_record(tmp_path / "traces.json", trace.record)
    for name in ("auto", trace.format):
        _becomes(trace, *imported(file, name))


def _becomes(trace, found, report):
    assert report.told == []
    assert report.format == trace.format
    expect = {"steps": trace.expect} if isinstance(trace.expect, list) else dict(trace.expect)
    assert dict(report.notes.unknown) == expect.pop("unknown", {})
    assert dict(report.notes.remarks) == expect.pop("remarks", {})
    several = expect.pop("trajectories", [expect])
    assert len(found) == len(several)
    for trajectory, wanted in zip(found, several, strict=True):
        full = _as_told(trajectory)
        assert {name: full[name] for name in wanted} == wanted


@pytest.mark.parametrize("trace", traces(), ids=str)
def test_what_was_imported_comes_back_from_its_file(trace, tmp_path):
    found, _ = imported(write_record(tmp_path / "traces.json", trace.record))
    write_trajectories(tmp_path / "out.jsonl", found)
    assert list(stream_trajectories(tmp_path / "out.jsonl")) == found


@pytest.mark.parametrize("bad", malformed(), ids=str)
def test_a_bad_record_is_told_with_its_place(bad, tmp_path):
    file = write_record(tmp_path / "bad.json", bad.record)
    _, report = imported(file, bad.format)
    assert report.skipped >= 1
    first = report.told[0]
    assert (first.file, first.field) == (str(file), bad.field)
    assert first.record >= 1
    assert bad.says in first.message
    with pytest.raises(InputError, match="record") as strict:
        list(Import(file, bad.format, strict=True))
    assert strict.value.exit_code == 2
    assert strict.value.where.file == str(file)


def test_each_format_has_enough_of_both():
    formats = set(FORMATS)
    good, bad = Counter(t.format for t in traces()), Counter(b.format for b in malformed())
    assert {name: good[name] for name in formats if good[name] < 20} == {}
    assert {name: bad[name] for name in formats if bad[name] < 10} == {}
    assert set(good) | set(bad) == formats
