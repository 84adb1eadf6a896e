"""Evidence-gated authority: which verified rules may decide.

A mode is made of components joined by `+`; each settles one or more of these axes, and two that
settle the same one cannot be joined:

- *evidence*: which labelled examples count for a rule, by when they came.
- *test*: when they suffice.
- *prior*: what is believed of a rule before its evidence.
- *part*: which share of the examples may count at all.
- *gate*: whether evidence is asked for at all.

- `paper`: all examples; posterior Beta(a + s, b + c) over the rule's precision, active when
  P(precision >= target) >= confidence; the prior of the settings. Settles everything.
- `prospective` (evidence): only examples that came after the rule was proposed.
- `held-out` (part): rules are searched on one half of the examples and judged on the other.
- `noise-aware` (test): the share of wrong feedback is estimated, and the rule's precision on true
  labels is judged (`vepa.evolution.standing`).
- `early` (prior): a committee of learners may vouch for a rule, by few examples and never by more
  than feedback has shown.
- `ungated` (gate): every verified rule may decide at once; the ablation of the gate, for
  experiments.
- `anytime` (evidence, test, prior, gate): an e-process against precision <= target on the examples
  after the proposal; for each rule the chance of ever becoming active wrongly is at most `ERROR`.

What a mode does not settle is as in `paper`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from vepa.errors import SettingError, Where
from vepa.policy.rule import Evidence, Rule, RuleDecision

__all__ = [
    "COMPONENTS",
    "DEFAULT",
    "Authority",
    "Component",
    "Threshold",
    "authority",
    "log_wealth",
    "posterior",
]


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
Axis = Literal["evidence", "test", "prior", "part", "gate"]

#: Chance that `anytime` ever gives authority to a rule that is not as precise as asked.
ERROR = 0.05
#: The bets of the e-process: precision -> share of the stake. Half of it is on a spotless rule,
#: which needs the fewest examples; the rest still wins when some contradict.
BETS: Mapping[float, float] = {1.0: 0.5, 0.995: 0.125, 0.99: 0.125, 0.98: 0.125, 0.97: 0.125}


@dataclass(frozen=True, slots=True)
class Component:
    """One part of an authority mode.

    Attributes
    ----------
    axes
        What it settles.
    counts, suffices
        Which examples count, and the test; None leaves them as they are.
    corrects, vouches, parts
        Whether wrong feedback is corrected for, a committee may vouch for a rule, and the examples
        are parted into those for the search and those for authority.
    gates
        False where no evidence is asked for at all.
    """

    axes: frozenset[Axis]
    counts: Counts | None = None
    suffices: Suffices | None = None
    corrects: bool = False
    vouches: bool = False
    parts: bool = False
    gates: bool = True


def _beta_test(evidence: Evidence, threshold: Threshold) -> bool:
    found = posterior(evidence.support, evidence.contradictions, threshold.target, threshold.prior)
    return found >= threshold.confidence


def _anytime_test(evidence: Evidence, threshold: Threshold) -> bool:
    wealth = log_wealth(evidence.support, evidence.contradictions, threshold.target)
    return wealth >= -math.log(ERROR)


def _all_known(example: int, rule: int) -> bool:
    del example, rule  # whenever it came, whenever the rule was proposed
    return True


def _after_proposal(example: int, rule: int) -> bool:
    return example > rule


#: Name of a mode's component -> what it settles.
COMPONENTS: Mapping[str, Component] = {
    "paper": Component(
        frozenset({"evidence", "test", "prior", "part", "gate"}),
        counts=_all_known,
        suffices=_beta_test,
    ),
    "prospective": Component(frozenset({"evidence"}), counts=_after_proposal),
    "held-out": Component(frozenset({"part"}), parts=True),
    "noise-aware": Component(frozenset({"test"}), suffices=_beta_test, corrects=True),
    "early": Component(frozenset({"prior"}), vouches=True),
    "ungated": Component(frozenset({"gate"}), gates=False),
    "anytime": Component(
        frozenset({"evidence", "test", "prior", "gate"}),
        counts=_after_proposal,
        suffices=_anytime_test,
    ),
}
#: What `default` stands for: chosen by measurement, see docs/authority.md.
DEFAULT = "noise-aware"


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
    corrects, vouches, parts, gates
        See `Component`. What they ask for needs more than counts: `vepa.evolution.standing`.
    thresholds
        Settings by decision; `allow` and `refuse` may differ.
    """

    name: str
    counts: Counts
    suffices: Suffices
    corrects: bool = False
    vouches: bool = False
    parts: bool = False
    gates: bool = True
    thresholds: Mapping[RuleDecision, Threshold] = field(
        default_factory=lambda: {"allow": Threshold(), "refuse": Threshold()}
    )

    def active(self, decision: RuleDecision, evidence: Evidence) -> bool:
        """Whether a rule of `decision` with this evidence may decide.

        A probability that the evidence carries is taken as it is; else the counts are tested.
        """
        if not self.gates:
            return True
        threshold = self.thresholds[decision]
        if evidence.probability is not None:
            return evidence.probability >= threshold.confidence
        return self.suffices(evidence, threshold)

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
    """The authority of a mode such as `paper` or `noise-aware+prospective`.

    Raises
    ------
    SettingError
        For an unknown component, or for two that settle the same axis.
    """
    names = (DEFAULT if mode == "default" else mode).split("+")
    found: dict[str, Component] = {}
    settled: dict[Axis, str] = {}
    for name in names:
        part = COMPONENTS.get(name)
        if part is None:
            raise SettingError(
                f"{name!r} is no authority mode",
                where=Where(field="authority"),
                remedy=f"`default`, or join with +: {', '.join(COMPONENTS)}",
            )
        for axis in sorted(part.axes):
            if axis in settled:
                raise SettingError(
                    f"{mode!r} joins {settled[axis]!r} and {name!r}, which settle the same thing",
                    where=Where(field="authority"),
                    remedy=f"both say which {axis} holds: leave one of them out",
                )
            settled[axis] = name
        found[name] = part
    parts = list(found.values())
    settings: dict[RuleDecision, Threshold] = {"allow": Threshold(), "refuse": Threshold()}
    settings.update(thresholds or {})
    return Authority(
        "+".join(found),
        next((part.counts for part in parts if part.counts), _all_known),
        next((part.suffices for part in parts if part.suffices), _beta_test),
        any(part.corrects for part in parts),
        any(part.vouches for part in parts),
        any(part.parts for part in parts),
        all(part.gates for part in parts),
        settings,
    )


@lru_cache(maxsize=100_000)
def log_wealth(support: int, contradictions: int, target: float) -> float:
    """Logarithm of the e-process against precision <= `target`, from its counts.

    The stake is spread over bets on precisions above the target (`BETS`); a bet on theta multiplies
    by theta / target with each support and by (1 - theta) / (1 - target) with each contradiction.
    Under any precision up to the target the expected wealth never rises, so by Ville's inequality
    it ever reaches 1 / alpha with probability alpha at most, however often one looks.
    """
    bets = {theta: stake for theta, stake in BETS.items() if theta > target} or {1.0: 1.0}
    total = sum(bets.values())
    terms = []
    for theta, stake in bets.items():
        if contradictions and theta == 1.0:
            continue
        lost = math.log1p(-theta) - math.log1p(-target) if contradictions else 0.0
        gained = math.log(theta) - math.log(target)
        terms.append(math.log(stake / total) + support * gained + contradictions * lost)
    if not terms:
        return -math.inf
    top = max(terms)
    return top + math.log(sum(math.exp(term - top) for term in terms))


@lru_cache(maxsize=100_000)
def posterior(
    support: float, contradictions: float, target: float, prior: tuple[float, float] = (1.0, 1.0)
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
