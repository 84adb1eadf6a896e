"""A dot and a bar for every method in every group, one below the other: a phone is tall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from vepa.bench.experiments.document import Figure, Point, Series
from vepa.bench.experiments.telling import value
from vepa.bench.experiments.writing.axes import Axis, broken, cut, figure_axis, room
from vepa.bench.experiments.writing.lines import WIDTH
from vepa.bench.experiments.writing.marks import mark
from vepa.bench.experiments.writing.styles import Style
from vepa.bench.report.svg import element, words

__all__ = ["forest_plot"]

_TEXT = 13.0
#: Height of a row, of each further line of its name, and of a group's name.
_ROW, _MORE, _HEAD = 18.0, 14.0, 25.0
#: Width of names at most.
_NAMES = 150.0
_GAP = 10.0
#: How much wider a bold text is; room for the text of a tick.
_BOLD, _TICK = 1.06, 40.0


@dataclass(frozen=True)
class _Plot:
    """Where values lie in a picture with names on the left and figures on the right."""

    axis: Axis
    left: float
    right: float

    def place(self, number: float) -> float:
        return self.left + self.axis.share(number) * (self.right - self.left)


@dataclass(frozen=True)
class _Line:
    """A line of the picture: the name of a group, or a method with its figure."""

    lines: list[str]
    series: Series | None = None
    point: Point | None = None

    @property
    def height(self) -> float:
        return _HEAD if self.series is None else _ROW + _MORE * (len(self.lines) - 1)


def forest_plot(figure: Figure, styles: Mapping[str, Style]) -> tuple[list[Markup], float]:
    """The parts of a `dots` figure, and its height."""
    rows = _rows(figure)
    names = [line for row in rows if row.series for line in row.lines]
    figures = [value(row.point.y, figure.unit) for row in rows if row.point]
    broad = _BOLD if any(styles[one.style].first for one in figure.series) else 1.0
    left = max((room(name, _TEXT) for name in names), default=0.0) * broad + _GAP
    right = WIDTH - max((room(text, _TEXT) for text in figures), default=0.0) - _GAP
    plot = _Plot(figure_axis(figure, max(int((right - left) / _TICK), 2), snug=True), left, right)
    marks, top = _mark_names(figure, plot)
    end = top + sum(row.height for row in rows)
    parts = [*marks, *_axis(plot, figure, top, end)]
    at = top
    for row in rows:
        parts += _drawn(row, figure, styles, plot, at)
        at += row.height
    return parts, end + 40


def _rows(figure: Figure) -> list[_Line]:
    """Groups with their methods below; with one method only, the groups are the rows."""
    single = len(figure.series) == 1
    groups = figure.groups or ("",)
    rows = []
    for place, group in enumerate(groups):
        found = [(one, point) for one in figure.series for point in one.points if point.x == place]
        if single:
            rows += [_Line(broken(group or one.name, _NAMES, _TEXT), one, p) for one, p in found]
            continue
        if group and found:
            rows.append(_Line([cut(group, WIDTH, _TEXT)]))
        rows += [_Line(broken(one.name, _NAMES, _TEXT), one, point) for one, point in found]
    return rows


def _drawn(
    row: _Line, figure: Figure, styles: Mapping[str, Style], plot: _Plot, top: float
) -> list[Markup]:
    if row.series is None or row.point is None:
        return [words(row.lines[0], "group", 0, top + 18, "start")]
    style, point, middle = styles[row.series.style], row.point, top + row.height / 2
    first = middle + 4.5 - _MORE * (len(row.lines) - 1) / 2
    kind = "key first" if style.first else "key"
    parts = [words(text, kind, 0, first + _MORE * at, "start") for at, text in enumerate(row.lines)]
    parts.append(element("line", "grid", x1=plot.left, x2=plot.right, y1=middle, y2=middle))
    if point.low is not None and point.high is not None:
        low, high = plot.place(point.low), plot.place(point.high)
        parts.append(element("line", f"bar {style.classes}", x1=low, x2=high, y1=middle, y2=middle))
    told = f"{row.series.name}: {value(point.y, figure.unit)}"
    parts.append(mark(style, plot.place(point.y), middle, 4.2, told))
    parts.append(words(value(point.y, figure.unit), kind, WIDTH, middle + 4.5, "end"))
    return parts


def _axis(plot: _Plot, figure: Figure, top: float, end: float) -> list[Markup]:
    parts = [element("line", "base", x1=plot.left, x2=plot.right, y1=end, y2=end)]
    for at, text in plot.axis.ticks:
        x = plot.place(at)
        parts.append(element("line", "grid", x1=x, x2=x, y1=top, y2=end + 4))
        parts.append(words(text, "tick", x, end + 17))
    middle = (plot.left + plot.right) / 2
    half = room(figure.y_label, _TEXT) / 2
    parts.append(words(figure.y_label, "axis", min(max(middle, half), WIDTH - half), end + 35))
    for number in figure.marks.values():
        x = plot.place(number)
        parts.append(element("line", "source", x1=x, x2=x, y1=top, y2=end))
    return parts


def _mark_names(figure: Figure, plot: _Plot) -> tuple[list[Markup], float]:
    """The names of the source's figures above the plot, a line each; and where the plot begins.

    All stand on the same side of their lines, in the order in which no line crosses a name.
    """
    found = sorted((number, label) for label, number in figure.marks.items())
    texts = {each: cut(f"{each[1]}: {value(each[0], figure.unit)}", WIDTH, _TEXT) for each in found}
    right = all(plot.place(each[0]) + 5 + room(texts[each], _TEXT) <= WIDTH for each in found)
    parts = []
    for at, each in enumerate(found if right else found[::-1]):
        x, y = plot.place(each[0]), 14.0 + 16 * at
        if right:
            parts.append(words(texts[each], "told", x + 5, y, "start"))
        else:
            end = max(x - 5, room(texts[each], _TEXT))
            parts.append(words(texts[each], "told", end, y, "end"))
        stem = {"x1": x, "x2": x, "y1": y - 10, "y2": 14.0 + 16 * len(found)}
        parts.append(element("line", "source", "", **stem))
    return parts, 14.0 + 16 * len(found) if found else 4.0
