"""One validated event in; verdict, rule ids and policy hash out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.suite.peers import CedarPeer, PlainLoop, check_equal
from benchmarks.suite.policies import draw
from benchmarks.suite.section import Goal, Section, Settings
from benchmarks.suite.timing import clock_cost, latencies, per_call
from vepa.corpus import EventTable
from vepa.policy import CompiledPolicy, Event, Policy

__all__ = ["run"]


def run(policies: Mapping[str, Policy], events: EventTable, settings: Settings) -> Section:
    """Time single decisions of every policy with every engine."""
    section = Section("single", "One event: latency of a decision")
    distinct = [Event(tuple(row), events.schema, events.unit) for row in events.codes.tolist()]
    # Objects of their own, so that the cache of the processor is not flattered.
    rows = events.codes[draw(events, settings.events)].tolist()
    stream = [Event(tuple(row), events.schema, events.unit) for row in rows]
    for name, policy in policies.items():
        timed = _policy(name, policy, distinct, stream, settings)
        section.rows += timed
        if name == "generated, 100 rules":
            section.goals += _goals(timed)
    section.notes = [
        (
            "p50 and p99: wall time of a call between two readings of the clock, whose own "
            f"{clock_cost():.2f} µs are contained. cpu: processor time a call in the same loop, "
            "which other work on the machine does not lengthen. loop: wall time a call without "
            "any clock inside (fastest of seven loops)."
        ),
        (
            "`VEPA, first sight`: a freshly compiled policy meets each distinct event once, so no "
            "answer is remembered."
        ),
        (
            "cedarpy: one policy a rule with its @id, parsed once into a PolicySet handle, "
            "Entities handle, request and context text built before; verdict, ids and hash are "
            "read."
        ),
        (
            "All answers (verdict, rule ids, hash) were equal on "
            f"{min(settings.peer_events, len(distinct))} distinct events before anything was timed."
        ),
    ]
    return section


def _policy(
    name: str, policy: Policy, distinct: list[Event], stream: list[Event], settings: Settings
) -> list[dict[str, Any]]:
    compiled = CompiledPolicy(policy)
    plain = PlainLoop(policy)
    cedar = CedarPeer(policy)
    check_equal(compiled, plain, cedar, distinct[: settings.peer_events])
    few = stream[: settings.peer_events]
    fields = [event.fields for event in stream]
    few_fields = fields[: len(few)]
    ready = [cedar.request(event) for event in few_fields]
    raw = [cedar.request(event, ready=False) for event in few_fields]
    fresh = [CompiledPolicy(policy).decide for _ in range(settings.repeats)]
    first = [(decide, event) for decide in fresh for event in distinct]
    engines: list[tuple[str, Callable[[Any], Any], Sequence[Any], int]] = [
        ("VEPA", compiled.decide, stream, 5),
        ("VEPA, raw dict in", compiled.decide_fields, fields, 2),
        ("VEPA, first sight", lambda pair: pair[0](pair[1]), first, 1),
        ("plain Python loop", plain.decide, few_fields, 1),
        ("cedarpy", cedar.decide, ready, 1),
        ("cedarpy, raw dict in", cedar.decide, raw, 1),
    ]
    rows: list[dict[str, Any]] = []
    for engine, call, arguments, repeats in engines:
        found = latencies(call, arguments, limit=settings.peer_seconds, repeats=repeats)
        loop = per_call(call, arguments) if engine in ("VEPA", "VEPA, raw dict in") else None
        ours = rows[0]["p50_us"] if rows else found.p50
        rows.append(
            {
                "policy": name,
                "engine": engine,
                "p50_us": round(found.p50, 3),
                "p99_us": round(found.p99, 3),
                "cpu_us": round(found.cpu, 3),
                "loop_us": None if loop is None else round(loop, 3),
                "times_vepa_p50": round(found.p50 / ours, 1),
                "calls": found.calls,
                "stopped": found.stopped,
            }
        )
    return rows


def _goals(rows: list[dict[str, Any]]) -> list[Goal]:
    p50 = {row["engine"]: row["p50_us"] for row in rows}
    ratio = p50["cedarpy"] / p50["VEPA"]
    return [
        Goal(
            "one decision at 100 rules, p50", "≤ 3 µs", f"{p50['VEPA']:.2f} µs", p50["VEPA"] <= 3.0
        ),
        Goal("one decision at 100 rules, against cedarpy", "≥ 40 ×", f"{ratio:.0f} ×", ratio >= 40),
    ]
