"""Figures as SVG: within the page, and as a file that stands alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from markupsafe import Markup

from vepa.bench.experiments.document import Figure, Series
from vepa.bench.experiments.telling import value
from vepa.bench.experiments.writing.dots import forest_plot
from vepa.bench.experiments.writing.lines import WIDTH, curves
from vepa.bench.experiments.writing.styles import Style, palette_css
from vepa.bench.report.svg import picture, words

__all__ = ["drawn", "is_tall", "picture_css", "stand_alone"]

#: Characters that no XML may hold.
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
#: Room around a picture that stands alone.
_EDGE = 10
#: How large the file is shown where nothing else says it.
_SCALE = 1.6


def drawn(figure: Figure, styles: Mapping[str, Style]) -> Markup:
    """A figure for the page, which brings `picture_css`."""
    parts, height = _parts(figure, styles)
    return picture("figure", figure.title, _described(figure), parts, WIDTH, height)


def stand_alone(figure: Figure, styles: Mapping[str, Style]) -> str:
    """A figure as a file of its own, for light and dark."""
    parts, height = _parts(figure, styles)
    svg = picture(
        "figure",
        figure.title,
        _described(figure),
        [Markup('<g transform="translate({0} {0})">{1}</g>').format(_EDGE, Markup("").join(parts))],
        WIDTH + 2 * _EDGE,
        height + 2 * _EDGE,
        style=picture_css() + "svg.figure { background: var(--card); }",
        scale=_SCALE,
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{_FORBIDDEN.sub("", svg)}\n'


def is_tall(figure: Figure) -> bool:
    """Whether a figure is about as high as two others."""
    return figure.kind == "dots" and sum(len(one.points) for one in figure.series) > 14


@cache
def picture_css() -> str:
    """What all pictures look like."""
    path = Path(__file__).parent / "templates" / "picture.css"
    return path.read_text(encoding="utf-8") + palette_css()


def _parts(figure: Figure, styles: Mapping[str, Style]) -> tuple[list[Markup], float]:
    if not _filled(figure):
        return [words("nothing was run", "axis", WIDTH / 2, 24)], 36.0
    return (curves if figure.kind == "lines" else forest_plot)(figure, styles)


def _described(figure: Figure) -> str:
    """What the picture says, for those who do not see it."""
    if figure.kind == "lines":
        ends = (f"{one.name} {value(one.points[-1].y, figure.unit)}" for one in _filled(figure))
        said = f"{figure.y_label} by {figure.x_label}; at the end: {', '.join(ends)}."
    else:
        said = f"{figure.y_label} of {len(figure.series)} methods in {len(figure.groups)} groups."
    marks = (f"{label} {value(at, figure.unit)}" for label, at in figure.marks.items())
    source = f" Of the source: {', '.join(marks)}." if figure.marks else ""
    return said + source


def _filled(figure: Figure) -> list[Series]:
    return [one for one in figure.series if one.points]
