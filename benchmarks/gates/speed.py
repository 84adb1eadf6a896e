"""Seconds of processor time that the updates of one stream take.

`PYTHONPATH=FOLDER python benchmarks/gates/speed.py` times the `paper` mode of an earlier version of
VEPA, whose source lies in FOLDER.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vepa.bench.prequential import Prequential
from vepa.bench.streams import StreamSettings, make_stream
from vepa.corpus import read_events
from vepa.evolution import EvolutionSettings, update
from vepa.policy import authority

__all__ = ["seconds"]

EVENTS = Path(__file__).parents[2] / "data/assebench_security.events.jsonl"
RUNS = 3


def seconds(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Median and longest of the ten updates, each the fastest of three runs."""
    runs = [_updates(spec) for _ in range(RUNS)]
    fastest = [min(each) for each in zip(*runs, strict=True)]
    return {"median_s": statistics.median(fastest), "longest_s": max(fastest)}


def _updates(spec: Mapping[str, Any]) -> list[float]:
    taken: list[float] = []

    def timed(*given: Any, **known: Any) -> Any:
        start = time.process_time()
        result = update(*given, **known)
        taken.append(time.process_time() - start)
        return result

    stream = make_stream(read_events(EVENTS), StreamSettings(flip=spec["flip"]), spec["seed"])
    Prequential(stream, authority(spec["mode"]), EvolutionSettings(), evolve=timed).run()
    return taken


if __name__ == "__main__":
    for flip in (0.0, 0.1):
        print(json.dumps(seconds({"flip": flip, "seed": 0, "mode": "paper"})))
