"""Hand-written events of scripted episodes: every field of every step must be right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from scripted import episode

from vepa.corpus.trajectory import write_trajectories
from vepa.parsing.instrumented import INSTRUMENTED, parse_trajectory
from vepa.policy import bundled_schema

EPISODES: list[dict[str, Any]] = [
    item
    for path in sorted((Path(__file__).parent / "episodes").glob("*.yaml"))
    for item in yaml.safe_load(path.read_text("utf-8"))
]


def spelled(words: str) -> dict[str, str]:
    values = words.split()
    assert len(values) == len(INSTRUMENTED), words
    return dict(zip(INSTRUMENTED, values, strict=True))


@pytest.mark.parametrize("item", EPISODES, ids=lambda item: item["id"])
def test_every_event_is_as_written(item):
    trajectory = episode(item["id"], item["persona"], item["steps"])
    found = {record.id.split("/", 1)[1]: record.event for record in parse_trajectory(trajectory)}
    wrong = []
    written = 0
    for at, line in enumerate(item["steps"]):
        for unit in ("call", "step"):
            if unit not in line:
                assert f"{at}/{unit}" not in found
                continue
            written += 1
            event = found[f"{at}/{unit}"]
            wrong += [
                f"{at}/{unit} {name}: {event[name]}, not {value}"
                for name, value in spelled(line[unit]).items()
                if event[name] != value
            ]
            others = set(bundled_schema().names) - set(INSTRUMENTED)
            assert {event[name] for name in others} == {"unknown"}
    assert wrong == []
    assert written == len(found)


def test_the_order_of_hashes_plays_no_part(tmp_path):
    """Sets of words are everywhere in the parser; their order differs between processes."""
    path = tmp_path / "t.jsonl"
    write_trajectories(path, [episode(i["id"], i["persona"], i["steps"]) for i in EPISODES])
    code = (
        "import sys; from vepa import stream_trajectories"
        "\nfrom vepa.parsing import parse_trajectory"
        "\nfor t in stream_trajectories(sys.argv[1]):"
        "\n    for r in parse_trajectory(t): print(r.model_dump_json())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, str(path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert outputs.pop().count(b"\n") > 160


def test_the_table_is_large_enough_and_names_no_episode_twice():
    calls = [line for item in EPISODES for line in item["steps"] if "tool" in line]
    assert len(calls) >= 80
    assert all("call" in line and "step" in line for line in calls)
    assert len({item["id"] for item in EPISODES}) == len(EPISODES)
