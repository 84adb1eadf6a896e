"""The benchmark of scale: what is stopped is told, and nothing is left running."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from benchmarks import scale


def test_a_measurement_past_its_limit_is_stopped_and_gone(tmp_path, monkeypatch):
    started = []
    begin = subprocess.Popen

    def noted(*arguments, **known):
        started.append(begin(*arguments, **known))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", noted)
    spec = {"task": "make", "size": 10_000_000, "file": str(tmp_path / "e.events.parquet")}
    found = scale.child(spec, 0.2)
    assert found["stopped_after_s"] == 0.2
    assert found["peak_mib"] > 1
    with pytest.raises(ProcessLookupError):
        os.killpg(started[0].pid, 0)
    assert list(tmp_path.iterdir()) == []


def test_every_row_has_the_cells_of_its_head():
    held = {"covered_macro_f1": 0.9, "full_macro_f1": 0.8, "coverage": 0.7}
    rounds = {"covered_macro_f1": 0.91, "full_macro_f1": 0.81, "mean_coverage": 0.71}
    ours = {"peak_mib": 100.2, "stored": 1000, "held_out": held}
    update = {"update_s": 1.5, "update_cpu_s": 1.25, "before_s": 2.0, "before_cpu_s": 1.0}
    text = scale.table(
        {
            "update/10000/ripper": {"stopped_after_s": 300.0, "peak_mib": 9.0},
            "update/1000/vepa": {**ours, **update, "agreement": {"against": 0.01}},
            "update/1000/ripper": {**update, "held_out": {"full_macro_f1": 0.5}},
            "stream/1000/vepa": {"stream_s": 9.0, "stream_cpu_s": 8.0, "rounds": rounds, **ours},
            "stream/1000/hoeffding": {"stopped_after_s": 300.0, "peak_mib": None},
        }
    )
    lines = [line for line in text.splitlines() if line]
    assert [line.count("|") for line in lines] == [11] * 5 + [12] * 4
    assert (
        "| 1,000 | vepa | 1.5 (1.25) | 2 (1) | 100 | 1,000 | 0.900 | 0.700 | 0.800 | 0.010 |"
        in lines
    )
    assert lines[4].startswith("| 10,000 | ripper | stopped after 300 s |")


def test_the_page_keeps_everything_else():
    page = f"# A\n{scale.BEGIN}\nold\n{scale.END}\n## B\n"
    assert scale.filled(page, "new\n") == page.replace("old", "new")
    with pytest.raises(RuntimeError, match="no place for the figures"):
        scale.filled("# A\n", "new\n")


@pytest.mark.slow
def test_a_small_run_from_events_to_record(tmp_path, capsys):
    options = ["--sizes", "200", "--methods", "vepa-bounded", "hoeffding", "--archive", "100"]
    assert scale.main([*options, "--out", str(tmp_path)]) == 0
    parts = json.loads((tmp_path / "scale.json").read_text())["parts"]
    assert len(parts) == 4
    assert parts["update/200/vepa-bounded"]["stored"] <= 100
    assert parts["stream/200/hoeffding"]["held_out"]["full_macro_f1"] > 0
    assert "| 200 | hoeffding |" in capsys.readouterr().out
