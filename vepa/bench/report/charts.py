"""Charts as inline SVG: no script, no network, colours by class so that light and dark both work.

Every chart carries a title and a description for readers who do not see it; the report puts a table
with the same numbers beside it. All text is escaped by `Markup`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from vepa.bench.report.svg import element, picture, words

__all__ = ["Lane", "Line", "evidence_bar", "growth", "lineage", "lines", "outcomes"]

Unit = Literal["score", "percent", "count"]
#: Size of a plot and its margins.
_WIDTH, _HEIGHT = 460, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 12, 40
_FLOOR, _DEEP, _WIDE = _HEIGHT - _BOTTOM, _HEIGHT - _TOP - _BOTTOM, _WIDTH - _LEFT - _RIGHT


@dataclass(frozen=True)
class Line:
    """One curve.

    Attributes
    ----------
    name
        For tooltips.
    style
        Class: colour and dash of the series.
    points
        (x, y); a gap where y is None.
    """

    name: str
    style: str
    points: Sequence[tuple[float, float | None]]


@dataclass(frozen=True)
class Lane:
    """One rule's life.

    Attributes
    ----------
    rule, decision
        Its id, and what it decides.
    born
        Round that made it.
    states
        One a round from `born` on: whether it was active after that round.
    alive
        Whether it stands in the final policy.
    parents
        Positions of the lanes that it came from.
    note
        For the tooltip.
    """

    rule: str
    decision: str
    born: int
    states: Sequence[bool]
    alive: bool
    parents: Sequence[int]
    note: str


def lines(
    title: str,
    description: str,
    series: Sequence[Line],
    *,
    x_ticks: Sequence[tuple[float, str]],
    x_label: str,
    y_range: tuple[float, float],
    unit: Unit = "score",
) -> Markup:
    """Curves over a common axis, the first series on top of the others."""
    low, high = y_range
    start, end = x_ticks[0][0], x_ticks[-1][0]

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - start) / (end - start) if end > start else 0.5
        up = (min(max(y, low), high) - low) / (high - low)
        return _LEFT + across * _WIDE, _FLOOR - up * _DEEP

    parts = [_axis_y(low, high, unit), _axis_x([(place(x, low)[0], t) for x, t in x_ticks])]
    parts.append(words(x_label, "axis-label", _LEFT + _WIDE / 2, _HEIGHT - 4))
    for line in reversed(series):
        for stretch in _stretches(line.points):
            path = " ".join(f"{a:.1f},{b:.1f}" for a, b in (place(x, y) for x, y in stretch))
            parts.append(element("polyline", f"line {line.style}", points=path))
        for x, y in line.points:
            if y is not None:
                a, b = place(x, y)
                told = f"{line.name}, {x_label} {x:g}: {_value(y, unit)}"
                parts.append(element("circle", f"dot {line.style}", told, cx=a, cy=b, r=2.6))
    return _svg("chart", title, description, parts)


def outcomes(title: str, description: str, rounds: Sequence[tuple[int, int, int, int]]) -> Markup:
    """Stacked bars of events: (round, right, wrong, abstained)."""
    top = _ceiling(max(sum(row[1:]) for row in rounds))
    parts, labels = [_axis_y(0, top, "count")], []
    for (number, *counts), (x, width) in zip(rounds, _slots(len(rounds)), strict=True):
        labels.append((x + width / 2, str(number)))
        base = float(_FLOOR)
        for count, kind in zip(counts, ("right", "wrong", "abstained"), strict=True):
            height = count / top * _DEEP
            base -= height
            if count:
                told = f"Round {number}: {count} {kind}"
                parts.append(_bar(kind, told, x, base, width, height))
    parts += [_axis_x(_thinned(labels)), words("round", "axis-label", _WIDTH / 2, _HEIGHT - 4)]
    return _svg("chart", title, description, parts)


def growth(title: str, description: str, rounds: Sequence[tuple[int, int, int]]) -> Markup:
    """Bars of all verified rules with the active part filled: (round, archive, active)."""
    top = _ceiling(max(row[1] for row in rounds))
    parts, labels = [_axis_y(0, top, "count")], []
    for (number, archive, active), (x, width) in zip(rounds, _slots(len(rounds)), strict=True):
        labels.append((x + width / 2, str(number)))
        told = f"After round {number}: {active} of {archive} rules active"
        for count, kind in ((archive, "archive"), (active, "active")):
            height = count / top * _DEEP
            parts.append(_bar(kind, told, x, _FLOOR - height, width, height))
    parts += [_axis_x(_thinned(labels)), words("round", "axis-label", _WIDTH / 2, _HEIGHT - 4)]
    return _svg("chart", title, description, parts)


def lineage(title: str, description: str, lanes: Sequence[Lane], rounds: int) -> Markup:
    """Each rule as a lane over the rounds; a line leads to it from the rules that it came from."""
    row, left, top, width = 20, 84, 24, 880
    height = top + row * len(lanes) + 8
    step = (width - left - 8) / max(rounds, 1)
    middle = [top + row * at + row / 2 for at in range(len(lanes))]
    numbers = [(left + (n - 0.5) * step, str(n)) for n in range(1, rounds + 1)]
    parts = [words(text, "tick", x, 14) for x, text in _thinned(numbers, 20)]
    for n in range(rounds + 1):
        x = left + n * step
        parts.append(element("line", "grid", x1=x, x2=x, y1=top - 4, y2=height - 4))
    for at, lane in enumerate(lanes):
        x = left + (lane.born - 1) * step + 3
        for parent in lane.parents:
            down = f"M{x:.1f},{middle[parent]:.1f} V{middle[at]:.1f}"
            parts.append(element("path", "descent", d=down))
            parts.append(element("circle", "descent-end", cx=x, cy=middle[parent], r=2.4))
    for at, lane in enumerate(lanes):
        standing = "alive" if lane.alive else "gone"
        name = f"lane-name {standing}"
        parts.append(words(lane.rule[:12], name, left - 6, middle[at] + 3.5, "end"))
        for offset, active in enumerate(lane.states):
            number = lane.born + offset
            style = f"{lane.decision} {'on' if active else 'off'} {standing}"
            told = f"{lane.note}; after round {number}: {'active' if active else 'inactive'}"
            x = left + (number - 1) * step + 0.75
            parts.append(_bar(style, told, x, middle[at] - 5.5, step - 1.5, 11, kind="life"))
    return _svg("lineage", title, description, parts, width, height)


def evidence_bar(
    support: int,
    contradictions: int,
    most: int,
    *,
    reached: float,
    asked: float,
    weighed: str,
    active: bool,
) -> Markup:
    """Counts as a bar in proportion to the largest rule; below it, what they weigh on a gauge."""
    width = 150
    scale = width / max(most, 1)
    good, bad = support * scale, contradictions * scale
    bad = max(bad, 2.0) if contradictions else 0.0  # one contradiction must not vanish
    tick = asked * width
    parts = [
        element("rect", "track", x=0, y=2, width=width, height=9, rx=2),
        element("rect", "bar right", x=0, y=2, width=good, height=9, rx=2),
        element("rect", "bar wrong", x=min(good, width - bad), y=2, width=bad, height=9),
        element("rect", "track", x=0, y=17, width=width, height=4, rx=2),
        element(
            "rect",
            f"gauge {'on' if active else 'off'}",
            x=0,
            y=17,
            width=reached * width,
            height=4,
            rx=2,
        ),
        element("line", "threshold", x1=tick, x2=tick, y1=14, y2=24),
    ]
    title = f"{support} examples support, {contradictions} contradict"
    return _svg("evidence", title, f"{weighed}.", parts, width, 26)


def _svg(
    kind: str,
    title: str,
    description: str,
    parts: Iterable[Markup],
    width: int = _WIDTH,
    height: int = _HEIGHT,
) -> Markup:
    return picture(kind, title, description, parts, width, height)


def _bar(
    style: str,
    told: str,
    x: float,
    y: float,
    width: float,
    height: float,
    *,
    kind: str = "bar",
) -> Markup:
    return element("rect", f"{kind} {style}", told, x=x, y=y, width=width, height=height)


def _axis_y(low: float, high: float, unit: Unit) -> Markup:
    steps = 4 if unit == "count" and high % 5 else 5
    parts = []
    for at in range(steps + 1):
        value = low + (high - low) * at / steps
        y = _FLOOR - at / steps * _DEEP
        style = "grid" if at else "base"
        parts.append(element("line", style, x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y))
        parts.append(words(_value(value, unit), "tick", _LEFT - 6, y + 4, "end"))
    return Markup("").join(parts)


def _axis_x(labels: Iterable[tuple[float, str]]) -> Markup:
    return Markup("").join(words(text, "tick", x, _FLOOR + 16) for x, text in labels)


def _slots(number: int) -> list[tuple[float, float]]:
    """Left edge and width of so many bars."""
    slot = _WIDE / number
    gap = min(6.0, slot * 0.2)
    return [(_LEFT + at * slot + gap / 2, slot - gap) for at in range(number)]


def _thinned(labels: Sequence[tuple[float, str]], most: int = 12) -> list[tuple[float, str]]:
    every = max(1, -(-len(labels) // most))
    return list(labels[::every])


def _ceiling(most: int) -> int:
    """A round number at or above `most` that four or five equal steps divide."""
    size = 1
    while True:
        for base in (4, 5, 8, 10, 12, 15, 16, 20, 25, 30):
            if base * size >= most:
                return base * size
        size *= 10


def _stretches(
    points: Sequence[tuple[float, float | None]],
) -> list[list[tuple[float, float]]]:
    found: list[list[tuple[float, float]]] = [[]]
    for x, y in points:
        if y is None:
            found.append([])
        else:
            found[-1].append((x, y))
    return [stretch for stretch in found if len(stretch) > 1]


def _value(value: float, unit: Unit) -> str:
    if unit == "count":
        return f"{value:.0f}"
    if unit == "percent":
        return f"{100 * value:.1f}".removesuffix(".0") + " %"
    return f"{value:.3f}".rstrip("0").rstrip(".")
