"""Small tables, a stand-in for the evolution, and fixtures for the tests of the bench."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vepa.corpus.events import EventTable, read_events
from vepa.evolution import Archive, EvolutionSettings
from vepa.policy import Authority, Policy, Rule, Schema
from vepa.project import Project

SMALL = Schema(
    1, {"colour": ["red", "green", "blue"], "size": ["small", "large"], "noise": list("abcd")}
)


def table(size: int = 60, *, seed: int = 7, unit: str = "trajectory", tasks: int = 0) -> EventTable:
    """Events whose colour tells the label: red refuses, all others allow."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(1, 4, size), rng.integers(1, 3, size), rng.integers(1, 5, size)])
    codes = codes.T.astype(np.int8)
    labels = (codes[:, 0] == 1).astype(np.int8)
    meta: tuple[dict[str, Any], ...] = tuple(
        {"task": f"t{at % tasks}"} if tasks else {"kind": "odd" if at % 2 else "even"}
        for at in range(size)
    )
    ids = tuple(f"s{seed}-{at}" for at in range(size))
    return EventTable(SMALL, ids, codes, labels, unit, meta)


@dataclass(frozen=True)
class FakeUpdate:
    """What the stand-in for the evolution returns."""

    policy: Policy
    round: int

    def to_dict(self) -> dict[str, Any]:
        return {"round": self.round, "policy": self.policy.policy_hash}


def fake_evolve(
    parent: Policy,
    archive: Archive,
    *,
    round: int,
    authority: Authority,
    settings: EvolutionSettings,
    seed: int,
) -> FakeUpdate:
    """One rule a colour: the majority label of its examples, when there are at least three."""
    rules = []
    for code in range(1, 4):
        found = archive.table.labels[archive.table.codes[:, 0] == code]
        if len(found) >= 3:
            decision = "refuse" if found.mean() > 0.5 else "allow"
            name = SMALL.fields[0].values[code]
            rules.append(Rule.build(SMALL, name, decision, {"colour": {"in": [name]}}))
    return FakeUpdate(parent.with_rules(rules), round)


@pytest.fixture(scope="session")
def build() -> SimpleNamespace:
    """The builders above, for test modules."""
    return SimpleNamespace(schema=SMALL, table=table, evolve=fake_evolve)


@pytest.fixture(scope="session")
def rjudge_path() -> Path:
    """The file with the bundled events of R-Judge."""
    return Project().find("data", "rjudge_dev.events.jsonl")


@pytest.fixture(scope="session")
def rjudge(rjudge_path: Path) -> EventTable:
    """The bundled events of R-Judge."""
    return read_events(rjudge_path)
