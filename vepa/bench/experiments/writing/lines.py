"""Curves with bands over a numeric axis, drawn for the width of a phone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from vepa.bench.experiments.document import Figure, Point, Series
from vepa.bench.experiments.telling import axis_value, value
from vepa.bench.experiments.writing.axes import Axis, cut, figure_axis, number_axis, room
from vepa.bench.experiments.writing.marks import mark
from vepa.bench.experiments.writing.styles import Style
from vepa.bench.report.svg import element, words

__all__ = ["WIDTH", "curves"]

#: Of every picture: a phone of 360 px shows it almost unscaled.
WIDTH = 360.0
_TEXT = 13.0
_RIGHT, _DEEP = 14.0, 190.0
_LINE = 19.0
#: Width of a curve's sample before its name.
_SAMPLE = 40.0
#: Marks on a curve, and points of it that are drawn, at most.
_MARKS, _POINTS = 7, 160


@dataclass(frozen=True)
class _Plot:
    """Where values lie in a picture whose plot begins at `top`, right of the names of ticks."""

    x: Axis
    y: Axis
    top: float

    @property
    def left(self) -> float:
        return max(room(text, _TEXT) for _, text in self.y.ticks) + 8

    @property
    def floor(self) -> float:
        return self.top + _DEEP

    def place(self, x: float, y: float) -> tuple[float, float]:
        wide = WIDTH - self.left - _RIGHT
        return self.left + self.x.share(x) * wide, self.floor - self.y.share(y) * _DEEP


def curves(figure: Figure, styles: Mapping[str, Style]) -> tuple[list[Markup], float]:
    """The parts of a `lines` figure, and its height."""
    key, top = _legend(figure.series, styles)
    x = number_axis((point.x for one in figure.series for point in one.points), 7)
    plot = _Plot(x, figure_axis(figure, 6), top + 1.6 * _LINE)
    # The first series is drawn last, on top of the others.
    drawn = list(enumerate(figure.series))[::-1]
    parts = [*key, words(figure.y_label, "axis", 0, plot.top - 14, "start"), *_axes(plot, figure)]
    parts += [_band(one, styles[one.style], plot) for _, one in drawn]
    parts += _marks(figure, plot)
    for at, one in drawn:
        parts += _curve(one, styles[one.style], plot, figure, at)
    return parts, plot.floor + 42


def _legend(series: Sequence[Series], styles: Mapping[str, Style]) -> tuple[list[Markup], float]:
    """A sample of every curve with its name, as many a line as fit; and how far down it goes."""
    parts: list[Markup] = []
    x, y = 0.0, 10.0
    for one in series:
        name = cut(one.name, WIDTH - _SAMPLE, _TEXT)
        if x > 0 and x + _SAMPLE + room(name, _TEXT) > WIDTH:
            x, y = 0.0, y + _LINE
        style = styles[one.style]
        sample = {"x1": x + 1, "x2": x + 33, "y1": y, "y2": y}
        parts.append(element("line", f"line {style.classes}", "", **sample))
        parts.append(mark(style, x + 17, y))
        parts.append(words(name, "key", x + _SAMPLE, y + 4.5, "start"))
        x += _SAMPLE + room(name, _TEXT) + 12
    return parts, y + _LINE


def _axes(plot: _Plot, figure: Figure) -> list[Markup]:
    parts = []
    for at, text in plot.y.ticks:
        y = plot.place(plot.x.low, at)[1]
        style = "grid" if at > plot.y.low else "base"
        parts.append(element("line", style, x1=plot.left, x2=WIDTH - _RIGHT, y1=y, y2=y))
        parts.append(words(text, "tick", plot.left - 6, y + 4.5, "end"))
    for at, text in plot.x.ticks:
        x = plot.place(at, plot.y.low)[0]
        parts.append(element("line", "base", x1=x, x2=x, y1=plot.floor, y2=plot.floor + 4))
        x = min(x, WIDTH - room(text, _TEXT) / 2)
        parts.append(words(text, "tick", x, plot.floor + 17))
    middle = (plot.left + WIDTH - _RIGHT) / 2
    parts.append(words(figure.x_label, "axis", middle, plot.floor + 35))
    return parts


def _band(one: Series, style: Style, plot: _Plot) -> Markup:
    low, high = [], []
    for point in _thinned(one.points):
        if point.low is not None and point.high is not None:
            low.append(plot.place(point.x, point.low))
            high.append(plot.place(point.x, point.high))
    if len(low) < 2:
        return Markup("")
    return element("polygon", f"band {style.classes}", points=_spelled([*high, *low[::-1]]))


def _curve(one: Series, style: Style, plot: _Plot, figure: Figure, at: int) -> list[Markup]:
    places = [plot.place(point.x, point.y) for point in _thinned(one.points)]
    parts = []
    if len(places) > 1:
        parts.append(element("polyline", f"line {style.classes}", points=_spelled(places)))
    if len(one.points) <= _MARKS + 1:
        marked = list(one.points)
    else:  # each curve has its marks elsewhere, so that they do not hide each other
        every = len(one.points) / _MARKS
        shift = every * (at % 4) / 4
        marked = [one.points[int(each * every + shift)] for each in range(_MARKS)]
    for point in marked:
        told = f"{one.name}, {figure.x_label} {axis_value(point.x)}: {value(point.y, figure.unit)}"
        parts.append(mark(style, *plot.place(point.x, point.y), told=told))
    return parts


def _marks(figure: Figure, plot: _Plot) -> list[Markup]:
    """The source's figures as lines across, each with its name where it hides the least."""
    points = [plot.place(point.x, point.y) for one in figure.series for point in one.points]
    parts: list[Markup] = []
    names: list[_Box] = []
    for label, number in figure.marks.items():
        y = plot.place(plot.x.low, number)[1]
        parts.append(element("line", "source", x1=plot.left, x2=WIDTH - _RIGHT, y1=y, y2=y))
        text = cut(f"{label}: {value(number, figure.unit)}", WIDTH - plot.left - _RIGHT, _TEXT)
        wide = room(text, _TEXT)
        boxes = [
            _Box(left, base, wide)
            for base in (y - 4, y + 14)
            for left in (WIDTH - _RIGHT - 2 - wide, plot.left + 4)
            if base - _TEXT >= plot.top - 8 and base <= plot.floor
        ]
        costs = [
            1000 * sum(box.meets(other) for other in names) + sum(box.holds(at) for at in points)
            for box in boxes
        ]
        names.append(boxes[costs.index(min(costs))])
        parts.append(words(text, "told", names[-1].left, names[-1].base, "start"))
    return parts


@dataclass(frozen=True)
class _Box:
    """Where a line of text lies."""

    left: float
    base: float
    wide: float

    def holds(self, place: tuple[float, float]) -> bool:
        x, y = place
        inside = self.left <= x <= self.left + self.wide
        return inside and self.base - _TEXT <= y <= self.base + 3

    def meets(self, other: _Box) -> bool:
        across = self.left < other.left + other.wide and other.left < self.left + self.wide
        return across and abs(self.base - other.base) < _TEXT + 2


def _thinned(points: Sequence[Point]) -> list[Point]:
    """Points enough for the eye; the last one is always among them."""
    every = max(1, -(-len(points) // _POINTS))
    kept = list(points[::every])
    return kept if not points or kept[-1] is points[-1] else [*kept, points[-1]]


def _spelled(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
