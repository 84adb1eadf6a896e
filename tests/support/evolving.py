"""Small worlds with a known law, archives of them, and proposers that follow a script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vepa.corpus.events import EventTable
from vepa.evolution import Archive
from vepa.evolution.proposers import Proposal, Request
from vepa.policy import Policy, Provenance, Rule, Schema
from vepa.policy.matching import ABSTAIN, ALLOW, REFUSE
from vepa.policy.patches import Edit, Patch

WORLD = Schema(
    1,
    {
        "colour": ["red", "green", "blue"],
        "size": ["small", "large"],
        "shape": ["disc", "cube", "cone", "rod"],
        "noise": list("pqrs"),
    },
)
CODES = {"allow": ALLOW, "refuse": REFUSE, "abstain": ABSTAIN}
Law = Callable[[Mapping[str, str]], str]


def rows(events: Iterable[tuple[Mapping[str, str], str]], prefix: str = "e") -> EventTable:
    """A table of (event, label) pairs."""
    pairs = list(events)
    codes = np.array([WORLD.encode(event) for event, _ in pairs], dtype=np.int8)
    labels = np.array([CODES[label] for _, label in pairs], dtype=np.int8)
    ids = tuple(f"{prefix}{at}" for at in range(len(pairs)))
    return EventTable(WORLD, ids, codes.reshape(len(pairs), len(WORLD)), labels)


def drawn(size: int, law: Law, seed: int = 0, prefix: str = "e") -> EventTable:
    """Events drawn evenly, without `unknown`, labelled by a law."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(1, len(f.values), size) for f in WORLD.fields], axis=1)
    spelled = [WORLD.decode(row) for row in codes.tolist()]
    return rows(((event, law(event)) for event in spelled), prefix)


def said(policy: Policy, table: EventTable) -> np.ndarray[Any, Any]:
    """What all rules of a policy say about a table, one rule after the other."""
    verdicts = np.full(len(table), ABSTAIN, dtype=np.int8)
    for rule in policy.rules:
        hit = [
            all(mask >> code & 1 for mask, code in zip(rule.masks, row, strict=True))
            for row in table.codes.tolist()
        ]
        verdicts[np.array(hit, dtype=bool)] = CODES[rule.decision]
    return verdicts


def archive_of(table: EventTable, policy: Policy | None = None, round: int = 1) -> Archive:
    """An archive of one round: what the policy (by default an empty one) met."""
    made = Archive(table.schema, table.unit)
    made.add(table, said(policy or Policy(table.schema), table), round)
    return made


def rule(id: str, decision: Any, round: int | None = None, **when: Sequence[str]) -> Rule:
    """A rule of the world: `rule("r", "allow", colour=["red"])`."""
    born = Provenance(round, "add") if round is not None else None
    spelled = {name: {"in": list(values)} for name, values in when.items()}
    return Rule.build(WORLD, id, decision, spelled, provenance=born)


def adding(*rules: Rule) -> Patch:
    """A patch that adds rules."""
    return Patch(tuple(Edit("add", (), (made,)) for made in rules))


class Scripted:
    """A proposer that answers each request with the next patches of a script, then with none."""

    name = "scripted"

    def __init__(self, *script: Sequence[Patch]):
        self.script = list(script)
        self.requests: list[Request] = []

    def propose(self, request: Request) -> Proposal:
        self.requests.append(request)
        at = len(self.requests) - 1
        return Proposal(tuple(self.script[at]) if at < len(self.script) else ())
