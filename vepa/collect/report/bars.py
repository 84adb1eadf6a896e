"""Bars as inline SVG, in the look of the run's report; readable without colour.

Every part of a bar has an outline of its own (solid, dashed, thick) beside its colour, and its
number stands in it or in the table beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from vepa.viewer.signs import visible

__all__ = ["Row", "cell_bar", "stacked"]

_WIDTH, _LEFT, _RIGHT = 460, 158, 46
_ROW, _THICK = 34, 20
#: Letters of a row's name that fit beside its bar.
_LETTERS = 17
#: A number is written into a part that is at least so wide.
_WRITTEN = 20


@dataclass(frozen=True)
class Row:
    """One bar.

    Attributes
    ----------
    name
        What it is about.
    parts
        (class, what it is called, how many), from the left.
    """

    name: str
    parts: Sequence[tuple[str, str, int]]

    @property
    def total(self) -> int:
        """All parts together."""
        return sum(count for _, _, count in self.parts)


def stacked(title: str, description: str, rows: Sequence[Row]) -> Markup:
    """Horizontal bars in proportion to the longest, each with its total behind it."""
    most = max((row.total for row in rows), default=0) or 1
    scale = (_WIDTH - _LEFT - _RIGHT) / most
    drawn = []
    for at, row in enumerate(rows):
        top = at * _ROW + (_ROW - _THICK) / 2
        drawn.append(_name(row.name, top))
        left = float(_LEFT)
        for style, words, count in row.parts:
            if count:
                drawn.append(_part(style, f"{row.name}: {count} {words}", count, left, top, scale))
            left += count * scale
        drawn.append(_text(str(row.total), "total", left + 7, top + 14.5, "start"))
    return Markup(
        '<svg class="chart" role="img" viewBox="0 0 {} {}" aria-label="{}. {}">'
        "<title>{}</title><desc>{}</desc>{}</svg>"
    ).format(
        _WIDTH,
        max(_ROW * len(rows), 1),
        title,
        description,
        title,
        description,
        Markup("").join(drawn),
    )


def cell_bar(parts: Sequence[tuple[str, int]], most: int) -> Markup:
    """A small bar for a table's cell; the numbers stand in the cells beside it.

    Parameters
    ----------
    parts
        (class, how many), from the left.
    most
        The count that fills the width.
    """
    scale, left, drawn = 100 / max(most, 1), 0.0, []
    for style, count in parts:
        # One of many must not vanish.
        width = max(count * scale, 1.5) if count else 0.0
        if count:
            drawn.append(_rect(style, min(left, 100 - width), 1.5, width, 9))
        left += width
    return Markup('<svg class="cell" viewBox="0 0 100 12" aria-hidden="true">{}</svg>').format(
        Markup("").join(drawn)
    )


def _part(style: str, told: str, count: int, left: float, top: float, scale: float) -> Markup:
    width = count * scale
    rect = _rect(style, left + 0.8, top, max(width - 1.6, 1.2), _THICK, visible(told))
    if width < _WRITTEN:
        return rect
    return rect + _text(str(count), f"in {style}", left + width / 2, top + 14.5, "middle")


def _name(name: str, top: float) -> Markup:
    shown = visible(name)
    short = shown if len(shown) <= _LETTERS else shown[: _LETTERS - 1] + "…"
    return Markup(
        '<text class="row-name" x="{}" y="{}" text-anchor="end">{}<title>{}</title></text>'
    ).format(_LEFT - 8, f"{top + 14.5:.1f}", short, shown)


def _text(text: str, style: str, x: float, y: float, anchor: str) -> Markup:
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(
        style, f"{x:.1f}", f"{y:.1f}", anchor, text
    )


def _rect(style: str, x: float, y: float, width: float, height: float, told: str = "") -> Markup:
    inner = Markup("<title>{}</title>").format(told) if told else ""
    return Markup(
        '<rect class="bar {}" x="{}" y="{}" width="{}" height="{}" rx="2">{}</rect>'
    ).format(style, f"{x:.1f}", f"{y:.1f}", f"{width:.1f}", f"{height:g}", inner)
