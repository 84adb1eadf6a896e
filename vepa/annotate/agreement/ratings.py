"""From labels to ratings: distinct contents, who said what about them, which of them count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from vepa.annotate.agreement.records import Annotator, Scripted
from vepa.corpus.labels import Judgement, Label
from vepa.corpus.ordering import natural_key
from vepa.errors import InputError, Where

__all__ = ["Rated", "Ratings", "ratings_of"]

Place = tuple[str, int]


@dataclass
class Rated:
    """One content.

    Attributes
    ----------
    item
        Its hash.
    places
        (trajectory, step) of every step that has it.
    said
        Annotator -> judgement.
    origins
        Kinds of readers.
    """

    item: str
    places: set[Place] = field(default_factory=set)
    said: dict[str, Judgement] = field(default_factory=dict)
    origins: set[str] = field(default_factory=set)

    @property
    def place(self) -> Place:
        """The first of its steps in the natural order of ids, whatever the order of the file."""
        return min(self.places, key=lambda place: (natural_key(place[0]), place[1]))


@dataclass(frozen=True)
class Ratings:
    """Labels by content.

    Attributes
    ----------
    rated
        Every content, in the order of its hash.
    labels
        How many were read.
    origins
        Kind of reader -> labels.
    taxonomies
        `ID/VERSION`, sorted.
    annotators
        By name.
    """

    rated: Sequence[Rated]
    labels: int
    origins: Mapping[str, int]
    taxonomies: Sequence[str]
    annotators: Sequence[Annotator]

    @property
    def real(self) -> list[Rated]:
        """Contents that no script judged: all that a κ is made of."""
        return [each for each in self.rated if "scripted" not in each.origins]

    @property
    def steps(self) -> int:
        """Steps of all contents."""
        return sum(len(each.places) for each in self.rated)

    @property
    def episodes(self) -> int:
        """Trajectories of all contents."""
        return len({trajectory for each in self.rated for trajectory, _ in each.places})

    @property
    def scripted(self) -> Scripted:
        """What scripts judged."""
        left_out = [each for each in self.rated if "scripted" in each.origins]
        steps = sum(len(each.places) for each in left_out)
        return Scripted(
            items=len(left_out),
            steps=steps,
            item_share=len(left_out) / max(len(self.rated), 1),
            step_share=steps / max(self.steps, 1),
        )

    @property
    def pairs(self) -> Iterator[tuple[str, str]]:
        """Pairs of annotators that did not pick what they judged, in the order of names."""
        names = [each.name for each in self.annotators if not each.picked]
        return combinations(names, 2)


def ratings_of(labels: Iterable[Label]) -> Ratings:
    """Gather labels by content.

    Raises
    ------
    InputError
        When an annotator says two things about one content, or when labels differ about which
        content a step has.
    """
    rated: dict[str, Rated] = {}
    where: dict[Place, str] = {}
    models: dict[str, set[str]] = {}
    kinds: dict[str, Counter[str]] = {}
    origins: Counter[str] = Counter()
    taxonomies: set[str] = set()
    for label in labels:
        place = label.trajectory, label.step
        each = rated.setdefault(label.item, Rated(label.item))
        if where.setdefault(place, label.item) != label.item:
            raise _two_contents(label)
        before = each.said.setdefault(label.annotator, label.judgement)
        if _figures(before) != _figures(label.judgement):
            raise _two_judgements(label, each)
        each.places.add(place)
        each.origins.add(label.origin)
        origins[label.origin] += 1
        taxonomies.add(label.taxonomy)
        if before is label.judgement:  # this annotator's first label of the content
            kinds.setdefault(label.annotator, Counter())[label.origin] += 1
            models.setdefault(label.annotator, set())
            if label.model is not None and label.origin != "scripted":
                models[label.annotator].add(label.model)
    ordered = [rated[item] for item in sorted(rated)]
    real = [each for each in ordered if "scripted" not in each.origins]
    return Ratings(
        rated=ordered,
        labels=origins.total(),
        origins=dict(sorted(origins.items())),
        taxonomies=sorted(taxonomies),
        annotators=[
            Annotator(
                name=name,
                models=sorted(models[name]),
                origins=dict(sorted(kinds[name].items())),
                items=kinds[name].total(),
                picked=_picked(name, real),
            )
            for name in sorted(kinds, key=natural_key)
        ],
    )


def _figures(judgement: Judgement) -> tuple[object, ...]:
    """All of a judgement that a figure is made of."""
    return (
        judgement.decision,
        tuple(judgement.triggers),
        judgement.risk_source,
        judgement.harm,
        judgement.severity,
    )


def _picked(name: str, rated: Sequence[Rated]) -> bool:
    """Whether a reader saw mostly what others disagree on, though they agree on most.

    Its agreement with either of them would be measured on the hard cases alone.
    """
    own = [each for each in rated if name in each.said]
    theirs = [each for each in rated if len(each.said.keys() - {name}) >= 2]
    if len(own) == len(rated) or not theirs:
        return False
    disputed = [each for each in theirs if _disputed(each, name)]
    of_own = sum(name in each.said for each in disputed)
    return 2 * of_own > len(own) and 2 * len(disputed) < len(theirs)


def _disputed(each: Rated, but: str) -> bool:
    """Whether the others differ about decision or triggers."""
    said = {
        (judgement.decision, frozenset(judgement.triggers))
        for name, judgement in each.said.items()
        if name != but
    }
    return len(said) > 1


def _two_contents(label: Label) -> InputError:
    return InputError(
        f"{label.trajectory}#{label.step} has two contents: these are labels of two corpora",
        where=Where(field="item"),
        remedy="give the labels of one corpus; an earlier one belongs behind --against",
    )


def _two_judgements(label: Label, each: Rated) -> InputError:
    return InputError(
        f"{label.annotator!r} says two things about one content: at {label.trajectory}#"
        f"{label.step} something else than before (content {each.item[:12]}…)",
        where=Where(field="judgement"),
        remedy="keep one judgement an annotator and content; two people need two names",
    )
