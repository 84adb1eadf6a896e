"""Figures of two annotators: estimates with intervals, tables, and what they are broken down by."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = [
    "Binary",
    "Estimate",
    "Nominal",
    "Overall",
    "Pair",
    "Part",
    "PerStep",
    "ServiceSlice",
    "Share",
    "SourceSlice",
]


class Part(BaseModel):
    """Part of an agreement."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Estimate(Part):
    """A figure with its bootstrap interval.

    Attributes
    ----------
    value
        None where the figure is not defined; `reason` says why.
    low, high
        Ends of the 95 % interval; None where there is none.
    undefined
        Resamples in which the figure is not defined; they play no part in the interval.
    reason
        Why a figure or its interval is missing.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    undefined: int = 0
    reason: str | None = None


class Binary(Part):
    """One thing that each of two annotators says or does not say about an item.

    Attributes
    ----------
    key
        A trigger, a risk source, or `refuse`.
    both, only_a, only_b, neither
        Items.
    prevalence_a, prevalence_b, prevalence
        Share of items of which each says it, and the mean of the two; None without items.
    kappa, raw, positive, negative
        Cohen's κ; share of items on which they agree; of all that they say (or leave unsaid), the
        share that both do.
    unstable
        Whether one of them says it of fewer than five items.
    """

    key: str
    both: int
    only_a: int
    only_b: int
    neither: int
    prevalence_a: float | None
    prevalence_b: float | None
    prevalence: float | None
    kappa: Estimate
    raw: Estimate
    positive: Estimate
    negative: Estimate
    unstable: bool

    @property
    def items(self) -> int:
        """All of them."""
        return self.both + self.only_a + self.only_b + self.neither


class Nominal(Part):
    """One key of several that each of two annotators names.

    Attributes
    ----------
    key
        What is named: `primary`, `risk_source`, …
    items
        Where both name one.
    categories
        Keys, in order.
    counts
        Items by what a (rows) and b (columns) named, shape (categories, categories).
    kappa, raw
        As in `Binary`.
    """

    key: str
    items: int
    categories: list[str]
    counts: list[list[int]]
    kappa: Estimate
    raw: Estimate


class PerStep(Part):
    """The same figures when a content counts as often as it occurs.

    Attributes
    ----------
    steps
        How many.
    kappa, raw
        On the decision.
    alpha_sets
        α with MASI distance.
    kappa_triggers
        Trigger -> κ.
    """

    steps: int
    kappa: Estimate
    raw: float
    alpha_sets: Estimate
    kappa_triggers: dict[str, float | None]


class ServiceSlice(Part):
    """Agreement on the calls of one service.

    Attributes
    ----------
    service
        Environment of the judged call; `(answers)` and `(other calls)` for steps without one.
    decision
        On refusing.
    alpha_sets
        α with MASI distance.
    """

    service: str
    decision: Binary
    alpha_sets: Estimate


class SourceSlice(Part):
    """Agreement on one risk source.

    Attributes
    ----------
    source
        Its key.
    named
        Whether each names it, over all items.
    either
        Items of which at least one names it.
    same_decision
        Of those, the share with the same decision.
    """

    source: str
    named: Binary
    either: int
    same_decision: Estimate


class Pair(Part):
    """How two annotators agree.

    Attributes
    ----------
    a, b
        Their names.
    heading
        What they are.
    one_family
        Whether both are passes of one model family; None when that is not known.
    items, steps, episodes
        Contents that both judged, the steps that have them, and the episodes that they come from.
    decision
        On refusing.
    triggers
        One a trigger.
    nominal
        `primary` (with none as a category), and where both set a trigger: `primary_where_both`,
        `risk_source`, `harm`, `severity`.
    alpha_sets, alpha_decision
        Krippendorff's α of sets of triggers (MASI) and of the decision (nominal).
    per_step
        The same per step.
    services, sources
        Broken down; without trajectories, no services.
    """

    a: str
    b: str
    heading: str
    one_family: bool | None
    items: int
    steps: int
    episodes: int
    decision: Binary
    triggers: list[Binary]
    nominal: list[Nominal]
    alpha_sets: Estimate
    alpha_decision: Estimate
    per_step: PerStep
    services: list[ServiceSlice]
    sources: list[SourceSlice]

    @property
    def name(self) -> str:
        """`a` and `b`."""
        return f"{self.a} and {self.b}"


class Overall(Part):
    """Krippendorff's α over more than two annotators at once.

    Attributes
    ----------
    annotators
        Their names.
    items
        Contents that at least two of them judged.
    alpha_sets, alpha_decision
        As in `Pair`.
    """

    annotators: list[str]
    items: int
    alpha_sets: Estimate
    alpha_decision: Estimate


class Share(Part):
    """So many of so many, with a 95 % interval (Wilson's).

    Attributes
    ----------
    count, of
        Numbers.
    value, low, high
        None where `of` is 0.
    """

    count: int
    of: int
    value: float | None
    low: float | None
    high: float | None
