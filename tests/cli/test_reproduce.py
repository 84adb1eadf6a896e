"""`vepa reproduce`: a small catalogue from nothing, again, damaged, killed, and refused."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from small_experiments import SMALL

QUICK = ("--offline", "--jobs", 1, "--seeds", 1)


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    file = tmp_path / "experiments.yaml"
    file.write_text(yaml.safe_dump(SMALL, sort_keys=False))
    return file


def test_figures_pages_and_rows_that_were_not_run(vepa, catalogue, tmp_path):
    out = tmp_path / "out"
    told = vepa("reproduce", *QUICK, "--catalogue", catalogue, "--out", out, "--json").json
    assert told["played"] == 6
    assert [each["name"] for each in told["experiments"]] == ["first", "second"]
    first = told["experiments"][0]
    assert first["command"].startswith("vepa reproduce --offline --seeds 1 --catalogue")
    assert {need["what"] for need in first["missing"]} == {"LLM without memory", "later", "absent"}
    with open(out / "first" / "figures.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    not_run = [row for row in rows if row["needs"]]
    assert len(rows) == 15
    assert len(not_run) == 9
    assert all(not row["covered_f1.mean"] for row in not_run)
    assert (out / "index.html").is_file()
    assert set(told["files"]) >= {"index.html", "first/first.md", "first/dots.svg"}
    assert json.loads((out / "report.json").read_text())["title"] == "small"

    again = vepa("reproduce", *QUICK, "--catalogue", catalogue, "--out", out, "--json").json
    assert again["played"] == 0
    assert again["files"] == told["files"]
    assert again["experiments"] == told["experiments"]


def test_people_see_a_table_and_where_the_page_is(vepa, catalogue, tmp_path):
    command = ("reproduce", *QUICK, "--only", "second,first", "--catalogue", catalogue)
    ran = vepa(*command, "--out", tmp_path / "out")
    assert ran.code == 0
    assert "6 played" in ran.out
    assert str(tmp_path / "out" / "index.html") in " ".join(ran.out.split())
    assert "9 NOT RUN" in ran.out


def test_a_dry_run_plays_nothing(vepa, catalogue, tmp_path):
    out = tmp_path / "out"
    command = ("reproduce", "--catalogue", catalogue, "--out", out, "--dry-run", "--seeds", 2)
    told = vepa(*command, "--json").json
    assert told["plays"] == told["missing"]["plays"] == 12
    assert told["missing"]["asking"] == 0
    assert any("--model judge=NAME" in need for need in told["not_run"])
    assert not out.exists()
    assert "NOT RUN  LLM" not in vepa(*command).err


def test_a_dry_run_says_what_a_model_would_cost(vepa, catalogue, tmp_path):
    command = ("reproduce", "--catalogue", catalogue, "--dry-run", "--seeds", 2)
    told = vepa(*command, "--model", "openai/gpt-4o-mini", "--json").json
    assert told["missing"]["asking"] == 4
    assert told["missing"]["questions"] == 4 * 188
    assert told["missing"]["dollars"] > 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--only", "frist"], "'frist' is no experiment"),
        (["--offline", "--model", "openai/x"], "--offline asks no model"),
        (["--model", "critic=openai/x"], "'critic' is no role of a model"),
        (["--runner", "slurm"], "'slurm' is no runner"),
        (["--seeds", "1001"], "--seeds: "),
    ],
)
def test_options_that_do_not_fit_are_told(vepa, catalogue, tmp_path, options, told):
    ran = vepa("reproduce", "--catalogue", catalogue, "--out", tmp_path / "out", *options)
    assert ran.code == 2
    assert told in ran.err
    assert not (tmp_path / "out").exists()


def test_a_fault_of_the_catalogue_is_told_with_its_line(vepa, catalogue):
    catalogue.write_text(catalogue.read_text().replace("covered_f1", "covred_f1", 1))
    ran = vepa("reproduce", "--catalogue", catalogue)
    assert ran.code == 2
    assert "'covred_f1' is not there" in ran.err
    assert "experiments.yaml:" in ran.err


@pytest.mark.integration
def test_a_killed_run_goes_on(vepa, catalogue, tmp_path):
    out = tmp_path / "out"
    command = ["reproduce", "--offline", "--seeds", "2", "--catalogue", str(catalogue), "--json"]
    place = ["--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "vepa", *command, *place, "--jobs", "2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    until = time.monotonic() + 120
    while not (found := list((out / "plays").rglob("*.json"))) and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert found
    assert not (out / "index.html").exists()
    told = vepa(*command, *place, "--jobs", 1).json
    assert 0 < told["played"] < 12
    whole = vepa(*command, "--out", tmp_path / "other", "--jobs", 1).json
    assert whole["played"] == 12
    assert whole["files"] == told["files"]
