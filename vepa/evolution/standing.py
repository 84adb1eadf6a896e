"""The evidence of rules, and the authority that follows: what a mode asks beyond counts.

`noise-aware`: feedback is wrong with an unknown share rho. Two readings of the evidence are joined.
The first takes the counts as they are: a rule of precision theta agrees with feedback in a share
rho + (1 - 2 rho) theta of its examples, and rho is averaged over its posterior. It knows nothing of
single events, so it works from the first examples on, and tells a rule of .93 from one of .97 only
with very many. The second counts each example by the probability that its true label is the rule's
decision; it needs a committee that has learned. With n examples the second weighs n / (n + TRUST).
Neither lets a rule pass that feedback contradicts systematically: there the first fails.

`early`: the committee's view of what a rule covers counts as a few examples more, never as more
than feedback has shown.

Counts are of all examples. Where the committee has looked at a sample only, the second reading is
that of the sample, at the sample's own size n.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from vepa.evolution.beliefs import GRID, Beliefs, believe
from vepa.policy.authority import Authority, Threshold, posterior
from vepa.policy.bitsets import unpack
from vepa.policy.policy import Policy
from vepa.policy.rule import Evidence, Rule, RuleDecision

if TYPE_CHECKING:  # pragma: no cover
    from vepa.evolution.archive import Archive

__all__ = ["Standing", "born_of"]

#: Examples after which the second reading weighs as much as the first.
TRUST = 30.0
#: Examples that a committee may add under `early`.
VOUCHED = 6.0
#: A share of wrong feedback that is less likely than this is left out.
UNLIKELY = 1e-3


class Standing:
    """The evidence of rules on an archive under an authority.

    Parameters
    ----------
    archive
        The examples, or a sample of them.
    authority
        Which of them count, and when they suffice.

    Attributes
    ----------
    archive
        All examples, which are counted.
    seen
        Those that the committee has looked at.
    """

    def __init__(self, archive: Archive, authority: Authority):
        self.archive, self.seen, self.authority = archive.whole, archive.sampled(), authority
        self.beliefs: Beliefs | None = None
        if authority.corrects or authority.vouches:
            self.beliefs = believe(self.seen.table, self.seen.context, authority.corrects)
            self._rates = tuple(
                (float(weight), float(rho))
                for weight, rho in zip(self.beliefs.wrong, GRID, strict=True)
                if weight > UNLIKELY
            )
        self._known: dict[tuple[RuleDecision, tuple[int, ...]], Evidence] = {}
        self._right = {"allow": self.archive.allow, "refuse": self.archive.refuse}

    @property
    def wrong_feedback(self) -> float | None:
        """Estimated share of wrong feedback; None where the authority does not correct for it."""
        if self.beliefs is None or not self.authority.corrects:
            return None
        return round(self.beliefs.rate, 6)

    def evidence(self, rule: Rule) -> Evidence:
        """What counts for and against a rule."""
        members = self.archive.counted(self.authority, born_of(rule))
        return self.of(rule.decision, rule.masks, members)

    def of(
        self, decision: RuleDecision, masks: Sequence[int], members: int | None = None
    ) -> Evidence:
        """The evidence of a conjunction on the examples in a bit set; on all by default."""
        if members is not None:
            return self._of(decision, masks, members)
        key = (decision, tuple(masks))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._of(decision, masks, None)
        return found

    def _of(self, decision: RuleDecision, masks: Sequence[int], members: int | None) -> Evidence:
        covered = self.archive.index.covered(masks)
        if members is not None:
            covered &= members
        count = self.archive.count
        support = count(covered & self._right[decision])
        against = count(covered) - support
        if self.beliefs is None:
            return Evidence(support, against)
        rows = self._looked_at(masks, covered, members)
        return Evidence(support, against, self._probability(decision, rows, support, against))

    def _looked_at(
        self, masks: Sequence[int], covered: int, members: int | None
    ) -> npt.NDArray[np.bool_]:
        """Which of the examples that the committee has looked at are covered."""
        seen = self.seen
        if seen is self.archive:
            return unpack(covered, len(seen))
        found = unpack(seen.index.covered(masks), len(seen))
        if members is not None:
            found &= unpack(members, len(self.archive))[seen.places]
        return found

    def judge(self, rule: Rule) -> Rule:
        """The rule with its evidence and the standing that follows from it."""
        return self.authority.judge(rule, self.evidence(rule))

    def judged(self, policy: Policy) -> Policy:
        """The policy with evidence and standing of every rule brought up to date."""
        return policy.with_rules(self.judge(rule) for rule in policy.rules)

    def _probability(
        self,
        decision: RuleDecision,
        covered: npt.NDArray[np.bool_],
        support: int,
        against: int,
    ) -> float:
        """That the rule is as precise on true labels as its gate asks."""
        assert self.beliefs is not None
        rows = np.flatnonzero(covered)
        true, claim = self.beliefs.true[rows].sum(), self.beliefs.claimed[rows].sum()
        size = len(rows)
        if decision == "allow":
            true, claim = size - true, size - claim
        vouched = min(VOUCHED, size) if self.authority.vouches and size else 0.0
        share = float(claim) / size if size else 0.0
        threshold = self.authority.thresholds[decision]
        extra = round(4.0 * vouched * share) / 4.0
        first = _by_counts(support + extra, against + vouched - extra, threshold, self._rates)
        if not self.authority.corrects:
            return round(first, 6)
        cleaned = float(true) + extra
        second = posterior(cleaned, size + vouched - cleaned, threshold.target, threshold.prior)
        weight = size / (size + TRUST)
        return round((1.0 - weight) * first + weight * second, 6)


def born_of(rule: Rule) -> int:
    """The round in which a rule was proposed; 0 where nothing says so."""
    return rule.provenance.round if rule.provenance and rule.provenance.round else 0


@lru_cache(maxsize=100_000)
def _by_counts(
    support: float, against: float, threshold: Threshold, rates: tuple[tuple[float, float], ...]
) -> float:
    """P(precision >= target) by the counts, averaged over the share of wrong feedback."""
    total = sum(weight for weight, _ in rates)
    found = 0.0
    for weight, rho in rates:
        agreement = rho + (1.0 - 2.0 * rho) * threshold.target
        found += weight * posterior(support, against, agreement, threshold.prior)
    return found / total
