"""What readers see differently, and what stands in the end.

Two readers agree on a step when they give the same decision and the same set of triggers. Anything
else, a failure included, is a dispute: an arbiter or a person settles it, and a person's word goes
before an arbiter's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vepa.annotate.asking import Failure, Judged
from vepa.corpus.labels import Judgement, Label, Origin
from vepa.corpus.settled import SettledLabel

__all__ = ["Opinions", "Settlement", "differences", "opinions_of", "settle", "weakest"]

#: From the weakest on: how much a reader of a kind is worth.
_ORIGINS: tuple[Origin, ...] = ("scripted", "recorded", "model", "person")


@dataclass
class Opinions:
    """What was said about one content.

    Attributes
    ----------
    item
        Its hash.
    steps
        (trajectory, step) of every step with this content.
    labels, failures
        By annotator; the steps' places in them are those of the first.
    """

    item: str
    steps: list[tuple[str, int]] = field(default_factory=list)
    labels: dict[str, Label] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether two readers have been asked, with or without success."""
        return len(self.labels.keys() | self.failures.keys()) >= 2

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it has to be settled: `decision`, `triggers`, `failure`; empty for none."""
        if not self.complete:
            return ()
        found = ["failure"] if self.failures.keys() - self.labels.keys() else []
        judgements = [label.judgement for label in self.labels.values()]
        for other in judgements[1:]:
            found += [name for name in differences(judgements[0], other) if name not in found]
        return tuple(found)


@dataclass(frozen=True)
class Settlement:
    """What stands, and what does not yet.

    Attributes
    ----------
    settled
        One a step.
    open
        Disputes that nobody settled, by content.
    unjudged
        Contents that were not put to both readers, as when a budget ended.
    """

    settled: Sequence[SettledLabel]
    open: Sequence[Opinions]
    unjudged: Sequence[Opinions]


def differences(one: Judgement, other: Judgement) -> list[str]:
    """What makes two judgements a dispute: `decision`, `triggers`."""
    found = ["decision"] if one.decision != other.decision else []
    return [*found, "triggers"] if set(one.triggers) != set(other.triggers) else found


def opinions_of(judged: Iterable[Judged]) -> dict[str, Opinions]:
    """Labels and failures by content, in the order of their first steps.

    Parameters
    ----------
    judged
        Of all steps and readers. A reader's label goes before its failure.
    """
    found: dict[str, Opinions] = {}
    for each in judged:
        opinions = found.setdefault(each.item, Opinions(each.item))
        place = (each.trajectory, each.step)
        if place not in opinions.steps:
            opinions.steps.append(place)
        if isinstance(each, Label):
            opinions.labels.setdefault(each.annotator, each)
        else:
            opinions.failures.setdefault(each.annotator, each)
    return found


def settle(opinions: Iterable[Opinions], verdicts: Mapping[str, Label]) -> Settlement:
    """What stands about every step.

    Parameters
    ----------
    opinions
        Of `opinions_of`.
    verdicts
        Content hash -> the verdict that stands in the queue. A person's is taken even where the
        readers agree; an arbiter's only where they do not.
    """
    settled: list[SettledLabel] = []
    open_: list[Opinions] = []
    unjudged: list[Opinions] = []
    places: dict[str, int] = {}
    for each in opinions:
        for trajectory, _ in each.steps:
            places.setdefault(trajectory, len(places))
        verdict = verdicts.get(each.item)
        disputed = bool(each.reasons)
        if verdict is not None and (disputed or verdict.origin == "person"):
            settled += _given(each, verdict)
        elif disputed:
            open_.append(each)
        elif each.complete:
            settled += _agreed(each)
        else:
            unjudged.append(each)
    settled.sort(key=lambda label: (places[label.trajectory], label.step))
    return Settlement(settled, open_, unjudged)


def weakest(origins: Iterable[Origin]) -> Origin:
    """The origin that says least for a label."""
    return min(origins, key=_ORIGINS.index)


def _agreed(opinions: Opinions) -> list[SettledLabel]:
    labels = list(opinions.labels.values())
    # max keeps the first of several: the order of the panel.
    first = max(labels, key=lambda label: label.judgement.confidence)
    others = [label for label in labels if label is not first]
    differs = [
        name
        for name in ("primary", "risk_source", "harm", "severity")
        if any(getattr(other.judgement, name) != getattr(first.judgement, name) for other in others)
    ]
    return [
        SettledLabel(
            trajectory=trajectory,
            step=step,
            item=opinions.item,
            how="agreed",
            origin=weakest(label.origin for label in labels),
            by=[label.annotator for label in (first, *others)],
            taxonomy=first.taxonomy,
            judgement=first.judgement,
            differs=differs,
        )
        for trajectory, step in opinions.steps
    ]


def _given(opinions: Opinions, verdict: Label) -> list[SettledLabel]:
    return [
        SettledLabel(
            trajectory=trajectory,
            step=step,
            item=opinions.item,
            how="person" if verdict.origin == "person" else "arbiter",
            origin=verdict.origin,
            by=[verdict.annotator],
            taxonomy=verdict.taxonomy,
            judgement=verdict.judgement,
            at=verdict.at,
            note=verdict.note,
        )
        for trajectory, step in opinions.steps
    ]
