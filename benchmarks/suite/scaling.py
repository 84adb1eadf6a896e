"""One measurement of `benchmarks.scale`, in a process of its own: `python -m … SPEC`.

SPEC is a JSON object: `task`, `method`, `file`, `archive`. The answer is one JSON object on stdout.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from vepa.bench import metrics
from vepa.bench.prequential import Prequential
from vepa.bench.scores import predict_stream, score
from vepa.bench.streams import StreamSettings, make_stream
from vepa.bench.synth import SyntheticSettings, agreement, make_synthetic
from vepa.bench.synth.files import write_synthetic
from vepa.corpus.columns import read_columns
from vepa.corpus.events import EventTable
from vepa.evolution import Archive, EvolutionSettings, update
from vepa.evolution.bounding import bounded
from vepa.policy import ABSTAIN, CompiledPolicy, Policy, authority, read_policy

__all__ = ["HELD_OUT", "PATCHES", "ROUNDS", "high_water"]

#: Events that nobody learns from: the first of every file, so they are the same at every size.
HELD_OUT = 20_000
ROUNDS, FEEDBACK, PATCHES, SEED = 30, 0.5, 30, 0
MODE = "default"


@dataclass
class Clock:
    """Seconds of what was timed, by its name: on the wall, and of the processor."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Time what happens within."""
        wall, cpu = perf_counter(), process_time()
        yield
        self.seconds[f"{name}_s"] = round(perf_counter() - wall, 3)
        self.seconds[f"{name}_cpu_s"] = round(process_time() - cpu, 3)


@dataclass(frozen=True, eq=False)
class Given:
    """What a measurement works on: the events to learn from, those held out, the true policy."""

    events: EventTable
    held_out: EventTable
    truth: Policy
    settings: EvolutionSettings


def high_water(process: int | str = "self") -> float | None:
    """MiB that a process had in memory at its peak; None where the system does not tell."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    return round(int(found[0]) / 1024, 1) if found else None


def make(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The events of a size, as a file."""
    made = make_synthetic(SyntheticSettings(events=spec["size"] + HELD_OUT, seed=SEED))
    return write_synthetic(made, spec["file"])[1]


def measure(spec: Mapping[str, Any]) -> dict[str, Any]:
    """One method at one size."""
    clock = Clock()
    with clock.of("read"):
        table = read_columns(spec["file"])
    name = Path(spec["file"]).name.removesuffix(".events.parquet")
    truth = read_policy(Path(spec["file"]).with_name(f"{name}.policy.yaml").read_text()).unwrap()
    ours = str(spec["method"]).startswith("vepa")
    kept = spec["archive"] if spec["method"] == "vepa-bounded" else None
    given = Given(
        table.take(np.arange(HELD_OUT, len(table))),
        table.take(np.arange(HELD_OUT)),
        truth,
        EvolutionSettings(patches=PATCHES, archive=kept),
    )
    del table
    start = high_water()
    tasks: dict[str, Callable[[], dict[str, Any]]] = {
        "update": lambda: (
            our_update(given, clock) if ours else their_update(given, clock, spec["method"])
        ),
        "stream": lambda: (
            our_stream(given, clock) if ours else their_stream(given, clock, spec["method"])
        ),
    }
    found = tasks[spec["task"]]()
    return {**found, **clock.seconds, "read_mib": start, "peak_mib": high_water()}


def our_update(given: Given, clock: Clock) -> dict[str, Any]:
    """The last of `ROUNDS` rounds: all of the events but its share have been learned before."""
    judge, settings, table = authority(MODE), given.settings, given.events
    cut = len(table) - len(table) // ROUNDS
    archive, policy = Archive(table.schema, table.unit), Policy(table.schema, (), table.unit)

    def learn(part: EventTable, number: int) -> None:
        nonlocal archive, policy
        archive.add(part, CompiledPolicy(policy).decide_columns(part.columns), number)
        policy = update(
            policy, archive, round=number, authority=judge, settings=settings, seed=SEED
        ).policy
        if settings.archive is not None:
            archive = bounded(archive, settings.archive, policy, judge)

    with clock.of("before"):
        learn(table.take(np.arange(cut)), 1)
    with clock.of("update"):
        learn(table.take(np.arange(cut, len(table))), 2)
    return {"stored": len(archive), **_ours(given, policy)}


def their_update(given: Given, clock: Clock, method: str) -> dict[str, Any]:
    """The same for another learner: an incremental one learns one share more, others all anew."""
    learner, table = _learner(method, given.events), given.events
    cut = len(table) - len(table) // ROUNDS
    with clock.of("before"):
        learner.learn(table.take(np.arange(cut)))
    with clock.of("update"):
        learner.learn(table.take(np.arange(cut, len(table))))
        learner.predict(given.held_out.take([0]))  # where one is fitted when it is asked
    return {"held_out": _theirs(learner, given.held_out)}


def our_stream(given: Given, clock: Clock) -> dict[str, Any]:
    """All rounds of a stream."""
    with clock.of("prepare"):
        stream = make_stream(given.events, StreamSettings(rounds=ROUNDS, feedback=FEEDBACK), SEED)
    loop = Prequential(stream, authority(MODE), given.settings)
    with clock.of("stream"):
        loop.run()
    found = score(stream, loop.outcomes)
    return {
        "stored": len(loop.archive),
        "rounds": {
            name: found[name]
            for name in ("covered_macro_f1", "full_macro_f1", "mean_coverage", "final_coverage")
        },
        **_ours(given, loop.current),
    }


def their_stream(given: Given, clock: Clock, method: str) -> dict[str, Any]:
    """The same for another learner."""
    learner = _learner(method, given.events)
    with clock.of("prepare"):
        stream = make_stream(given.events, StreamSettings(rounds=ROUNDS, feedback=FEEDBACK), SEED)
    with clock.of("stream"):
        said = predict_stream(stream, learner)
    f1 = metrics.macro_f1(stream.table.labels[stream.order], said.labels)
    return {"rounds": {"full_macro_f1": f1}, "held_out": _theirs(learner, given.held_out)}


def _ours(given: Given, policy: Policy) -> dict[str, Any]:
    table = given.held_out
    said = CompiledPolicy(policy).decide_columns(table.columns)
    return {
        "held_out": {
            "covered_macro_f1": metrics.covered_macro_f1(table.labels, said),
            "full_macro_f1": metrics.full_macro_f1(table.labels, said),
            "coverage": float((said != ABSTAIN).mean()),
        },
        "agreement": agreement(policy, given.truth, table).to_dict(),
        "rules": {"archive": len(policy.rules), "active": len(policy.active)},
        "policy_hash": policy.policy_hash,
    }


def _learner(method: str, events: EventTable) -> Any:
    from vepa.bench.baselines import make_baselines

    family = method.partition("_")[0]
    return make_baselines((family,), events.schema, events.schema.names, SEED)[method]


def _theirs(learner: Any, table: EventTable) -> dict[str, Any]:
    hidden = table.with_labels(np.full(len(table), ABSTAIN, dtype=np.int8))
    return {"full_macro_f1": metrics.macro_f1(table.labels, learner.predict(hidden).labels)}


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    print(json.dumps(make(asked) if asked["task"] == "make" else measure(asked)))
