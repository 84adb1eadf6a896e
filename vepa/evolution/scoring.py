"""What a candidate policy is worth on the archives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from vepa.evolution.archive import Archive
from vepa.evolution.beliefs import believe
from vepa.evolution.weights import weigh
from vepa.policy.bitsets import ExampleIndex, unpack
from vepa.policy.rule import Rule

__all__ = ["BelievedScorer", "Outcome", "Score", "Scorer", "error_cost", "macro_f1"]

#: Right decisions that a wrong one outweighs when a policy is picked by belief, times `error_cost`.
SELECTION_COST = 7.0
#: `error_cost` is `COST_EXAMPLES` / examples, within these bounds.
COST_EXAMPLES, COST_RANGE = 250.0, (0.6, 1.15)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Examples by what a policy decides on them, as bit sets.

    Attributes
    ----------
    allowed, refused
        Decided events; no event is in both.
    """

    allowed: int
    refused: int

    def right(self, allow: int, refuse: int) -> int:
        """The examples decided rightly, given those labelled `allow` and `refuse`."""
        return self.allowed & allow | self.refused & refuse


@dataclass(frozen=True, slots=True)
class Score:
    """Scores of a candidate; an abstention counts as an error.

    Attributes
    ----------
    repair
        Share of the failures that it decides rightly.
    preservation
        Share of the correct examples that it still decides rightly.
    macro_f1
        Over failures and correct examples together.
    objective
        `macro_f1` minus the weighted share of correct examples that are lost (J).
    """

    repair: float
    preservation: float
    macro_f1: float
    objective: float

    def dominates(self, other: Score) -> bool:
        """True when at least as good in repair and preservation, and better in one."""
        return (
            self.repair >= other.repair
            and self.preservation >= other.preservation
            and (self.repair > other.repair or self.preservation > other.preservation)
        )

    def to_dict(self) -> dict[str, float]:
        """The score as JSON data."""
        return {
            "repair": self.repair,
            "preservation": self.preservation,
            "macro_f1": self.macro_f1,
            "objective": self.objective,
        }


class Scorer:
    """Scores rule sets on an archive.

    Parameters
    ----------
    archive
        All examples, whatever their weights; never subsampled.
    weight
        Weight of lost correct examples (lambda).
    clash
        What an event that both decisions match gets; a verified policy has none.
    """

    def __init__(
        self, archive: Archive, weight: float, clash: Literal["abstain", "refuse"] = "abstain"
    ):
        self.index, self.count = archive.index, archive.count
        self.allow, self.refuse = archive.allow, archive.refuse
        self.failures = archive.failures
        self.correct = self.index.all & ~self.failures
        self.weight = weight
        self.clash = clash

    def outcome(self, rules: Sequence[Rule]) -> Outcome:
        """What the rules decide together, whatever their standing."""
        return outcome(self.index, rules, self.clash)

    def score(self, rules: Sequence[Rule]) -> Score:
        """The score of the rules together, whatever their standing."""
        found = self.outcome(rules)
        right = found.right(self.allow, self.refuse)
        repair = self._share(right & self.failures, self.failures)
        preservation = self._share(right & self.correct, self.correct)
        f1 = macro_f1(found, self.allow, self.refuse, self.count)
        return Score(repair, preservation, f1, f1 - self.weight * (1.0 - preservation))

    def _share(self, part: int, whole: int) -> float:
        size = self.count(whole)
        return self.count(part) / size if size else 1.0


class BelievedScorer(Scorer):
    """Scores rule sets by what labels are believed to be (`vepa.evolution.beliefs`).

    A wrong decision costs `cost` right ones, and each rule one; seen and imagined events count too,
    with the weights of the search. Repair and preservation are the mean gain on failures and on
    correct examples: the probability that the decision is the true label, less the cost of its
    being wrong; nothing for an abstention. Else a bold policy would always dominate a careful one.
    The objective is the utility as a share of what could be had. Macro-F1, by the labels that
    feedback gave, is told and not sought.

    Parameters
    ----------
    archive
        The examples that the committee has looked at: all of them, or a sample.
    cost
        Right decisions that one wrong decision outweighs; `error_cost` by default.
    clash
        As for `Scorer`.
    """

    def __init__(
        self,
        archive: Archive,
        cost: float | None = None,
        clash: Literal["abstain", "refuse"] = "abstain",
    ):
        super().__init__(archive, 0.0, clash)
        self.cost = SELECTION_COST * error_cost(len(archive)) if cost is None else cost
        self.weighed = weigh(archive.table, archive.context, True)
        self.true = believe(archive.table, archive.context, True).true  # as `weigh` asks: once
        self.size = len(archive)

    def score(self, rules: Sequence[Rule]) -> Score:
        """The score of the rules together, whatever their standing."""
        found = self.outcome(rules)
        refused, allowed = unpack(found.refused, self.size), unpack(found.allowed, self.size)
        right = self.true * refused + (1.0 - self.true) * allowed
        gain = right - self.cost * ((refused | allowed) - right)
        failed = unpack(self.failures, self.size)
        f1 = macro_f1(found, self.allow, self.refuse)
        return Score(
            _mean(gain[failed]), _mean(gain[~failed]), f1, self._utility(rules, len(rules))
        )

    def _utility(self, rules: Sequence[Rule], count: int) -> float:
        weighed = self.weighed
        if not weighed.ground.size:
            return 0.0
        found = outcome(weighed.ground.index, rules, self.clash)
        gain = 0.0
        for decided, wanted, unwanted in (
            (found.allowed, weighed.allow, weighed.refuse),
            (found.refused, weighed.refuse, weighed.allow),
        ):
            members = unpack(decided, weighed.ground.size)
            gain += float(wanted[members].sum()) - self.cost * float(unwanted[members].sum())
        return (gain - count) / float(weighed.allow.sum() + weighed.refuse.sum())


def error_cost(examples: int) -> float:
    """How much dearer an error is while little is known, and cheaper later (docs/authority.md)."""
    low, high = COST_RANGE
    return min(high, max(low, COST_EXAMPLES / max(examples, 1)))


def outcome(
    index: ExampleIndex, rules: Sequence[Rule], clash: Literal["abstain", "refuse"] = "abstain"
) -> Outcome:
    """What rules decide together on indexed examples."""
    allowed = refused = 0
    for rule in rules:
        if rule.decision == "allow":
            allowed |= index.covered(rule.masks)
        else:
            refused |= index.covered(rule.masks)
    both = allowed & refused
    return Outcome(allowed & ~both, refused & ~both if clash == "abstain" else refused)


def macro_f1(
    found: Outcome, allow: int, refuse: int, count: Callable[[int], int] = int.bit_count
) -> float:
    """Macro-averaged F1 of the two decisions; an abstention is a miss of its true class."""
    total = 0.0
    for decided, labelled in ((found.allowed, allow), (found.refused, refuse)):
        hits = count(decided & labelled)
        sizes = count(decided) + count(labelled)
        total += 2.0 * hits / sizes if sizes else 0.0
    return total / 2.0


def _mean(values: npt.NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else 1.0
