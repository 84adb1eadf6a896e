"""A release is loaded by what others use, without network: datasets, polars, VEPA itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import polars as pl
import pytest
from small_release import STORIES, built, small_corpus, small_source

from vepa.corpus.events import read_events
from vepa.corpus.labels import stream_labels
from vepa.corpus.settled import stream_settled
from vepa.corpus.trajectory import stream_trajectories
from vepa.policy.matching import ABSTAIN, REFUSE
from vepa.release.layout import jsonl_path, parquet_path
from vepa.release.records import SPLITS, TABLES

pytestmark = pytest.mark.xdist_group("release")
#: A process of its own: `datasets` reads its settings when it is loaded, and nothing may connect.
_LOAD = """
import json, socket, sys

def refuse(*_):
    raise OSError("the loader wanted the network")

socket.socket.connect = socket.getaddrinfo = refuse
from datasets import disable_progress_bars, load_dataset

disable_progress_bars()
folder, lone, *tables = sys.argv[1:]

def rows_of(*where):
    return {split: list(rows) for split, rows in load_dataset(*where).items()}

found = {table: rows_of(folder, table) for table in tables}
print(json.dumps({**found, "default": rows_of(folder), "lone": rows_of(lone, "labels")}))
"""


@pytest.fixture(scope="module")
def loaded(release, tmp_path_factory):
    """Table -> split -> rows, as `datasets` gives them.

    `default` is the table that comes without a name, `lone` the labels of a corpus of one task.
    """
    pytest.importorskip("datasets", reason="NOT RUN: the extra `release` is missing")
    home = tmp_path_factory.mktemp("hf")
    offline = {
        "HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1", "USE_TORCH": "0", "USE_TF": "0",
    }  # fmt: skip
    lone = built(tmp_path_factory.mktemp("lone"), STORIES[:2])
    before = {path: path.stat().st_mtime_ns for path in release.rglob("*")}
    done = subprocess.run(
        [sys.executable, "-c", _LOAD, str(release), str(lone), *TABLES],
        env={**os.environ, **offline},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert {path: path.stat().st_mtime_ns for path in release.rglob("*")} == before
    return json.loads(done.stdout)


@pytest.mark.parametrize("table", TABLES)
def test_datasets_gives_every_row_of_every_split(loaded, release, table):
    assert set(loaded[table]) == set(SPLITS)
    for split in SPLITS:
        assert (
            loaded[table][split] == pl.read_parquet(release / parquet_path(table, split)).to_dicts()
        )


def test_steps_are_the_default(loaded):
    assert loaded["default"] == loaded["steps"]


def test_a_corpus_of_one_task_loads_though_it_fills_one_split(loaded):
    # `datasets` refuses a configuration that names a split without rows.
    assert {split: len(rows) for split, rows in loaded["lone"].items()} == {"train": 12}


def test_columns_hold_what_the_lines_say(loaded, release):
    for split in SPLITS:
        with (release / jsonl_path("steps", split)).open(encoding="utf-8") as lines:
            said = [json.loads(line) for line in lines]
        rows = loaded["steps"][split]
        # A line leaves out what it has not; a row says null.
        assert [{k: v for k, v in row.items() if v is not None} for row in rows] == said
        for row in loaded["trajectories"][split]:
            whole = json.loads(row["trajectory"])
            assert (whole["id"], len(whole["steps"])) == (row["id"], row["steps"])


def test_polars_reads_all_splits_at_once(release):
    assert pl.read_parquet(release / "data/steps/*.parquet").height == 4 * len(STORIES)


def test_the_commands_own_readers_read_the_lines(release):
    trajectories, labels, settled = [], [], []
    for split in SPLITS:
        trajectories += stream_trajectories(release / jsonl_path("trajectories", split))
        labels += stream_labels(release / jsonl_path("labels", split))
        settled += stream_settled(release / jsonl_path("settled", split))
    assert {each.id for each in trajectories} == {story.id for story in STORIES}
    assert len(labels) == 2 * 3 * len(STORIES) + 2
    assert len(settled) == 3 * len(STORIES)
    assert all(label.meta["role"] in ("annotator", "arbiter") for label in labels)


@pytest.mark.parametrize(
    ("table", "unit", "count"), [("events_step", "step", 3), ("events_call", "call", 2)]
)
def test_events_are_labelled_events_of_their_unit(release, table, unit, count):
    tables = [read_events(release / jsonl_path(table, split)) for split in SPLITS]
    assert sum(map(len, tables)) == count * len(STORIES)
    assert {each.unit for each in tables} == {unit}
    labels = [label for each in tables for label in each.labels]
    assert ABSTAIN not in labels
    failed = [story for story in STORIES if story.trigger]
    answers = sum("inaccurate" in str(story.trigger) for story in failed)
    assert labels.count(REFUSE) == len(failed) - (answers if unit == "call" else 0)


def test_what_one_run_spelled_and_timed_is_not_released(release, tmp_path):
    raw = "".join(
        episode.model_dump_json()
        for episode in small_source(small_corpus(tmp_path / "c")).episodes()
    )
    for path in release.rglob("*.jsonl"):
        text = path.read_text("utf-8")
        assert "@4711" not in text
        assert '"seconds"' not in text
    assert "@4711" in raw
    assert '"seconds"' in raw
