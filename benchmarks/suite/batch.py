"""A million events: int8 columns in, decision codes out; and how events become columns."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.suite.peers import CedarPeer, PlainLoop
from benchmarks.suite.policies import draw
from benchmarks.suite.section import Goal, Section, Settings
from benchmarks.suite.timing import best
from vepa.corpus import EventRecord, EventTable, read_events
from vepa.policy import CompiledPolicy, Policy

__all__ = ["run", "run_encoding"]

#: Events that a peer gets at once, between two looks at the clock.
SLICE = 500


def run(policies: Mapping[str, Policy], events: EventTable, settings: Settings) -> Section:
    """Time batches of every policy with every engine, on one core."""
    section = Section("batch", f"A batch of {settings.batch:,} events on one core")
    rows = draw(events, settings.batch)
    columns = np.ascontiguousarray(events.codes[rows].T)
    with one_core() as held:
        for name, policy in policies.items():
            timed = _policy(name, policy, events, rows, columns, settings)
            section.rows += timed
            if name == "generated, 100 rules":
                rate = timed[0]["events_per_s"]
                section.goals.append(
                    Goal(
                        "batch at 100 rules, one core",
                        "≥ 10 M events/s",
                        f"{rate / 1e6:.1f} M events/s",
                        rate >= 10e6,
                    )
                )
    section.notes = [
        f"One core: {held}; the numpy operations in use start no threads.",
        (
            f"VEPA: fastest of {max(3, settings.repeats)} runs (median beside), tables built "
            "before. Peers: processor time, so that other work on the machine does not count "
            f"against them; a peer is stopped after {settings.peer_seconds:g} s at a size, then "
            "its total is extrapolated, and marked."
        ),
        (
            "The plain loop stops at the first rule that fires, since a batch wants no ids; its "
            "events are dicts, cedarpy's are requests, both built before."
        ),
        (
            "All decisions of VEPA were equal to the plain loop's on every event of the batch, "
            "and to those of cedarpy on every event that it reached."
        ),
    ]
    return section


def _policy(
    name: str,
    policy: Policy,
    events: EventTable,
    rows: npt.NDArray[np.intp],
    columns: npt.NDArray[np.int8],
    settings: Settings,
) -> list[dict[str, Any]]:
    compiled = CompiledPolicy(policy)
    plain = PlainLoop(policy)
    cedar = CedarPeer(policy)
    fields = [events.schema.decode(row) for row in events.codes.tolist()]
    expected = np.array([plain.code(event) for event in fields], dtype=np.int8)[rows]
    decided = compiled.decide_columns(columns)
    assert np.array_equal(decided, expected), name
    fastest, median = best(lambda: compiled.decide_columns(columns), max(3, settings.repeats))
    found = [_row(name, "VEPA", len(rows), fastest, len(rows), 1.0, median)]
    requests = [cedar.request(event) for event in fields]

    def loop(part: npt.NDArray[np.intp]) -> list[int]:
        return [plain.code(fields[at]) for at in part.tolist()]

    def cedar_batch(part: npt.NDArray[np.intp]) -> list[int]:
        return cedar.codes([requests[at] for at in part.tolist()])

    for engine, call in (("plain Python loop", loop), ("cedarpy, batch", cedar_batch)):
        done, seconds = _until(call, rows, decided, settings.peer_seconds)
        ratio = (seconds / done) / (fastest / len(rows))
        found.append(_row(name, engine, done, seconds, len(rows), ratio, None))
    return found


def _until(
    call: Callable[[npt.NDArray[np.intp]], list[int]],
    rows: npt.NDArray[np.intp],
    expected: npt.NDArray[np.int8],
    limit: float,
) -> tuple[int, float]:
    """Feed slices until all is done or the time is over: events done, seconds on the processor."""
    done, seconds = 0, 0.0
    deadline = perf_counter() + limit
    while not done or (done < len(rows) and perf_counter() < deadline):
        part = rows[done : done + SLICE]
        start = process_time()
        codes = call(part)
        seconds += process_time() - start
        assert codes == expected[done : done + SLICE].tolist()
        done += len(part)
    return done, seconds


def _row(
    policy: str,
    engine: str,
    done: int,
    seconds: float,
    size: int,
    ratio: float,
    median: float | None,
) -> dict[str, Any]:
    return {
        "policy": policy,
        "engine": engine,
        "events_per_s": round(done / seconds),
        "seconds": round(seconds, 6),
        "median_s": None if median is None else round(median, 6),
        "events_done": done,
        "total_s": round(seconds * size / done, 3),
        "extrapolated": done < size,
        "times_vepa": round(ratio, 1),
    }


def run_encoding(events: EventTable, settings: Settings) -> Section:
    """Time the ways from records and files to columns."""
    section = Section("encoding", "From records and files to columns")
    size = settings.file_events
    rows = draw(events, size)
    spelled = [events.schema.decode(row) for row in events.codes.tolist()]
    lines = [{"id": f"e{i}", "label": "allow", "event": spelled[at]} for i, at in enumerate(rows)]
    records = [EventRecord.model_validate(line) for line in lines]
    codes = events.codes[rows]
    assert np.array_equal(EventTable.from_records(records, events.schema).codes, codes)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        assert np.array_equal(read_events(path).codes, codes)
        steps: list[tuple[str, Callable[[], Any]]] = [
            ("raw dicts to codes", lambda: [events.schema.encode(line["event"]) for line in lines]),
            ("records to a table", lambda: EventTable.from_records(records, events.schema)),
            ("JSON Lines file to a table", lambda: read_events(path)),
        ]
        for what, call in steps:
            fastest, median = best(call, max(3, settings.repeats))
            section.rows.append(
                {
                    "what": what,
                    "events_per_s": round(size / fastest),
                    "seconds": round(fastest, 6),
                    "median_s": round(median, 6),
                    "events": size,
                }
            )
        size_mb = path.stat().st_size / 1e6
    section.notes = [
        f"Every record is validated; all fields are spelled out; the file has {size_mb:.0f} MB."
    ]
    return section


@contextmanager
def one_core() -> Iterator[str]:
    """Hold this process to one core, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):  # macOS
        yield "NOT held to one core (this system has no sched_setaffinity)"
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield "the process is pinned to one core with sched_setaffinity"
    finally:
        os.sched_setaffinity(0, before)
