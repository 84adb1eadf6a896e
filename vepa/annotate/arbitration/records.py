"""What stands in the queue, and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from vepa.annotate.asking import Failure
from vepa.annotate.items import StepItem
from vepa.corpus.labels import Judgement, Label
from vepa.corpus.trajectory import Trajectory

__all__ = ["Case", "Claim", "Dispute", "Given", "Quality", "QueueState"]


class Dispute(BaseModel):
    """A step to be settled, as it is put into the queue.

    Attributes
    ----------
    trajectory, step
        Of the first step with this content; people who settle it never see them.
    item
        Content hash.
    shown
        The steps up to this one, as the annotators saw them.
    reasons
        `decision`, `triggers`, `failure`.
    labels, failures
        What the annotators said; hidden until one's own verdict is in.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    trajectory: str
    step: int
    item: str
    shown: Trajectory
    reasons: list[str]
    labels: list[Label] = []
    failures: list[Failure] = []


@dataclass(frozen=True)
class Case:
    """A step as whoever settles it is shown it: nobody's opinion, nothing of where it comes from.

    Attributes
    ----------
    item
        Content hash.
    step
        Index of the judged step, the last one of `shown`.
    shown
        The steps up to it.
    """

    item: str
    step: int
    shown: Trajectory

    @property
    def as_item(self) -> StepItem:
        """For readers and checks that take a step item."""
        return StepItem("", self.step, self.shown)


@dataclass(frozen=True)
class Claim:
    """A case lent to one person until a moment.

    Attributes
    ----------
    token
        What a verdict is given with; of this claim alone.
    case
        What is to be settled.
    who
        To whom it is lent.
    until
        Seconds since the epoch.
    before
        One's own undone judgement of it, to start from.
    """

    token: str
    case: Case
    who: str
    until: float
    before: Judgement | None = None


@dataclass(frozen=True)
class Given:
    """A verdict that was given.

    Attributes
    ----------
    number
        Counts all verdicts of the queue.
    verdict
        As a label: `annotator` is who, `at` when, `note` why.
    undone
        When it was taken back; None when it was not.
    gold
        Whether it is about a step whose answer was known: it settles nothing.
    """

    number: int
    verdict: Label
    undone: str | None = None
    gold: bool = False


@dataclass(frozen=True)
class Quality:
    """How somebody did on steps whose answer is known.

    Attributes
    ----------
    seen
        Gold steps that they judged.
    decisions
        Of these, with the known decision.
    triggers
        Mean overlap (Jaccard) with the known set of triggers; 1 where both are empty.
    """

    seen: int
    decisions: int
    triggers: float


@dataclass(frozen=True)
class QueueState:
    """The queue at a moment.

    Attributes
    ----------
    total, open, leased, settled
        Disputes; `leased` are among the open ones.
    gold
        Steps with a known answer.
    by
        Who -> verdicts that stand.
    reasons
        Reason -> open disputes that have it.
    quality
        Who -> how they did on gold.
    """

    total: int
    open: int
    leased: int
    settled: int
    gold: int
    by: Mapping[str, int] = field(default_factory=dict)
    reasons: Mapping[str, int] = field(default_factory=dict)
    quality: Mapping[str, Quality] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "total": self.total,
            "open": self.open,
            "leased": self.leased,
            "settled": self.settled,
            "gold": self.gold,
            "by": dict(self.by),
            "reasons": dict(self.reasons),
            "quality": {
                who: {"seen": q.seen, "decisions": q.decisions, "triggers": q.triggers}
                for who, q in self.quality.items()
            },
        }


def gold_score(known: Sequence[Judgement], given: Sequence[Judgement]) -> Quality:
    """Hold judgements against known ones, in the same order."""
    pairs = list(zip(known, given, strict=True))
    return Quality(
        seen=len(pairs),
        decisions=sum(one.decision == other.decision for one, other in pairs),
        triggers=sum(_overlap(one, other) for one, other in pairs) / max(1, len(pairs)),
    )


def _overlap(one: Judgement, other: Judgement) -> float:
    a, b = set(one.triggers), set(other.triggers)
    return 1.0 if a == b else len(a & b) / len(a | b)
