"""`vepa run` with a corpus, as real processes: Prefect, artifacts, kill -9, failures."""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tiny_corpus import tiny_project
from tiny_lifecycle import lifecycle_project, planned_lifecycle
from tiny_office import ROOT, write_environment

from vepa.corpus.settled import stream_settled
from vepa.services.places import Places
from vepa.services.runtimes import processes

# One worker runs all tests of Prefect: they share a server and a finished run.
pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("corpus-flow"),
    pytest.mark.timeout(300),
]

#: How long a process may take on a busy machine.
LIMIT = 150
#: The flow alone, as `python flows/corpus.py` runs it; nothing evolves.
FLOW = """
import sys
from pathlib import Path
from vepa.bench.runs.conduct import load_flow
flow = load_flow(Path(sys.argv[1], "flows", "corpus.py"), "corpus")
flow(profile="tiny", project=sys.argv[2], artifacts=str(Path(sys.argv[2], "artifacts")))
"""


def start(folder: Path, variables: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    return _process(folder, variables, "-m", "vepa", "run", "--profile", "tiny", *arguments)


def start_flow(folder: Path, variables: dict[str, str]) -> subprocess.Popen[str]:
    return _process(folder, variables, "-c", FLOW, str(ROOT), str(folder))


def _process(folder: Path, variables: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ran(folder: Path, variables: dict[str, str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a whole run."""
    process = start(folder, variables, *arguments)
    out, err = process.communicate(timeout=LIMIT)
    return process.returncode, out, err


def corpus_of(folder: Path) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(
        (folder / "artifacts" / "corpus" / "tiny" / "corpus.json").read_text()
    )
    return figures


def episodes_of(folder: Path) -> dict[Path, int]:
    """Every episode that is there, and when it was written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.episode.json")}


def wait_for(folder: Path, number: int, process: subprocess.Popen[str]) -> None:
    """Until so many episodes are there; the process must not end before."""
    end = time.monotonic() + LIMIT
    while len(episodes_of(folder)) < number and time.monotonic() < end:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def kill_in_annotation(folder: Path, process: subprocess.Popen[str], draw: random.Random) -> None:
    """Kill -9 once the second reader has judged so many steps, or a moment after the labels."""
    labels = folder / "artifacts" / "corpus" / "tiny" / "labels"
    journal, wanted, wait = labels / "judged" / "b.jsonl", draw.randrange(1, 30), draw.random() / 4
    end = time.monotonic() + LIMIT
    while time.monotonic() < end and process.poll() is None:
        judged = journal.read_bytes().count(b"\n") if journal.is_file() else 0
        if judged >= wanted or (labels / "labels.jsonl").is_file():
            time.sleep(wait if judged >= wanted else 0.0)
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.005)
    process.communicate(timeout=LIMIT)


def queue_total(folder: Path) -> int:
    """Disputes of a finished lifecycle."""
    annotation = planned_lifecycle(folder).annotation
    assert annotation is not None
    with annotation.queue() as queue:
        return queue.state().total


def standing(folder: Path) -> list[dict[str, Any]]:
    """What stands about every step; when an arbiter said it is not compared."""
    path = folder / "artifacts" / "corpus" / "tiny" / "labels" / "settled.jsonl"
    return [each.model_dump(exclude={"at"}) for each in stream_settled(path)]


def nothing_runs(cache: Places) -> None:
    assert [*processes.launchers(cache.root), *processes.leftovers(cache.root)] == []


def test_the_run_collects_then_evolves_apart(
    whole: tuple[Path, dict[str, Any], str], cache: Places
) -> None:
    folder, told, err = whole
    corpus = told["corpus"]
    place = folder / "artifacts" / "corpus" / "tiny"
    assert (corpus["episodes"], corpus["played"], corpus["tasks"]) == (7, 7, 6)
    assert corpus["report"] == str(place / "report.html")
    assert Path(corpus["report"]).is_file()
    assert corpus["content_sha256"] == corpus_of(folder)["content_sha256"]
    assert told["id"] != told["corpus_policy"]["id"]
    for one in (told, told["corpus_policy"]):
        assert one["already_finished"] is False
        assert Path(one["report"]).is_file()
    assert "corpus of 7 episodes in artifacts/corpus/tiny/: 7 to play" in err
    assert "\n7 of 7 episodes\n" in err, "without a terminal, a line now and then"
    assert err.count("round  1 ") == 2, "both policies, apart"
    assert "Traceback" not in err
    nothing_runs(cache)


def test_prefect_knows_what_was_collected(
    whole: tuple[Path, dict[str, Any], str], prefect_home: Path
) -> None:
    with sqlite3.connect(f"file:{prefect_home / 'prefect.db'}?mode=ro", uri=True) as connection:
        flows = connection.execute("select name, state_type from flow_run").fetchall()
        tasks = connection.execute("select name, state_type from task_run").fetchall()
        artifacts = connection.execute(
            "select key, type, data from artifact order by created"
        ).fetchall()
    assert ("corpus", "COMPLETED") in {(name.partition("-")[0], state) for name, state in flows}
    assert {f"collect-memo-{name}" for name in ("milk", "rent", "0", "1", "2", "3")} <= {
        name for name, state in tasks if state == "COMPLETED"
    }
    kept = {
        key: (kind, json.loads(data) if isinstance(data, str) else data)
        for key, kind, data in artifacts
    }
    assert kept["corpus"] == ("progress", 100.0)
    kind, rows = kept["tasks"]
    rows = json.loads(rows) if isinstance(rows, str) else rows
    assert kind == "table"
    assert [(row["task"], row["episodes"]) for row in rows][-1] == ("memo-rent", 2)
    kind, rows = kept["outcomes"]
    rows = json.loads(rows) if isinstance(rows, str) else rows
    assert kind == "table"
    assert {row["model"]: row["unsafe"] for row in rows} == {
        "scripted/careful": 0,
        "scripted/gullible": 1,
    }
    kind, text = kept["cost"]
    assert kind == "markdown"
    assert "0 tokens read" in text


def test_a_second_run_plays_nothing(
    whole: tuple[Path, dict[str, Any], str], variables: dict[str, str]
) -> None:
    folder, before, _ = whole
    # No server answers there: a run with nothing to do needs none.
    nowhere = {**variables, "PREFECT_API_URL": "http://127.0.0.1:9/api"}
    stamps = episodes_of(folder)
    code, out, err = ran(folder, nowhere)
    assert code == 0, err
    assert "all of them are there" in err
    assert "of 7 episodes\n" not in err
    assert "all of them were there" in out
    assert before["corpus"]["content_sha256"] in out
    assert out.count("\nReport  ") == 3
    assert "Report  artifacts/corpus/tiny/report.html" in out
    (show,) = [line.strip() for line in out.splitlines() if " show --folder " in line]
    assert "--tripped unconfirmed_or_over_privileged_action" in show
    listed = subprocess.run(
        [sys.executable, "-m", "vepa", *shlex.split(show)[1:], "--json"],
        cwd=folder, env=nowhere, capture_output=True, text=True, check=True, timeout=LIMIT,
    )  # fmt: skip
    assert "memo-rent/scripted-gullible/0" in listed.stdout
    assert "memo-milk" not in listed.stdout
    assert episodes_of(folder) == stamps
    assert len(stamps) == 7


@pytest.mark.parametrize(
    "kills", [1, pytest.param(10, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
)
def test_killed_and_run_again_it_is_the_same_corpus(
    whole: tuple[Path, dict[str, Any], str],
    variables: dict[str, str],
    tmp_path: Path,
    cache: Places,
    kills: int,
) -> None:
    seed = int(os.environ.get("VEPA_TEST_SEED", random.randrange(10**6)))
    sys.stderr.write(f"VEPA_TEST_SEED={seed}\n")
    draw = random.Random(seed)
    folder, stamps = lifecycle_project(tmp_path / "killed"), {}
    for _ in range(kills):  # while it collects
        process = start_flow(folder, variables)
        wanted = min(len(episodes_of(folder)) + draw.randrange(1 if kills == 1 else 0, 3), 7)
        wait_for(folder, wanted, process)
        time.sleep(draw.uniform(0.0, 0.2))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=LIMIT)
        assert episodes_of(folder).items() >= stamps.items(), "nothing is played again"
        stamps = episodes_of(folder)
    for _ in range(kills):  # while it annotates, or arbitrates
        process = start_flow(folder, variables)
        kill_in_annotation(folder, process, draw)
    process = start_flow(folder, variables)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, err
    assert episodes_of(folder).items() >= stamps.items()
    assert len(episodes_of(folder)) == corpus_of(folder)["episodes"] == 7
    assert corpus_of(folder)["content_sha256"] == whole[1]["corpus"]["content_sha256"]
    labels = folder / "artifacts" / "corpus" / "tiny" / "labels"
    for reader in ("a", "b"):
        lines = (labels / "judged" / f"{reader}.jsonl").read_text().splitlines()
        items = [json.loads(line)["judged"]["item"] for line in lines]
        assert len(items) == len(set(items)), "no judgement was asked for twice"
    annotation = planned_lifecycle(folder).annotation
    assert annotation is not None
    with annotation.queue() as queue:
        given = [each.verdict.item for each in queue.given()]
    assert len(given) == len(set(given)) == queue_total(whole[0])
    assert standing(folder) == standing(whole[0])
    nothing_runs(cache)


def test_an_interrupt_ends_it_and_keeps_what_is_there(
    variables: dict[str, str], tmp_path: Path, cache: Places
) -> None:
    folder = tiny_project(tmp_path / "interrupted", more=30)
    process = start(folder, variables)
    wait_for(folder, 1, process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, err
    assert "what is done is kept" in err
    assert "Traceback" not in err
    assert 1 <= len(episodes_of(folder)) < 33
    nothing_runs(cache)


@pytest.mark.slow  # tests/collect/test_runs.py: the stages tell the same reasons
def test_episodes_that_fail_end_it_with_reasons(
    variables: dict[str, str], tmp_path: Path, cache: Places
) -> None:
    folder = tiny_project(tmp_path / "failing")
    write_environment(folder, mode="refuses")  # its seed is not taken
    code, out, err = ran(folder, variables, "--json")
    assert code == 1, err
    message = json.loads(out)["error"]["message"]
    assert message.startswith("3 of 3 episodes are missing")
    assert "no memos today" in message
    assert "remedy: the same command again" in message
    assert "Traceback" not in err
    assert not (folder / "artifacts" / "runs").exists(), "nothing evolves on half a corpus"
    nothing_runs(cache)
