"""`vepa run` over all stages, as real processes: release, verdicts of people, kill -9."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from judged_corpus import PANEL
from tiny_corpus import tiny_project
from tiny_office import ROOT, cache_folder

from vepa.annotate.runs.plan import plan_annotation
from vepa.corpus.labels import Judgement
from vepa.lifecycle.plan import Lifecycle, plan_lifecycle
from vepa.project import Project
from vepa.release.checking import check
from vepa.services.places import Places

# One worker runs them all: they share a server and a finished run.
pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("corpus-flow"),
    pytest.mark.timeout(400),
]
LIMIT = 200
STAGES = ["collect", "annotate", "release", "evolve-corpus", "evolve-benchmark", "report"]
CHANGES: dict[str, Any] = {
    "annotate": {"panel": "tiny.yaml", "workers": 2, "resamples": 100},
    "release": {},
}


@pytest.fixture(scope="module")
def variables(server: str) -> Iterator[dict[str, str]]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PREFECT_", "VEPA_")) and not name.lower().endswith("_proxy")
    }
    with cache_folder() as places:
        assert isinstance(places, Places)
        yield {**kept, "VEPA_CACHE": str(places.root), "PREFECT_API_URL": server}


def made(folder: Path) -> Path:
    """A project whose profile has all blocks but training."""
    tiny_project(folder, CHANGES, more=2)
    (folder / "annotation").mkdir()
    (folder / "annotation/tiny.yaml").write_text(yaml.safe_dump(PANEL))
    for name in ("taxonomy.yaml", "codebook.md"):
        (folder / "annotation" / name).write_bytes((ROOT / "annotation" / name).read_bytes())
    return folder


def start(folder: Path, variables: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "vepa", "run", "--profile", "tiny", "--json", *arguments],
        cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def ran(folder: Path, variables: dict[str, str], *arguments: str) -> tuple[dict[str, Any], str]:
    """What a whole run told, as JSON and in words."""
    process = start(folder, variables, *arguments)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, err[-3000:]
    return json.loads(out), err


def planned(folder: Path) -> Lifecycle:
    return plan_lifecycle(Project(folder), "tiny", artifacts=folder / "artifacts")


def summary_of(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((planned(folder).folder / "lifecycle.json").read_text())
    return data


@pytest.fixture(scope="module")
def whole(
    variables: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any], str]:
    """A project after its first run, and what was told."""
    folder = made(tmp_path_factory.mktemp("lifecycle") / "project")
    assert planned(folder).open() == STAGES
    return (folder, *ran(folder, variables))


def test_one_command_makes_every_stage(
    whole: tuple[Path, dict[str, Any], str], prefect_home: Path
) -> None:
    folder, told, err = whole
    assert planned(folder).open() == []
    version = told["corpus"]["release"]["version"]
    assert version.startswith("tiny-")
    place = Path(told["corpus"]["release"]["folder"])
    assert place == folder / "artifacts" / "corpus" / version
    assert check(place, None).problems == ()
    assert told["corpus"]["annotation"]["labels"]["origins"] == {
        "scripted": 2 * told["corpus"]["steps"]
    }
    assert told["corpus_policy"]["id"] != told["id"]
    summary = summary_of(folder)
    assert summary["made"] == sorted(STAGES[:-1])
    assert summary["release"]["version"] == version
    assert (planned(folder).folder / "report.html").is_file()
    assert "before" not in summary
    assert "Traceback" not in err
    with sqlite3.connect(f"file:{prefect_home / 'prefect.db'}?mode=ro", uri=True) as connection:
        flows = connection.execute("select name, state_type from flow_run").fetchall()
        keys = {row[0] for row in connection.execute("select key from artifact").fetchall()}
    names = {name.partition("-")[0] for name, state in flows if state == "COMPLETED"}
    assert {"lifecycle", "corpus", "annotate", "release", "evolve"} <= names
    assert {"lifecycle", "stages", "lifecycle-report", "release", "agreement", "queue"} <= keys


def test_again_nothing_is_made_and_no_server_is_needed(
    whole: tuple[Path, dict[str, Any], str], variables: dict[str, str]
) -> None:
    folder, before, _ = whole
    stamps = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    told, _ = ran(folder, {**variables, "PREFECT_API_URL": "http://127.0.0.1:9/api"})
    assert told["corpus"]["release"] == before["corpus"]["release"]
    assert told["already_finished"] is True
    after = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    changed = {path.name for path in stamps if after.get(path) != stamps[path]}
    assert {name for name in changed if not name.startswith("queue.sqlite")} == set()


def test_a_persons_verdict_is_a_new_version_and_only_what_follows_is_made(
    whole: tuple[Path, dict[str, Any], str], variables: dict[str, str]
) -> None:
    folder, before, _ = whole
    annotation = plan_annotation(Project(folder), "tiny", artifacts=folder / "artifacts")
    assert annotation is not None
    with annotation.queue() as queue:
        arbiters = [each.verdict for each in queue.given()]
        refused = next(each for each in arbiters if each.judgement.decision == "refuse")
        verdict = refused.model_copy(
            update={
                "annotator": "ada", "origin": "person", "model": None, "template": None,
                "judgement": Judgement(decision="allow", rationale="It is fine.", confidence=1.0),
            }
        )  # fmt: skip
        assert queue.record(verdict) == "taken", "a person's word goes before an arbiter's"
    assert planned(folder).open() == ["annotate", "release", "evolve-corpus", "report"]
    told, _ = ran(folder, variables)
    assert told["corpus"]["played"] == 0
    assert told["corpus"]["annotation"]["settled"]["how"]["person"] >= 1
    assert told["corpus"]["release"]["version"] != before["corpus"]["release"]["version"]
    assert told["already_finished"] is True, "the benchmark's policy does not depend on it"
    assert told["corpus_policy"]["id"] != before["corpus_policy"]["id"]
    now = summary_of(folder)
    assert now["made"] == ["annotate", "evolve-corpus", "release"]
    assert now["before"]["release"]["version"] == before["corpus"]["release"]["version"]
    # The first version stays what it was.
    assert check(Path(before["corpus"]["release"]["folder"]), None).problems == ()


@pytest.mark.parametrize("kills", [1, pytest.param(10, marks=[pytest.mark.slow])])
def test_killed_anywhere_it_ends_as_the_same_version(
    whole: tuple[Path, dict[str, Any], str],
    variables: dict[str, str],
    tmp_path: Path,
    kills: int,
) -> None:
    seed = int(os.environ.get("VEPA_TEST_SEED", random.randrange(10**6)))
    sys.stderr.write(f"VEPA_TEST_SEED={seed}\n")
    draw = random.Random(seed)
    folder = made(tmp_path / "killed")
    marks = [
        "corpus.json", "judged/b.jsonl", "labels.jsonl", "settled.jsonl", "release.json",
        "round-001.json",
    ]  # fmt: skip
    for _ in range(kills):
        process, mark = start(folder, variables), draw.choice(marks)
        end = time.monotonic() + LIMIT
        while time.monotonic() < end and process.poll() is None:
            if any(str(path).endswith(mark) for path in (folder / "artifacts").rglob("*.json*")):
                time.sleep(draw.uniform(0, 1.0))
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.05)
        process.communicate(timeout=LIMIT)
    told, _ = ran(folder, variables)
    assert told["corpus"]["content_sha256"] == whole[1]["corpus"]["content_sha256"]
    assert told["corpus"]["release"]["version"] == whole[1]["corpus"]["release"]["version"]
    assert told["policy_hash"] == whole[1]["policy_hash"]
    assert told["corpus_policy"]["policy_hash"] == whole[1]["corpus_policy"]["policy_hash"]
    assert not list((folder / "artifacts" / "corpus").glob(".tiny-*"))
