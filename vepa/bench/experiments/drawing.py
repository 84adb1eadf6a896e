"""The figures of an experiment: dots by condition, curves by level, by round and by coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from vepa.bench import metrics
from vepa.bench.experiments.catalogue import FigureSpec
from vepa.bench.experiments.document import Cell, Figure, Point, Series
from vepa.bench.experiments.measures import MEASURES, ROUND_MEASURES
from vepa.bench.experiments.plays import Answered
from vepa.bench.scores import CURVE

if TYPE_CHECKING:
    from vepa.bench.experiments.working_out import Worked

__all__ = ["figure_of"]


def figure_of(worked: Worked, spec: FigureSpec) -> Figure:
    """A figure of the catalogue, from an experiment of which something was played."""
    methods = [m for m in (spec.methods or worked.spec.methods) if _played(worked, m)]
    if spec.kind == "conditions":
        return _dots(worked, spec, methods)
    if spec.kind == "levels":
        return _levels(worked, spec, methods)
    if spec.kind == "rounds":
        return _rounds(worked, spec, methods)
    return _risk(worked, spec, methods)


def _played(worked: Worked, method: str) -> bool:
    return any(key[1] == method for key in worked.answers)


def _dots(worked: Worked, spec: FigureSpec, methods: Sequence[str]) -> Figure:
    conditions = [c for c in worked.spec.conditions if worked.reference(c.name) is not None]
    series = []
    for method in methods:
        points = []
        for at, condition in enumerate(conditions):
            found = worked.cell(condition.name, method, spec.measure)
            if found is not None:
                points.append(_point(float(at), found))
        if points:
            series.append(Series(name=worked.title(method), style=method, points=tuple(points)))
    measure = MEASURES[spec.measure]
    return Figure(
        name=spec.name,
        title=spec.title,
        kind="dots",
        x_label="",
        y_label=measure.label,
        unit=measure.unit,
        series=tuple(series),
        groups=tuple(worked.condition(c) for c in conditions),
        band=_BAND,
        marks=spec.marks,
    )


def _levels(worked: Worked, spec: FigureSpec, methods: Sequence[str]) -> Figure:
    measure = MEASURES[spec.measure]
    series = []
    for method in methods:
        points = [
            _point(condition.x, found)
            for condition in sorted(
                (c for c in worked.spec.conditions if c.x is not None), key=lambda c: c.x or 0.0
            )
            if condition.x is not None
            and (found := worked.cell(condition.name, method, spec.measure)) is not None
        ]
        if points:
            series.append(Series(name=worked.title(method), style=method, points=tuple(points)))
    return Figure(
        name=spec.name,
        title=spec.title,
        kind="lines",
        x_label=spec.x_label,
        y_label=measure.label,
        unit=measure.unit,
        series=tuple(series),
        band=_BAND,
        marks=spec.marks,
    )


#: What bands and bars stand for.
_BAND = "95 % interval of the mean (events resampled), or one deviation over shuffles without one"
_SPREAD = "one deviation over shuffles"


def _point(x: float, found: Cell) -> Point:
    low, high = found.low, found.high
    if low is None or high is None:
        low, high = found.mean - found.sd, found.mean + found.sd
    return Point(x=x, y=found.mean, low=low, high=high)


def _rounds(worked: Worked, spec: FigureSpec, methods: Sequence[str]) -> Figure:
    condition = spec.condition or worked.spec.conditions[0].name
    label, unit, values = ROUND_MEASURES[spec.measure]
    series = []
    for method in methods:
        plays = worked.answers.get((condition, method))
        if plays is None or not values(plays[0]):
            continue
        by_seed = np.array([values(play) for play in plays])
        series.append(_curve(worked, method, range(1, by_seed.shape[1] + 1), by_seed))
    return Figure(
        name=spec.name,
        title=spec.title,
        kind="lines",
        x_label="round",
        y_label=label,
        unit=unit,
        series=tuple(series),
        band=_SPREAD,
        marks=spec.marks,
    )


def _risk(worked: Worked, spec: FigureSpec, methods: Sequence[str]) -> Figure:
    condition = spec.condition or worked.spec.conditions[0].name
    series = []
    for method in methods:
        plays = worked.answers.get((condition, method))
        if plays is None:
            continue
        curves = [_risk_curve(play) for play in plays]
        shared = sorted(set.intersection(*(set(curve) for curve in curves)))
        if shared:
            by_seed = np.array([[curve[share] for share in shared] for curve in curves])
            series.append(_curve(worked, method, [100.0 * share for share in shared], by_seed))
    return Figure(
        name=spec.name,
        title=spec.title,
        kind="lines",
        x_label="coverage (%)",
        y_label="wrong, of what is decided",
        unit="percent",
        series=tuple(series),
        band=_SPREAD,
    )


def _risk_curve(play: Answered) -> dict[float, float]:
    curve = metrics.risk_coverage(play.truth, play.verdicts, play.sure, CURVE)
    return {point["coverage"]: point["risk"] for point in curve}


def _curve(
    worked: Worked,
    method: str,
    places: Sequence[float],
    by_seed: npt.NDArray[np.float64],
) -> Series:
    means, sds = by_seed.mean(axis=0), by_seed.std(axis=0)
    points = tuple(
        Point(x=float(x), y=float(mean), low=float(mean - sd), high=float(mean + sd))
        for x, mean, sd in zip(places, means, sds, strict=True)
    )
    return Series(name=worked.title(method), style=method, points=points)
