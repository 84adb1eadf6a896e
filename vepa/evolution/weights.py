"""What each event weighs in a search for rules: labels as given, or as they are believed to be."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from vepa.corpus.events import EventTable
from vepa.evolution.beliefs import believe
from vepa.evolution.ground import Ground, Weights
from vepa.policy.rule import RuleDecision

__all__ = ["DECISIONS", "Weighed", "weigh"]

DECISIONS: tuple[RuleDecision, RuleDecision] = ("allow", "refuse")
#: Weight of a seen event without feedback, and of one that is imagined.
SEEN, IMAGINED = 0.5, 0.125


@dataclass(frozen=True, eq=False)
class Weighed:
    """Distinct events, and what speaks for each decision on them.

    Attributes
    ----------
    ground
        The events: labelled ones, seen ones without feedback and, where labels are believed
        rather than taken, imagined ones.
    allow, refuse
        Weight of the events whose label is `allow` and `refuse`, shape (ground.size,).
    """

    ground: Ground
    allow: Weights
    refuse: Weights

    def of(self, decision: RuleDecision) -> Weights:
        """The weights that speak for a decision."""
        return self.allow if decision == "allow" else self.refuse


@lru_cache(maxsize=4)
def weigh(table: EventTable, context: EventTable, believed: bool) -> Weighed:
    """Weigh the events of an archive.

    Parameters
    ----------
    table, context
        Labelled events, and those seen without feedback.
    believed
        Take each label with the probability that it is true, and imagine events near seen ones;
        else labels count as feedback gave them.
    """
    known = believe(table, context, believed)
    codes = [table.codes, context.codes]
    refuse, weights = (
        [known.true, known.context],
        [np.ones(len(table)), np.full(len(context), SEEN)],
    )
    if believed:
        codes.append(known.imagined_codes)
        refuse.append(known.imagined)
        # However many are imagined, together they weigh the same share of what was seen.
        seen = len(table) + len(context)
        heavier = max(1, seen // max(1, len(known.imagined)))
        weights.append(np.full(len(known.imagined), IMAGINED * heavier))
    ground = Ground(table.schema, np.concatenate(codes))
    share, weight = np.concatenate(refuse), np.concatenate(weights)
    return Weighed(ground, ground.gathered(weight * (1.0 - share)), ground.gathered(weight * share))
