"""`vepa run` over all stages, as real processes: release, verdicts of people, kill -9."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tiny_lifecycle import (
    LIMIT,
    STAGES,
    lifecycle_project,
    planned_lifecycle,
    started,
    told_of,
)

from vepa.annotate.runs.plan import plan_annotation
from vepa.corpus.labels import Judgement
from vepa.project import Project
from vepa.release.checking import check
from vepa.services.places import Places
from vepa.services.runtimes import processes

# One worker runs them all: they share a server and a finished run.
pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("corpus-flow"),
    pytest.mark.timeout(400),
]


def summary_of(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(
        (planned_lifecycle(folder).folder / "lifecycle.json").read_text()
    )
    return data


def test_one_command_makes_every_stage(
    whole: tuple[Path, dict[str, Any], str], prefect_home: Path
) -> None:
    folder, told, err = whole
    assert planned_lifecycle(folder).open() == []
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
    assert (planned_lifecycle(folder).folder / "report.html").is_file()
    assert "before" not in summary
    assert "Traceback" not in err
    with sqlite3.connect(f"file:{prefect_home / 'prefect.db'}?mode=ro", uri=True) as connection:
        flows = connection.execute("select name, state_type from flow_run").fetchall()
        keys = {row[0] for row in connection.execute("select key from artifact").fetchall()}
    names = {name.partition("-")[0] for name, state in flows if state == "COMPLETED"}
    assert {"lifecycle", "corpus", "annotate", "release", "evolve"} <= names
    assert {"lifecycle", "stages", "lifecycle-report", "release", "agreement", "queue"} <= keys


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
    assert planned_lifecycle(folder).open() == ["annotate", "release", "evolve-corpus", "report"]
    told, _ = told_of(folder, variables)
    assert told["corpus"]["played"] == 0
    assert told["corpus"]["annotation"]["settled"]["how"]["person"] >= 1
    assert told["corpus"]["release"]["version"] != before["corpus"]["release"]["version"]
    assert told["already_finished"] is True, "the benchmark's policy does not depend on it"
    assert told["corpus_policy"]["id"] != before["corpus_policy"]["id"]
    assert told["corpus_policy"]["already_finished"] is False, "it grew anew"
    now = summary_of(folder)
    assert now["made"] == ["annotate", "evolve-corpus", "release"]
    assert now["before"]["release"]["version"] == before["corpus"]["release"]["version"]
    # The first version stays what it was.
    assert check(Path(before["corpus"]["release"]["folder"]), None).problems == ()


#: What stands once a stage is done, below the artifacts.
ENDS = {
    "collect": "corpus/tiny/corpus.json",
    "annotate": "corpus/tiny/labels/annotation.json",
    "release": "corpus/tiny/release.json",
    "evolve-corpus": "runs/evolve-*/summary.json",
    "evolve-benchmark": "runs/tiny-*/summary.json",
}
#: Seconds that a process takes to come to its first stage.
START = 5.0


def stage_of(folder: Path) -> str:
    """The first stage that is not done."""
    place = folder / "artifacts"
    return next((stage for stage, end in ENDS.items() if not any(place.glob(end))), "report")


def kill_in(
    folder: Path, variables: dict[str, str], stage: str, seconds: float, draw: random.Random
) -> str:
    """Start a run and kill -9 all of it at a random moment of a stage; the stage it was in."""
    process, order = started(folder, variables, "--json"), list(ENDS)
    part, end, moment = draw.random(), time.monotonic() + LIMIT, 0.0
    late = stage_of(folder) == stage  # it begins with it, once it has started
    while time.monotonic() < end and process.poll() is None:
        now = stage_of(folder)
        if now not in order or order.index(now) > order.index(stage):
            break
        if now == stage:
            moment = moment or time.monotonic() + part * (seconds + START * late)
            if time.monotonic() >= moment:
                break
        time.sleep(0.01)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=LIMIT)
    return stage_of(folder)


class Kept:
    """What was played and judged before a kill and must be there, as it was, ever after."""

    def __init__(self, folder: Path):
        self.corpus = folder / "artifacts/corpus/tiny"
        self.episodes: dict[Path, int] = {}
        self.judged: dict[str, set[bytes]] = {}

    def look(self) -> None:
        """Compare with the look before."""
        now = {each: each.stat().st_mtime_ns for each in self.corpus.rglob("*.episode.json")}
        assert self.episodes.items() <= now.items(), "an episode was played twice, or is lost"
        self.episodes = now
        for path in self.corpus.glob("labels/judged/*.jsonl"):
            lines = [each for each in path.read_bytes().splitlines(True) if each.endswith(b"\n")]
            items = [json.loads(each)["judged"]["item"] for each in lines]
            assert len(set(items)) == len(items), "a content was judged twice"
            assert self.judged.get(path.name, set()) <= set(lines), "a judgement is lost"
            self.judged[path.name] = set(lines)


@pytest.mark.slow  # test_corpus_flow.py and test_run_command.py kill single stages
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("kills", [10])
def test_killed_anywhere_it_ends_as_the_same_version(
    whole: tuple[Path, dict[str, Any], str],
    variables: dict[str, str],
    cache: Places,
    tmp_path: Path,
    kills: int,
) -> None:
    seed = int(os.environ.get("VEPA_TEST_SEED", random.randrange(10**6)))
    sys.stderr.write(f"VEPA_TEST_SEED={seed}\n")
    draw = random.Random(seed)
    folder, seconds = lifecycle_project(tmp_path / "killed"), summary_of(whole[0])["seconds"]
    kept = Kept(folder)
    for at in range(kills):
        stage = list(ENDS)[at * len(ENDS) // kills]
        was = kill_in(folder, variables, stage, seconds[stage], draw)
        sys.stderr.write(f"killed in {was}\n")
        kept.look()
        end = time.monotonic() + LIMIT
        while left := [*processes.launchers(cache.root), *processes.leftovers(cache.root)]:
            assert time.monotonic() < end, left
            time.sleep(0.05)
    told, _ = told_of(folder, variables)
    kept.look()
    assert told["corpus"]["content_sha256"] == whole[1]["corpus"]["content_sha256"]
    assert told["corpus"]["release"]["version"] == whole[1]["corpus"]["release"]["version"]
    assert told["policy_hash"] == whole[1]["policy_hash"]
    assert told["corpus_policy"]["policy_hash"] == whole[1]["corpus_policy"]["policy_hash"]
    assert not list((folder / "artifacts" / "corpus").glob(".tiny-*"))
