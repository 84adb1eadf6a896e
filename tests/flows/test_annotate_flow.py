"""The flow `annotate`, as real processes: artifacts, people who settle meanwhile, kill -9."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from judged_corpus import judged_project, where
from tiny_office import ROOT

from vepa.annotate.runs import stages
from vepa.annotate.runs.plan import AnnotationPlan, plan_annotation
from vepa.corpus.settled import stream_settled
from vepa.project import Project

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("corpus-flow"),  # the server of those tests
    pytest.mark.timeout(300),
]
LIMIT = 150
COUNT = 12
FLOW = """
import sys
from pathlib import Path
from vepa.bench.runs.conduct import load_flow
flow = load_flow(Path(sys.argv[1], "flows", "corpus.py"), "annotate")
flow(profile="small", project=sys.argv[2], artifacts=str(Path(sys.argv[2], "artifacts")))
"""


def start(folder: Path, server: str) -> subprocess.Popen[str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PREFECT_", "VEPA_")) and not name.lower().endswith("_proxy")
    }
    return subprocess.Popen(
        [sys.executable, "-c", FLOW, str(ROOT), str(folder)],
        cwd=folder,
        env={**kept, "PREFECT_API_URL": server},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(folder: Path, server: str) -> None:
    process = start(folder, server)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, err[-3000:]


def planned(folder: Path) -> AnnotationPlan:
    plan = plan_annotation(Project(folder), "small", artifacts=folder / "artifacts")
    assert plan is not None
    return plan


def stands(folder: Path) -> list[dict[str, Any]]:
    """What stands about every step; when an arbiter said it is not compared."""
    path = planned(folder).folder / "settled.jsonl"
    return [each.model_dump(exclude={"at"}) for each in stream_settled(path)]


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def kill_when(process: subprocess.Popen[str], due: Any) -> bool:
    """Kill -9 as soon as `due()`; whether it came to that."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end and process.poll() is None:
        if due():
            process.kill()
            process.communicate()
            return True
        time.sleep(0.002)
    process.communicate()
    return False


@pytest.mark.parametrize(
    "rounds", [1, pytest.param(5, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
)
def test_killed_in_annotation_and_in_arbitration_it_ends_the_same(
    server: str, prefect_home: Path, tmp_path: Path, rounds: int
) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")  # noqa: T201 - to repeat it
    draw = random.Random(seed)
    calm = judged_project(tmp_path / "calm", COUNT)
    begun = stages.begin_annotation(*where(calm))
    for reader in begun["readers"]:
        stages.annotate_reader(begun["folder"], reader)
    labels = stages.write_labels(begun["folder"])
    stages.arbitrate_open(begun["folder"])
    measured = stages.measure_agreement(begun["folder"])
    stages.end_annotation(begun["folder"], labels, measured)

    folder = judged_project(tmp_path / "killed", COUNT)
    place = planned(folder).folder
    journal = place / "judged" / "b.jsonl"
    for _ in range(rounds):
        wanted = min(lines(journal) + draw.randrange(1, 20), 3 * COUNT)
        kill_when(start(folder, server), lambda: lines(journal) >= wanted)  # noqa: B023
    for _ in range(rounds):
        wait, seen = draw.random() * 0.2, [0.0]

        def due(wait: float = wait, seen: list[float] = seen) -> bool:
            if not seen[0] and (place / "labels.jsonl").is_file():
                seen[0] = time.monotonic()
            return bool(seen[0]) and time.monotonic() - seen[0] >= wait

        kill_when(start(folder, server), due)
    finished(folder, server)
    assert stands(folder) == stands(calm)
    assert (place / "labels.jsonl").read_bytes() == (
        planned(calm).folder / "labels.jsonl"
    ).read_bytes()
    with planned(folder).queue() as queue:
        given = [each.verdict.item for each in queue.given()]
    assert len(given) == len(set(given)) == COUNT // 2
    for reader in ("a", "b"):
        kept = (place / "judged" / f"{reader}.jsonl").read_text().splitlines()
        items = [json.loads(line)["judged"]["item"] for line in kept]
        assert len(items) == len(set(items)) == 3 * COUNT
    assert not list(folder.rglob("*.tmp"))

    database = prefect_home / "prefect.db"
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        told = dict(connection.execute("select key, data from artifact").fetchall())
        names = {row[0] for row in connection.execute("select name from task_run").fetchall()}
    assert {"agreement", "queue", "annotation-cost", "annotate-a", "annotate-b"} <= set(told)
    assert f"0 of {COUNT // 2} disputes are open" in told["queue"]
    assert {"annotate-a", "annotate-b"} <= names
