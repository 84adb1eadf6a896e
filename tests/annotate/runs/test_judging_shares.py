"""Steps that several processes judge: the same labels as of one, each judgement asked for once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from judged_corpus import PANEL, judged_project, where

from vepa.annotate.journal import LabelJournal
from vepa.annotate.runs import sharing, stages
from vepa.annotate.runs.session import session_of
from vepa.errors import RunError, SettingError

PRODUCTS = ("labels.jsonl", "settled.jsonl", "agreement.json", "events.step.jsonl")


@contextmanager
def begun(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """An annotation that is held, and its readers."""
    plan = stages.begin_annotation(*where(folder))
    try:
        yield plan["folder"], plan["readers"]
    finally:
        stages.leave_annotation(plan["folder"])


def ended(labels: str) -> dict[str, Any]:
    """The other stages, as the flow calls them."""
    told = stages.write_labels(labels)
    stages.arbitrate_open(labels)
    return stages.end_annotation(labels, told, stages.measure_agreement(labels))


def judged_of(labels: str, reader: str) -> list[str]:
    lines = (Path(labels) / "judged" / f"{reader}.jsonl").read_text().splitlines()
    return [json.loads(line)["judged"]["item"] for line in lines]


def content(labels: Path) -> dict[str, list[dict[str, Any]]]:
    """Products, without the moment at which an arbiter said something."""
    found = {}
    for name in PRODUCTS:
        text = (labels / name).read_text()
        records = [json.loads(each) for each in (text.splitlines() if "jsonl" in name else [text])]
        found[name] = [{key: record[key] for key in record if key != "at"} for record in records]
    return found


def test_shares_judge_what_one_process_judges(tmp_path: Path) -> None:
    plain, apart = judged_project(tmp_path / "plain"), judged_project(tmp_path / "apart")
    with begun(plain) as (labels, readers):
        for reader in readers:
            stages.annotate_reader(labels, reader)
        before = ended(labels)
    with begun(apart) as (labels, readers):
        assert sharing.take_up(labels) == 24
        run = sharing.share_out(labels, str(apart), 3)
        asked = [
            sharing.judge_share(run["where"], run["token"], reader, number)
            for number in range(3)
            for reader in readers
        ]
        assert asked == [4] * 6
        assert sharing.judged(labels) == 24
        sharing.gather(labels, run["token"], sum(asked))
        assert sharing.judged(labels) == 0
        after = ended(labels)
    assert after["labels"] == before["labels"]
    folders = [folder / "artifacts/corpus/small/labels" for folder in (plain, apart)]
    assert content(folders[0]) == content(folders[1])
    assert {path.name for path in folders[0].iterdir()} == {
        path.name for path in folders[1].iterdir()
    }


def test_a_killed_share_goes_on_and_what_it_judged_outlives_the_run(tmp_path: Path) -> None:
    folder = judged_project(tmp_path / "project")
    with begun(folder) as (labels, _):
        run = sharing.share_out(labels, str(folder), 2)
        assert sharing.judge_share(run["where"], run["token"], "a", 0) == 6
        part = Path(labels) / "judged/shares/a-0.jsonl"
        lines = part.read_bytes().splitlines(keepends=True)
        part.write_bytes(b"".join(lines[:2]) + lines[2][:40])  # killed in the middle of a line
        assert sharing.judge_share(run["where"], run["token"], "a", 0) == 4, "two were there"
        sharing.withdraw(labels, run["token"])  # and the whole run is killed
    with begun(folder) as (labels, readers):
        assert sharing.take_up(labels) == 24 - 6
        run = sharing.share_out(labels, str(folder), 1)
        asked = [sharing.judge_share(run["where"], run["token"], name, 0) for name in readers]
        assert asked == [6, 12]
        sharing.gather(labels, run["token"], 18)
        for reader in readers:
            items = judged_of(labels, reader)
            assert len(items) == len(set(items)) == 12


def test_what_a_process_still_judges_is_not_taken_up(tmp_path: Path) -> None:
    folder = judged_project(tmp_path / "project")
    with begun(folder) as (labels, _):
        run = sharing.share_out(labels, str(folder), 1)
        with (
            LabelJournal(Path(labels) / "judged/shares/a-0.jsonl", "how"),
            pytest.raises(SettingError, match="another process writes judgements"),
        ):
            sharing.take_up(labels)
        sharing.withdraw(labels, run["token"])
        with pytest.raises(SettingError, match="does not see this folder as the run does"):
            sharing.judge_share(run["where"], run["token"], "a", 0)


def test_judgements_that_do_not_come_here_are_told(tmp_path: Path) -> None:
    folder = judged_project(tmp_path / "project")
    with begun(folder) as (labels, _):
        run = sharing.share_out(labels, str(folder), 1)
        sharing.judge_share(run["where"], run["token"], "a", 0)
        with pytest.raises(RunError, match="12 judgements are not in"):
            sharing.gather(labels, run["token"], 24)


def test_a_panel_that_changed_is_judged_by_nobody(tmp_path: Path) -> None:
    folder = judged_project(tmp_path / "project")
    with begun(folder) as (labels, _):
        run = sharing.share_out(labels, str(folder), 1)
        (folder / "annotation/small.yaml").write_text(
            yaml.safe_dump({**PANEL, "budget": {"tokens": 5}})
        )
        with pytest.raises(SettingError, match="would make something else"):
            sharing.judge_share(run["where"], run["token"], "a", 0)


def test_what_shares_took_counts_for_the_arbiter(tmp_path: Path) -> None:
    folder = judged_project(tmp_path / "project", count=1)
    with begun(folder) as (labels, readers):
        run = sharing.share_out(labels, str(folder), 1)
        for reader in readers:
            sharing.judge_share(run["where"], run["token"], reader, 0)
        file = Path(labels) / "shares/budget.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "tokens": 70, "dollars": 0.5}))
        sharing.gather(labels, run["token"], 6)
        budget = session_of(labels).budget
        assert (budget.used_tokens, budget.used_dollars) == (70, 0.5)
