"""The benchmark of the authority: its intervals, its bad rules, its store and its page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import authority as command
from benchmarks.gates import badrules, learners, page, plan, tables, trials
from benchmarks.gates.goals import goals
from benchmarks.gates.store import Spec, Store
from vepa.evolution import beliefs, standing
from vepa.evolution.proposers import induction


def test_figures_are_worked_out_once_and_half_a_line_is_none(tmp_path: Path) -> None:
    asked: list[Spec] = []

    def work(spec: Spec) -> dict[str, Any]:
        asked.append(spec)
        return {"figure": len(asked)}

    one = {"kind": "trial", "stream": "R-Judge", "flip": 0.0, "seed": 0}
    other = one | {"seed": 1}
    assert [Store(tmp_path).get(spec, work)["figure"] for spec in (one, other, one)] == [1, 2, 1]
    file = tmp_path / "trial.jsonl"
    file.write_text(file.read_text("utf-8")[:-20], "utf-8")
    assert [Store(tmp_path).get(spec, work)["figure"] for spec in (one, other, other)] == [1, 3, 3]
    assert len(asked) == 3


def test_interval_of_the_difference() -> None:
    rng = np.random.default_rng(0)
    truth = np.tile(rng.integers(0, 2, 300, dtype=np.int8), (3, 1))
    ours = np.where(rng.random(truth.shape) < 0.05, 1 - truth, truth).astype(np.int8)
    theirs = np.where(rng.random(truth.shape) < 0.25, 1 - truth, truth).astype(np.int8)
    counted = rng.random(truth.shape) < 0.8
    found = learners.interval(truth, ours, theirs, counted, 500)
    assert found["difference"] == pytest.approx(found["ours"] - found["theirs"])
    assert 0.1 < found["low"] < found["difference"] < found["high"] < 0.3
    same = learners.interval(truth, ours, ours, counted, 50)
    assert (same["low"], same["difference"], same["high"]) == (0.0, 0.0, 0.0)


def test_hybrid_answers_where_we_abstain() -> None:
    seeds = [{"truth": "aarr" * 20, "vepa": "aa-r" * 20, "forest": "rrrr" * 20}] * 2
    found = learners.compare(seeds, "forest", 20)
    assert found["covered"]["ours"] == 1.0
    assert found["hybrid"]["ours"] == 1.0
    assert found["hybrid"]["theirs"] == pytest.approx(1 / 3)


def test_bad_rules_are_counted_by_their_true_precision() -> None:
    spec = {"kind": "random", "stream": "R-Judge", "flip": 0.1, "seed": 0, "rules": 60}
    found = badrules.random_rules(spec)
    for bands in found.values():
        assert sum(counts[0] for counts in bands.values()) == 60
        assert all(max(counts[1:]) <= counts[0] for counts in bands.values())
        assert bands["< .85"][1:] == [0, 0]
    planted = badrules.planted_regions({**spec, "kind": "planted", "regions": 2})
    assert planted["regions"] == planted["right"][0] == 2
    assert planted["wrong"][0] >= 2
    assert planted["wrong"][1:] == [0, 0]


def test_a_part_is_left_out_and_comes_back() -> None:
    before = standing.TRUST, beliefs.MOST_IMAGINED, induction.tastes
    for part, leave_out in trials.PARTS.items():
        with leave_out():
            if part == "cleaned evidence":
                assert 30 / (30 + standing.TRUST) == 0.0
            if part == "imagined events":
                assert beliefs.MOST_IMAGINED == 0
            if part == "tastes":
                assert induction.tastes is not before[2]
    assert (standing.TRUST, beliefs.MOST_IMAGINED, induction.tastes) == before


def test_tables_goals_and_page() -> None:
    figures = {
        "covered_macro_f1": 0.97,
        "final_coverage": 0.96,
        "mean_coverage": 0.9,
        "start_coverage": 0.9,
        "start_f1": 0.96,
        "regression_rate": 0.01,
        "adaptation_f1": 0.7,
        "unsafe_allowed": 0.02,
        "wrong_feedback": 0.03,
        "wrong": 0.0,
        "rules": 3,
    }
    found = [
        (spec, figures)
        for spec in trials.specs((("Security", "full"),), (0.0,), (0, 1), ("paper", "noise-aware"))
    ]
    made = tables.sections({"modes": found, "rates": found})
    assert [section.name for section in made] == ["modes Security full 0.0", "rates"]
    assert [row["mode"] for row in made[0].rows] == ["paper", "noise-aware"]
    met = {goal.what: goal.met for goal in goals(made)}
    assert met == {
        "Security, full, flips 0: covered F1 / final coverage": False,
        "Security, full, flips 0: start40 coverage / F1": True,
        "Security, full, flips 0: regression rate": True,
        "Security, full, flips 0: estimated share of wrong feedback": False,
    }
    text = (
        "a\n<!-- figures: modes -->\nold\n<!-- end -->\nb\n<!-- figures: speed -->\nx\n<!-- end -->"
    )
    filled = page.filled(text, made, goals(made))
    assert "| noise-aware | 0.970 |" in filled
    assert "old" not in filled
    assert filled.endswith("<!-- figures: speed -->\nx\n<!-- end -->")


def test_every_figure_has_a_worker_and_every_table_its_place() -> None:
    planned = plan.parts(plan.Size())
    assert {spec["kind"] for specs in planned.values() for spec in specs} == set(plan.WORK)
    text = command.PAGE.read_text("utf-8")
    for name in ("goals", "modes", "rates", "fresh seeds", "learners", "hybrid", "random rules"):
        assert f"<!-- figures: {name} -->" in text


def test_unknown_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--only", "nothing", "--out", str(tmp_path)]) == 2
    assert "no part 'nothing'" in capsys.readouterr().err
