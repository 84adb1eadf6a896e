"""How two annotators agree: on the decision, on triggers, on what they name, by service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite

import numpy as np
import numpy.typing as npt

from vepa.annotate.agreement.figures import (
    Binary,
    Nominal,
    Pair,
    PerStep,
    ServiceSlice,
    SourceSlice,
)
from vepa.annotate.agreement.kappa import (
    Bools,
    Names,
    Question,
    binaries,
    kappa_of,
    nominal,
)
from vepa.annotate.agreement.passes import heading_of
from vepa.annotate.agreement.ratings import Rated
from vepa.annotate.agreement.records import Annotator
from vepa.annotate.agreement.sampling import Resampling
from vepa.annotate.agreement.sets import Spoken, spoken
from vepa.corpus.labels import Judgement

__all__ = ["REFUSE", "PairMeasure"]

REFUSE = "refuse"
NONE = "(none)"


@dataclass(frozen=True)
class PairMeasure:
    """Two annotators and the items that both judged.

    Attributes
    ----------
    a, b
        Who.
    rated
        Items that both judged, at least one.
    triggers
        Keys that are asked about, in order.
    resampling
        Of all episodes of these items.
    services
        Item -> the service that it acts on; empty when that is not known.
    """

    a: Annotator
    b: Annotator
    rated: Sequence[Rated]
    triggers: Sequence[str]
    resampling: Resampling
    services: Mapping[str, str]

    @property
    def names(self) -> Names:
        """Of the two."""
        return self.a.name, self.b.name

    @cached_property
    def position(self) -> npt.NDArray[np.intp]:
        """Place of each item's episode."""
        return self.resampling.position([each.place[0] for each in self.rated])

    @cached_property
    def said(self) -> list[tuple[Judgement, Judgement]]:
        """What each of the two says of each item."""
        return [(each.said[self.a.name], each.said[self.b.name]) for each in self.rated]

    @cached_property
    def spoken(self) -> Spoken:
        """Counted, for α."""
        return spoken(self.rated, self.names)

    def measured(self) -> Pair:
        """All figures of the pair."""
        heading, one_family = heading_of(self.a, self.b)
        decision, *triggers = self.binaries([self.refusing, *self.of_triggers])
        return Pair(
            a=self.a.name,
            b=self.b.name,
            heading=heading,
            one_family=one_family,
            items=len(self.rated),
            steps=sum(len(each.places) for each in self.rated),
            episodes=len(self.resampling.episodes),
            decision=decision,
            triggers=triggers,
            nominal=self._nominal(),
            alpha_sets=self.spoken.alpha_sets(slice(None), self.position, self.resampling),
            alpha_decision=self.spoken.alpha_decision(self.position, self.resampling),
            per_step=self._per_step(decision, triggers),
            services=self._services(),
            sources=self._sources(),
        )

    def binaries(self, questions: Sequence[Question]) -> list[Binary]:
        """Agreement on each of these."""
        return binaries(questions, self.position, self.resampling, self.names)

    @property
    def refusing(self) -> Question:
        """Whether the step is refused."""
        answers = [(a.decision == REFUSE, b.decision == REFUSE) for a, b in self.said]
        return self._asked(REFUSE, answers)

    @property
    def of_triggers(self) -> list[Question]:
        """Whether each trigger is set."""
        return [
            self._asked(key, [(key in a.triggers, key in b.triggers) for a, b in self.said])
            for key in self.triggers
        ]

    @staticmethod
    def _asked(key: str, answers: Sequence[tuple[bool, bool]]) -> Question:
        a, b = np.array(answers, dtype=bool).T
        return Question(key, a, b)

    def _nominal(self) -> list[Nominal]:
        primary = [(a.primary, b.primary) for a, b in self.said]
        named: dict[str, list[tuple[str | None, str | None]]] = {
            "primary": [(a or NONE, b or NONE) for a, b in primary],
            "primary_where_both": primary,
            "risk_source": [(a.risk_source, b.risk_source) for a, b in self.said],
            "harm": [(a.harm, b.harm) for a, b in self.said],
            # A severity without a trigger is about nothing.
            "severity": [
                (a.severity, b.severity) if a.triggers and b.triggers else (None, None)
                for a, b in self.said
            ],
        }
        return [
            nominal(key, given, self.position, self.resampling, self.names)
            for key, given in named.items()
        ]

    def _per_step(self, decision: Binary, triggers: Sequence[Binary]) -> PerStep:
        times = np.array([len(each.places) for each in self.rated])
        asked = self.refusing
        same = asked.a == asked.b
        return PerStep(
            steps=int(times.sum()),
            kappa=decision.kappa.model_copy(
                update={
                    "value": _repeated(asked, times, decision),
                    "low": None,
                    "high": None,
                    "undefined": 0,
                }
            ),
            raw=float((same * times).sum() / times.sum()),
            alpha_sets=self.spoken.alpha_sets_repeated(times),
            kappa_triggers={
                each.key: _repeated(question, times, each)
                for question, each in zip(self.of_triggers, triggers, strict=True)
            },
        )

    def _services(self) -> list[ServiceSlice]:
        if not self.services:
            return []
        of = [self.services[each.item] for each in self.rated]
        names = sorted(set(of), key=lambda name: (name.startswith("("), name))
        asked = self.refusing
        among = [np.array([one == name for one in of], dtype=bool) for name in names]
        questions = [Question(REFUSE, asked.a, asked.b, each) for each in among]
        return [
            ServiceSlice(
                service=name,
                decision=decision,
                alpha_sets=self.spoken.alpha_sets(
                    np.flatnonzero(each), self.position, self.resampling
                ),
            )
            for name, each, decision in zip(names, among, self.binaries(questions), strict=True)
        ]

    def _sources(self) -> list[SourceSlice]:
        named_by = {one.risk_source for both in self.said for one in both}
        sources = sorted(source for source in named_by if source is not None)
        asked = self.refusing
        named = [
            self._asked(
                source, [(a.risk_source == source, b.risk_source == source) for a, b in self.said]
            )
            for source in sources
        ]
        either = [
            Question(source, asked.a, asked.b, question.a | question.b)
            for source, question in zip(sources, named, strict=True)
        ]
        return [
            SourceSlice(
                source=question.key,
                named=found,
                either=_count(among.among),
                same_decision=decided.raw,
            )
            for question, found, among, decided in zip(
                named, self.binaries(named), either, self.binaries(either), strict=True
            )
        ]


def _repeated(question: Question, times: npt.NDArray[np.int_], found: Binary) -> float | None:
    """κ when an item counts several times; not defined where the item's own is not."""
    if found.kappa.value is None:
        return None
    value = kappa_of(question.a.astype(int), question.b.astype(int), times.astype(np.float64))
    return value if isfinite(value) else None


def _count(among: Bools | None) -> int:
    return 0 if among is None else int(among.sum())
