"""`vepa annotate --bulk` over 500 steps: connections lost, killed, started again; paid once."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from batch_servers import BatchServer, text_of
from bulk_panels import project_at
from errands import errand

from vepa.corpus.labels import stream_labels
from vepa.corpus.trajectory import write_trajectories
from vepa.llm import Ledger

KEY = "sk-canary-of-the-bulk-kills"
GOOD = {
    "evidence": [],
    "rationale": "An ordinary step.",
    "triggers": [],
    "decision": "allow",
    "risk_source": "none",
    "harm": "none",
    "severity": "none",
    "confidence": 0.75,
    "event": [],
}
ERRANDS = 167  # of three steps each
#: Calls of a whole run, each seen before and after it is done.
MOMENTS = 40


def fate_of(body, before):
    """Some fail at first and cost nothing, some have to be repaired."""
    told = re.search(r"Answer mail (\d+)\.", text_of(body))
    number = int(told.group(1)) if told and len(spoken(body)) == 1 else -1
    if number % 20 == 3 and not before:
        return "errored"
    if number % 20 == 7 and not before:
        return "expired"
    return "garbled" if number % 50 == 11 else "ok"


def spoken(body):
    return [each for each in body["messages"] if each["role"] != "system"]


@pytest.mark.slow
def test_five_hundred_steps_survive_kills_and_lost_connections(tmp_path):
    seed = random.randrange(10**6)
    random.seed(seed)
    moments = set(random.sample(range(MOMENTS), 5))
    print(f"seed {seed}, killed at {sorted(moments)}")  # noqa: T201
    corpus, out = tmp_path / "traces.jsonl", tmp_path / "labels"
    write_trajectories(corpus, [errand(str(n), user=f"Answer mail {n}.") for n in range(ERRANDS)])
    running: list[subprocess.Popen[bytes]] = []
    seen = [0]

    def watch(kind, when):
        if seen[0] in moments and running:
            print(f"  killed {when} {kind}")  # noqa: T201
            os.kill(running[-1].pid, signal.SIGKILL)
        seen[0] += 1

    with BatchServer() as server:
        server.fate, server.watch, server.takes = fate_of, watch, 0.05
        server.answer, server.drops = lambda body: json.dumps(GOOD), {"create": 2}
        project = project_at(server, tmp_path / "project")
        command = [sys.executable, "-m", "vepa", "annotate", str(corpus), "--out", str(out),
                   "--project", str(project), "--bulk", "--json"]  # fmt: skip
        env = {**os.environ, "OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
        starts, until = 0, time.monotonic() + 170
        while time.monotonic() < until:
            process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE)
            running.append(process)
            starts += 1
            told, _ = process.communicate(timeout=170)
            if process.returncode != -signal.SIGKILL:
                break
        assert process.returncode == 0
        bodies = [(made.wire, body) for made in server.batches for _, body in made.requests]
    assert starts > 1
    steps = 3 * ERRANDS
    assert json.loads(told)["labels"] == 2 * steps
    places = Counter(
        (x.trajectory, x.step, x.annotator) for x in stream_labels(out / "labels.jsonl")
    )
    assert len(places) == 2 * steps
    assert set(places.values()) == {1}
    assert set(server.paid.values()) == {1}, "something was paid twice"
    first = {json.dumps(body, sort_keys=True): body for _, body in bodies if len(spoken(body)) == 1}
    repaired = sum(fate_of(body, 1) == "garbled" for body in first.values())
    unpaid = sum(fate_of(body, 0) in ("errored", "expired") for body in first.values())
    assert len(first) == 2 * steps
    assert sum(server.paid.values()) == 2 * steps + repaired
    assert len(bodies) == 2 * steps + repaired + unpaid
    lines = [(e.request, e.tags["batch"]) for e in Ledger(out / "ledger.jsonl").entries()]
    assert len(lines) == len(set(lines)) == len(bodies)
    for file in tmp_path.rglob("*"):
        assert file.is_dir() or KEY.encode() not in file.read_bytes(), file
