"""Evidence-gated authority: which verified rules may decide.

A mode is made of components joined by `+`, each of which settles one axis:

- *evidence*: which labelled examples count for a rule. `paper`: all that are known, those from
  before the rule was proposed included. `prospective`: only those that came after it.
- *test*: when the counts suffice. `paper`: posterior Beta(a + s, b + c) over the rule's precision,
  active when P(precision >= target) >= confidence.

Two components that settle the same axis cannot be joined. A later mode is one entry in
`COMPONENTS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from vepa.errors import SettingError, Where
from vepa.policy.rule import Evidence, Rule, RuleDecision

__all__ = ["COMPONENTS", "Authority", "Component", "Threshold", "authority", "posterior"]


@dataclass(frozen=True, slots=True)
class Threshold:
    """What a rule of one decision must show.

    Attributes
    ----------
    target
        Precision that the rule should have, in (0, 1).
    confidence
        Posterior probability of it that suffices, in (0, 1).
    prior
        Beta prior (a, b) over the precision.
    """

    target: float = 0.95
    confidence: float = 0.5
    prior: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        for name in ("target", "confidence"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise SettingError(
                    f"{name} must lie between 0 and 1", where=Where(field=f"authority.{name}")
                )
        if min(self.prior) <= 0:
            raise SettingError(
                "a Beta prior needs two positive numbers", where=Where(field="authority.prior")
            )


#: (round of the example, round after which the rule was proposed) -> does it count?
Counts = Callable[[int, int], bool]
#: (evidence, threshold) -> does it suffice?
Suffices = Callable[[Evidence, Threshold], bool]


@dataclass(frozen=True, slots=True)
class Component:
    """One part of an authority mode; `None` leaves its axis to another component."""

    counts: Counts | None = None
    suffices: Suffices | None = None


def _beta_test(evidence: Evidence, threshold: Threshold) -> bool:
    found = posterior(evidence.support, evidence.contradictions, threshold.target, threshold.prior)
    return found >= threshold.confidence


def _all_known(example: int, rule: int) -> bool:
    del example, rule  # whenever it came, whenever the rule was proposed
    return True


def _after_proposal(example: int, rule: int) -> bool:
    return example > rule


#: Name of a mode's component -> the axes that it settles.
COMPONENTS: Mapping[str, Component] = {
    "paper": Component(counts=_all_known, suffices=_beta_test),
    "prospective": Component(counts=_after_proposal),
}


@dataclass(frozen=True)
class Authority:
    """A mode with its settings: counts evidence and decides on standing.

    Attributes
    ----------
    name
        The mode, as written.
    counts
        Which examples count for a rule, by the rounds of both.
    suffices
        Whether the evidence is enough.
    thresholds
        Settings by decision; `allow` and `refuse` may differ.
    """

    name: str
    counts: Counts
    suffices: Suffices
    thresholds: Mapping[RuleDecision, Threshold] = field(
        default_factory=lambda: {"allow": Threshold(), "refuse": Threshold()}
    )

    def active(self, decision: RuleDecision, evidence: Evidence) -> bool:
        """Whether a rule of `decision` with this evidence may decide."""
        return self.suffices(evidence, self.thresholds[decision])

    def needed(self, decision: RuleDecision, contradictions: int) -> int | None:
        """The fewest supports with which a rule is active; None when a million does not do."""
        low, high = -1, 1
        while not self.active(decision, Evidence(high, contradictions)):
            if high >= 1_000_000:
                return None
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            if self.active(decision, Evidence(middle, contradictions)):
                high = middle
            else:
                low = middle
        return high

    @property
    def retrospective(self) -> bool:
        """Whether examples from before a rule was proposed count for it."""
        return self.counts(1, 1)

    def judge(self, rule: Rule, evidence: Evidence) -> Rule:
        """The rule with this evidence and the standing that follows from it.

        A rule that a person holds stays inactive, whatever its evidence.
        """
        active = not rule.held and self.active(rule.decision, evidence)
        return rule.with_status("active" if active else "inactive", evidence)


def authority(
    mode: str = "default", thresholds: Mapping[RuleDecision, Threshold] | None = None
) -> Authority:
    """The authority of a mode such as `paper` or `prospective`; `default` is `paper`.

    Raises
    ------
    SettingError
        For an unknown component, or for two that settle the same axis.
    """
    names = ["paper" if name == "default" else name for name in mode.split("+")]
    counts: Counts | None = None
    suffices: Suffices | None = None
    for name in names:
        part = COMPONENTS.get(name)
        if part is None:
            raise SettingError(
                f"{name!r} is no authority mode",
                where=Where(field="authority"),
                remedy=f"join with +: {', '.join(COMPONENTS)}",
            )
        if (part.counts and counts) or (part.suffices and suffices):
            raise SettingError(
                f"{mode!r} joins modes that settle the same thing",
                where=Where(field="authority"),
                remedy="name one way to choose the evidence and one way to test it",
            )
        counts, suffices = part.counts or counts, part.suffices or suffices
    paper = COMPONENTS["paper"]
    final_counts, final_test = counts or paper.counts, suffices or paper.suffices
    assert final_counts is not None and final_test is not None
    settings: dict[RuleDecision, Threshold] = {"allow": Threshold(), "refuse": Threshold()}
    settings.update(thresholds or {})
    return Authority("+".join(names), final_counts, final_test, settings)


@lru_cache(maxsize=100_000)
def posterior(
    support: int, contradictions: int, target: float, prior: tuple[float, float] = (1.0, 1.0)
) -> float:
    """P(precision >= target) under Beta(a + support, b + contradictions).

    Examples
    --------
    >>> posterior(12, 0, 0.95) < 0.5 <= posterior(13, 0, 0.95)
    True
    """
    a, b = prior[0] + support, prior[1] + contradictions
    return _beta_cdf(b, a, 1.0 - target)


def _beta_cdf(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function I_x(a, b) (continued fraction, DLMF 8.17.22)."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _beta_cdf(b, a, 1.0 - x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    return front * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 + term * d
            c = 1.0 + term / c
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = c if abs(c) > tiny else tiny
            value *= d * c
        if abs(d * c - 1.0) < 1e-15:
            return value
    return value
