"""From plays to the document of an experiment: tables, figures, the source beside us."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from vepa.bench.experiments import beside
from vepa.bench.experiments.catalogue import ConditionSpec, ExperimentSpec
from vepa.bench.experiments.document import (
    Cell,
    Column,
    Experiment,
    Missing,
    Row,
    Table,
)
from vepa.bench.experiments.drawing import figure_of
from vepa.bench.experiments.findings import findings
from vepa.bench.experiments.keeping import PlayStore
from vepa.bench.experiments.measures import MEASURES
from vepa.bench.experiments.measuring import Drawn, Resamples, drawn
from vepa.bench.experiments.planning import Plan
from vepa.bench.experiments.plays import Answered

__all__ = ["Worked", "work_out"]

#: Seed by seed.
Answers = Sequence[Answered]


@dataclass
class Worked:
    """An experiment while it is worked out: what was answered where.

    Attributes
    ----------
    name, spec
        Of the catalogue.
    plan
        All plays, and what is missing.
    answers
        (condition, method) -> answers seed by seed, of the variant that is shown.
    """

    name: str
    spec: ExperimentSpec
    plan: Plan
    answers: dict[tuple[str, str], Answers] = field(default_factory=dict)
    _resamples: dict[str, Resamples] = field(default_factory=dict)
    _known: dict[tuple[str, str, str], Drawn | None] = field(default_factory=dict)

    def title(self, method: str) -> str:
        """A method, for people."""
        return self.plan.catalogue.methods[method].title

    def condition(self, spec: ConditionSpec) -> str:
        """A condition, for people."""
        return spec.title or self.plan.catalogue.streams[spec.stream].title

    def reference(self, condition: str) -> Answers | None:
        """The answers of the policy that learners are compared with under a condition."""
        return self.answers.get((condition, self.spec.against))

    def resamples(self, condition: str) -> Resamples:
        """Of the events of a condition, drawn once for each data set."""
        place = next(each for each in self.spec.conditions if each.name == condition)
        size = sum(
            len(self.plan.tables[name]) for name in self.plan.catalogue.streams[place.stream].events
        )
        key = str(size)
        if key not in self._resamples:
            self._resamples[key] = Resamples(size)
        return self._resamples[key]

    def cell(self, condition: str, method: str, measure: str) -> Cell | None:
        """A figure; None where it was not run, or has none."""
        found = self._measured(condition, method, measure)
        return None if found is None else found.cell

    def difference(self, measure: str, one: tuple[str, str], other: tuple[str, str]) -> Cell | None:
        """The figure at one place less that at another, each (condition, method)."""
        found, less = (self._measured(*place, measure) for place in (one, other))
        return None if found is None or less is None else found.less(less).cell

    def _measured(self, condition: str, method: str, measure: str) -> Drawn | None:
        key = (condition, method, measure)
        if key not in self._known:
            plays, reference = self.answers.get((condition, method)), self.reference(condition)
            self._known[key] = (
                None
                if plays is None or reference is None
                else drawn(MEASURES[measure], plays, reference, self.resamples(condition))
            )
        return self._known[key]

    def needs(self, condition: str, method: str) -> str:
        """What a place needs; empty where it was played."""
        return self.plan.needs.get((self.name, condition, method), "")


def work_out(
    name: str, plan: Plan, store: PlayStore, command: str, resamples: dict[str, Resamples]
) -> Experiment:
    """The document of one experiment, from plays that are all there.

    Parameters
    ----------
    name
        Of the experiment.
    plan, store
        Its plays.
    command
        What makes it again.
    resamples
        Shared between experiments, by size of the data set; grows.

    Raises
    ------
    RunError
        When a play is missing.
    """
    spec = plan.experiments[name]
    worked = Worked(name, spec, plan, _resamples=resamples)
    for condition in spec.conditions:
        for method in spec.methods:
            plays = plan.plays.get((name, condition.name, method))
            if plays is not None:
                found = [store.read(play) for play in plays]
                worked.answers[condition.name, method] = _variant(worked, method, found)
    played = [play for place, found in plan.plays.items() if place[0] == name for play in found]
    events = {event: play.events[event] for play in played for event in play.condition.events}
    return Experiment(
        name=name,
        title=spec.title,
        question=spec.question,
        place=spec.place,
        command=command,
        tables=tuple(_tables(worked)),
        figures=tuple(figure_of(worked, figure) for figure in spec.figures if worked.answers),
        beside=tuple(beside.compared(worked, each) for each in spec.beside),
        missing=tuple(Missing(what=what, needs=need) for what, need in plan.lacking(name)),
        findings=tuple(findings(worked)),
        notes=spec.notes,
        hashes={**dict(sorted(events.items())), "plays": store.digest(played)},
    )


def _variant(worked: Worked, method: str, plays: Sequence[Mapping[str, Answered]]) -> Answers:
    """The answers of the variant that is shown; `best` by the mean of F1 on all events."""
    wanted = worked.plan.catalogue.methods[method].variant
    names = list(plays[0])
    if wanted is None or wanted == "best":
        measure = MEASURES["full_f1"]

        def mean(name: str) -> float:
            return float(np.mean([measure.of(play[name], play[name]) for play in plays]))

        wanted = max(names, key=lambda name: (mean(name), name)) if len(names) > 1 else names[0]
    return [play[wanted] for play in plays]


def _rows(worked: Worked) -> Iterator[tuple[ConditionSpec, str, Row]]:
    for condition in worked.spec.conditions:
        for method in worked.spec.methods:
            yield (
                condition,
                method,
                Row(
                    condition=worked.condition(condition),
                    condition_key=condition.name,
                    method=worked.title(method),
                    method_key=method,
                    needs=worked.needs(condition.name, method),
                ),
            )


def _tables(worked: Worked) -> Iterator[Table]:
    columns = tuple(
        Column(key=key, label=MEASURES[key].label, unit=MEASURES[key].unit, help=MEASURES[key].help)
        for key in worked.spec.measures
    )
    rows, less = [], []
    against = worked.spec.against
    for condition, method, row in _rows(worked):
        cells = {
            key: found
            for key in worked.spec.measures
            if (found := worked.cell(condition.name, method, key)) is not None
        }
        rows.append(row.model_copy(update={"cells": cells}))
        if method != against and cells:
            apart = {
                key: found
                for key in cells
                if (found := _apart(worked, key, condition.name, method)) is not None
            }
            less.append(row.model_copy(update={"cells": apart}))
    yield Table(name="figures", title="Figures", columns=columns, rows=tuple(rows))
    if less:
        yield Table(
            name="differences",
            title=f"Less {worked.title(against)}",
            columns=columns,
            rows=tuple(less),
            note="Paired by shuffle and event: the interval is that of the difference.",
            signed=True,
        )


def _apart(worked: Worked, measure: str, condition: str, method: str) -> Cell | None:
    against = (condition, worked.spec.against)
    return worked.difference(measure, (condition, method), against)
