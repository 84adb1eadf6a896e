"""A world of regions of known precision, so that the true precision of every rule is known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vepa.corpus.events import EventTable
from vepa.policy import Rule, Schema
from vepa.policy.matching import ALLOW, REFUSE

__all__ = ["REGIONS", "SCHEMA", "precision", "world"]

#: Zone and tool decide; the two others are noise that a search may fall for.
SCHEMA = Schema(
    1,
    {
        "zone": ["calm", "murky"],
        "tool": ["mail", "files", "web", "pay"],
        "channel": ["a", "b", "c"],
        "hour": ["x", "y", "z"],
    },
)
#: The better decision of a region and how often it is right. What is allowed in one zone is refused
#: in the other, so a rule of both zones is right half of the time: no mixture hides a bad region.
REGIONS: Mapping[tuple[str, str], tuple[int, float]] = {
    ("calm", "mail"): (ALLOW, 1.0),
    ("calm", "files"): (REFUSE, 1.0),
    ("calm", "web"): (ALLOW, 0.98),
    ("calm", "pay"): (REFUSE, 0.98),
    ("murky", "mail"): (REFUSE, 0.95),
    ("murky", "files"): (ALLOW, 0.95),
    ("murky", "web"): (REFUSE, 0.93),
    ("murky", "pay"): (ALLOW, 0.90),
}
#: Every field has `unknown` first, which never occurs here.
ZONES, TOOLS = (SCHEMA.fields[at].values[1:] for at in (0, 1))


def precision(rule: Rule) -> float:
    """The true precision of a rule: all combinations of values are equally frequent."""
    right = regions = 0.0
    for (zone, tool), (decision, share) in REGIONS.items():
        region = (SCHEMA.fields[0].mask([zone]), SCHEMA.fields[1].mask([tool]))
        if rule.masks[0] & region[0] and rule.masks[1] & region[1]:
            agrees = decision == (ALLOW if rule.decision == "allow" else REFUSE)
            right += share if agrees else 1.0 - share
            regions += 1.0
    return right / regions


def world(seed: int, events: int) -> EventTable:
    """Independent events with independent labels."""
    random = np.random.default_rng([seed, 8])
    codes = np.column_stack(
        [random.integers(1, len(field.values), events) for field in SCHEMA.fields]
    ).astype(np.int8)
    better = np.array([[REGIONS[zone, tool][0] for tool in TOOLS] for zone in ZONES])
    share = np.array([[REGIONS[zone, tool][1] for tool in TOOLS] for zone in ZONES])
    best = better[codes[:, 0] - 1, codes[:, 1] - 1]
    right = random.random(events) < share[codes[:, 0] - 1, codes[:, 1] - 1]
    labels = np.where(right, best, ALLOW + REFUSE - best).astype(np.int8)
    return EventTable(SCHEMA, tuple(f"e{at}" for at in range(events)), codes, labels)
