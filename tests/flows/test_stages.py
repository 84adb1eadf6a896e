"""A run in its folder: what is there, what is made again, and what is not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from small_runs import PROFILE, SmallProject, products, work_off

from vepa.bench.runs import stages
from vepa.bench.runs.run import open_run, plan
from vepa.bench.streams import StreamSettings
from vepa.bench.trials import Trial, TrialSettings, run_trial
from vepa.corpus.events import read_events
from vepa.errors import RunError
from vepa.evolution import EvolutionSettings, rebuild
from vepa.files import canonical_json, sha256_of
from vepa.policy.event import Event
from vepa.policy.matching import CompiledPolicy
from vepa.project import Project


def test_a_finished_run_holds_everything(finished: Path) -> None:
    names = set(products(finished))
    for number in range(1, 6):
        assert f"policies/round-{number:03}.yaml" in names
        assert f"patches/round-{number:03}.json" in names
        assert f"decisions/round-{number:03}.parquet" in names
    assert {
        "policies/round-000.yaml",
        "policy.yaml",
        "summary.json",
        "report.html",
        "baselines/hoeffding.parquet",
        "baselines/lookup.parquet",
    } <= names
    assert len(names) == 3 * 5 + 6


def test_the_manifest_names_every_product_with_its_hash(finished: Path) -> None:
    manifest = json.loads((finished / "manifest.json").read_text())
    assert manifest["finished"] is True
    assert manifest["cost"] == {"usd": 0.0, "model_calls": 0}
    assert manifest["products"] == {
        name: sha256_of(data) for name, data in products(finished).items()
    }
    content = {key: manifest[key] for key in ("id", "inputs", "products", "cost")}
    assert manifest["content_sha256"] == sha256_of(canonical_json(content))
    assert finished.name.endswith(sha256_of(canonical_json(manifest["inputs"]))[:12])


def test_policy_k_plus_1_is_rebuilt_from_policy_k_and_its_patches(finished: Path) -> None:
    run = open_run(finished)
    changed = 0
    for number in range(1, 6):
        parent, record, child = run.policy(number - 1), run.record(number), run.policy(number)
        assert rebuild(parent, record).document_hash == child.document_hash
        changed += parent.policy_hash != child.policy_hash
    assert changed >= 2
    final = (finished / "policy.yaml").read_text()
    assert final == (finished / "policies" / "round-005.yaml").read_text()


def test_decisions_are_those_of_the_policy_before_the_round(finished: Path) -> None:
    run = open_run(finished)
    table = run.stream.table
    place = {name: at for at, name in enumerate(table.ids)}
    seen: list[str] = []
    for part in run.stream.rounds:
        frame = pl.read_parquet(finished / "decisions" / f"round-{part.number:03}.parquet")
        compiled = CompiledPolicy(run.policy(part.number - 1))
        for row in frame.iter_rows(named=True):
            event = Event(tuple(table.codes[place[row["id"]]].tolist()), table.schema, table.unit)
            assert tuple(row["rules"]) == compiled.decide(event).rules
            assert row["verdict"] == compiled.decide(event).verdict
            assert row["policy_hash"] == compiled.policy_hash
            assert row["observed"] == (row["label"] if row["feedback"] else None)
        assert frame["feedback"].sum() == len(part.feedback)
        seen += frame["id"].to_list()
    assert sorted(seen) == sorted(table.ids)


def test_the_figures_are_those_of_the_benchmark(finished: Path) -> None:
    run = open_run(finished)
    trial = run_trial(
        Trial(
            ("", "full", 3),
            (read_events(run.files[0]),),
            TrialSettings(
                stream=StreamSettings(rounds=5, feedback=0.5),
                evolution=EvolutionSettings(patches=12),
                baselines=("hoeffding", "lookup"),
            ),
        )
    )
    summary = json.loads((finished / "summary.json").read_text())
    assert summary["policy_hash"] == trial["policy_hash"]
    for name in ("covered_macro_f1", "full_macro_f1", "regression_rate", "adaptation_f1"):
        assert summary[name] == trial[name]
    assert summary["start40"] == trial["start40"]
    for name, figures in trial["baselines"].items():
        for kind in ("covered", "full", "hybrid", "at_coverage"):
            assert summary["baselines"][name][kind] == figures[kind], (name, kind)
    assert [row["coverage"] for row in summary["rounds"]] == trial["coverage_by_round"]


def test_a_second_run_makes_nothing(
    project: SmallProject,
) -> None:
    folder = project.make()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    work_off(project.begin())
    after = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    changed = {path.name for path in after if after[path] != before.get(path)}
    assert changed <= {"manifest.json", ".lock"}


def test_fresh_makes_everything_again_and_the_same(project: SmallProject) -> None:
    folder = project.make()
    before = products(folder)
    project.begin(fresh=True)
    assert products(folder) == {}
    work_off(folder)
    assert products(folder) == before


PRODUCTS = [
    "policies/round-000.yaml",
    "policies/round-002.yaml",
    "patches/round-003.json",
    "decisions/round-005.parquet",
    "policy.yaml",
    "baselines/lookup.parquet",
    "summary.json",
    "report.html",
    "done/round-002.json",
    "done/summary.json",
    "manifest.json",
]
#: One of a round, one of a stage of its own, and the two that say what is done.
CUT = {"patches/round-003.json", "summary.json", "done/round-002.json", "manifest.json"}


@pytest.mark.parametrize(
    ("product", "damage"),
    [
        *((product, "gone") for product in PRODUCTS),
        *(
            pytest.param(each, "cut", marks=[] if each in CUT else pytest.mark.slow)
            for each in PRODUCTS
        ),
    ],
)
def test_what_is_damaged_is_made_again(
    finished: Path, tmp_path: Path, product: str, damage: str
) -> None:
    folder = tmp_path / "runs" / finished.name
    shutil.copytree(finished, folder)
    expected = products(folder)
    path = folder / product
    if damage == "cut":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    else:
        path.unlink()
    project = finished.parents[2]
    assert not plan(Project(project), "small", artifacts=tmp_path).finished
    stages.begin_run("small", str(project), str(tmp_path))
    work_off(folder)
    assert products(folder) == expected
    assert plan(Project(project), "small", artifacts=tmp_path).finished


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("seed: 3", "seed: 4"),
        ("rounds: 5", "rounds: 4"),
        ("feedback: 0.5", "feedback: 0.4"),
        ("patches: 12", "patches: 11"),
        ("[hoeffding, lookup]", "[lookup]"),
    ],
)
def test_other_inputs_are_another_run(finished: Path, tmp_path: Path, old: str, new: str) -> None:
    assert old in PROFILE
    (tmp_path / "small.yaml").write_text(PROFILE.replace(old, new))
    project = Project(finished.parents[2])
    assert plan(project, "small").folder == finished
    assert plan(project, str(tmp_path / "small.yaml")).id != finished.name


def test_other_labels_are_another_run(
    finished: Path, make_project: Callable[..., SmallProject]
) -> None:
    def flip_first(at: int, record: dict[str, Any]) -> dict[str, Any]:
        if at == 0:
            record["label"] = "allow" if record["label"] == "refuse" else "refuse"
        return record

    other = make_project(change=flip_first)
    assert plan(Project(other.folder), "small").id != finished.name
    assert plan(Project(make_project().folder), "small").id == finished.name


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="holds no run"):
        stages.play_round(tmp_path, 1)


def test_events_that_changed_under_a_run_are_noticed(project: SmallProject) -> None:
    folder = project.begin()
    lines = project.events.read_text().splitlines()
    project.events.write_text("\n".join(lines[1:]) + "\n")
    with pytest.raises(RunError, match="have changed"):
        stages.play_round(folder, 1)


def test_an_unfinished_run_is_not_called_finished(project: SmallProject) -> None:
    folder = project.begin()
    stages.play_round(folder, 1)
    with pytest.raises(RunError, match="round-002"):
        stages.finish(folder)
    assert json.loads((folder / "manifest.json").read_text())["finished"] is False


def test_what_prefect_shows_has_both_kinds_of_errors(finished: Path) -> None:
    summary = stages.read_summary(finished)
    told = stages.markdown(summary, str(finished / "report.html"))
    allowed, refused = summary["confusion"]["allow"], summary["confusion"]["refuse"]
    decided = allowed["refuse"] + refused["refuse"]
    assert f"- unsafe allowed {allowed['refuse']} of {decided} decided" in told
    row = stages.table_row(summary["rounds"][1])
    assert row["accepted"] == summary["rounds"][1]["patches"]["accepted"]
