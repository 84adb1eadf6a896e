"""The numbers behind a figure as a table for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vepa.bench.experiments.document import Figure, Point
from vepa.bench.experiments.telling import NOTHING, axis_value, interval, value

__all__ = ["Numbers", "numbers"]

#: Rows at most; more are in the CSV.
_MOST = 40


@dataclass(frozen=True)
class Numbers:
    """A table: a row a place on the axis, or a row a method where the figure has groups.

    Attributes
    ----------
    corner, heads
        Name of the first column, and of the others.
    rows
        Name of the row, and (figure, interval) for each column.
    left_out
        Rows that only the CSV has.
    """

    corner: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    left_out: int = 0


def numbers(figure: Figure) -> Numbers:
    """The figure's numbers as people read them."""
    heads = tuple(one.name for one in figure.series)
    found = [{point.x: point for point in one.points} for one in figure.series]
    if figure.kind == "dots":
        places = [float(at) for at in range(len(figure.groups))]
        names, corner = list(figure.groups), figure.x_label
    else:
        places = sorted(set().union(*found)) if found else []
        names, corner = [axis_value(x, exact=True) for x in places], figure.x_label
    kept = _kept(len(places))
    rows = tuple(
        (names[at], tuple(_told(points.get(places[at]), figure) for points in found)) for at in kept
    )
    return Numbers(corner, heads, rows, len(places) - len(kept))


def _kept(number: int) -> Sequence[int]:
    """Places that are shown: all, or every so many and the last."""
    if number <= _MOST:
        return range(number)
    kept = list(range(0, number, -(-number // (_MOST - 1))))
    return kept if kept[-1] == number - 1 else [*kept, number - 1]


def _told(point: Point | None, figure: Figure) -> tuple[str, str]:
    if point is None:
        return NOTHING, ""
    return value(point.y, figure.unit), interval(point.low, point.high, figure.unit)
