"""How long an update takes with few and with many examples in the archive."""

from __future__ import annotations

import numpy as np

from benchmarks.suite.policies import ROUNDS, draw, evolve
from benchmarks.suite.section import Section, Settings
from vepa.corpus import EventTable

__all__ = ["run"]


def run(stream: EventTable, settings: Settings) -> Section:
    """Evolve over streams whose every label is told, and time each update."""
    section = Section("evolving", "Evolution: seconds an update")
    for size in settings.examples:
        examples = _stream(stream, size)
        policy, seconds = evolve(examples, rounds=ROUNDS, feedback=1.0)
        again, seconds_again = evolve(examples, rounds=ROUNDS, feedback=1.0)
        assert policy.document_hash == again.document_hash
        fastest = np.minimum(seconds, seconds_again)
        section.rows.append(
            {
                "examples": size,
                "rounds": ROUNDS,
                "median_s": round(float(np.median(fastest)), 6),
                "longest_s": round(float(fastest.max()), 6),
                "last_s": round(float(fastest[-1]), 6),
                "rules": len(policy),
            }
        )
    section.notes = [
        (
            f"ASSEBench-Security in {ROUNDS} rounds with all labels told; `last` is the update "
            "with all the examples in the archive. More examples than the stream has are drawn "
            "with replacement. Each stream ran twice (the faster time of each update counts) and "
            "both runs gave the same policy, byte for byte."
        )
    ]
    return section


def _stream(stream: EventTable, size: int) -> EventTable:
    if size <= len(stream):
        return stream.take(np.random.default_rng(0).permutation(len(stream))[:size])
    drawn = stream.take(draw(stream, size))
    return EventTable(
        drawn.schema,
        tuple(f"e{at}" for at in range(size)),
        drawn.codes,
        drawn.labels,
        drawn.unit,
    )
