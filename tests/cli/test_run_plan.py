"""`vepa run --dry-run` in words and as JSON: a table a stage, nothing hidden, nothing written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from foretold import collected, content_folder, foretold_project

STAGES = ["collect", "annotate", "release", "evolve-corpus", "evolve-benchmark"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of its own as the working directory, without keys and the package's content."""
    content = content_folder(tmp_path / "content")
    monkeypatch.setattr("vepa.project.package_content", lambda: content)
    monkeypatch.delenv("VEPA_ARTIFACTS", raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def foretell(vepa: Any, *arguments: str) -> Any:
    ran = vepa("run", "--profile", "tiny", "--dry-run", *arguments)
    assert ran.code == 0, ran.err
    return ran


def row(text: str, stage: str) -> list[str]:
    """Cells of a stage's row."""
    line = next(line for line in text.splitlines() if re.match(rf"│\s*{stage}\b", line))
    return [cell.strip() for cell in line.strip("│").split("│")]


def test_a_table_has_a_row_a_stage_and_the_sum(vepa: Any, place: Path) -> None:
    foretold_project(place)
    before = sorted(place.rglob("*"))
    text = foretell(vepa).out
    told = foretell(vepa, "--json").json
    assert [each["stage"] for each in told["stages_cost"]] == STAGES
    collect, annotate = told["stages_cost"][:2]
    assert row(text, "collect") == [
        "collect", "4 episodes, 16 steps", f"{collect['tokens']:,}", f"{collect['dollars']:.2f}",
        row(text, "collect")[4], "5 USD: enough",
    ]  # fmt: skip
    assert row(text, "annotate")[2:4] == [f"{annotate['tokens']:,}", f"{annotate['dollars']:.2f}"]
    assert row(text, "all")[3] == f"{told['cost']['dollars']:.2f}"
    assert row(text, "all")[5] == "105 USD: enough"
    assert "c lab/c: 1 asked" in text
    assert "as in the demo corpus" in text
    assert sorted(place.rglob("*")) == before
    # what older readers of the document look at
    assert {"dry_run", "id", "rounds", "events", "cost_usd", "corpus"} <= set(told)
    assert told["corpus"]["annotation"]["readers"] == {"a": "lab/a", "b": "lab/b", "c": "lab/c"}


def test_a_price_that_is_not_known_is_said(vepa: Any, place: Path) -> None:
    foretold_project(place, {"corpus.collect.model_settings": {}})
    text = foretell(vepa).out
    assert row(text, "collect")[3] == "not known"
    assert row(text, "all")[3].endswith("+ not known")
    assert row(text, "all")[5] == "105 USD: not known whether enough"
    assert "The price of lab/agent is not known; it comes on top of the sum." in text
    told = foretell(vepa, "--json").json
    assert (told["cost"]["dollars"], told["cost"]["unpriced"]) == (None, ["lab/agent"])


def test_a_budget_below_the_guess_is_said(vepa: Any, place: Path) -> None:
    foretold_project(place, panel={"budget": {"dollars": 1}})
    text = foretell(vepa).out
    assert row(text, "annotate")[5] == "1 USD: NOT ENOUGH"
    assert "annotate: the budget is below the guess." in text


def test_what_is_done_is_said_and_costs_nothing(vepa: Any, place: Path) -> None:
    foretold_project(place)
    collected(place)
    assert row(foretell(vepa).out, "collect") == ["collect", "done", "0", "0.00", "–", ""]
    assert foretell(vepa, "--json").json["stages_cost"][0]["tokens"] == 0


def test_nothing_is_left_only_where_no_stage_is_open(
    vepa: Any, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foretold_project(place)
    monkeypatch.setattr("vepa.bench.runs.run.Run.finished", True)  # the benchmark's policy stands
    text, told = foretell(vepa).out, foretell(vepa, "--json").json
    assert "Nothing is left to do" not in text
    assert text.rstrip().endswith("Nothing was written. Without --dry-run it runs.")
    assert told["finished"] is False
    assert "annotate" in told["corpus"]["stages"]["open"]
    monkeypatch.setattr("vepa.lifecycle.plan.Lifecycle.open", lambda _: [])
    text, told = foretell(vepa).out, foretell(vepa, "--json").json
    assert "Nothing is left to do: all products stand; --from STAGE" in text
    assert (told["finished"], told["corpus"]["stages"]["open"]) == (True, [])


def test_events_that_are_not_there_stop_a_run_and_no_forecast(vepa: Any, place: Path) -> None:
    foretold_project(place, {"events": ["assebench_safety.events.jsonl"]})
    text = foretell(vepa).out
    assert row(text, "evolve-benchmark")[1] == "1,476 events, 2 rounds"
    assert "assebench_safety.events.jsonl is not there yet" in text
    assert text.rstrip().endswith("It runs once assebench_safety.events.jsonl is there.")
    told = foretell(vepa, "--json").json
    assert told["awaited"] == ["assebench_safety.events.jsonl"]
    ran = vepa("run", "--profile", "tiny")
    assert ran.code == 2
    assert "no such file of events: assebench_safety.events.jsonl" in ran.err
    assert "remedy" in ran.err
    assert not (place / "artifacts").exists()
