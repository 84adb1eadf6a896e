"""The marks of methods: eight shapes that differ without colour."""

from __future__ import annotations

from markupsafe import Markup

from vepa.bench.experiments.writing.styles import MARKS, Style
from vepa.bench.report.svg import element

__all__ = ["mark"]

#: Outlines around (0, 0) for a mark of size 1; a circle is drawn as two arcs.
_ROUND = ((-1.0, 0.0), (1.0, 0.0))
_OUTLINES: dict[str, tuple[tuple[float, float], ...]] = {
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "triangle": ((0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)),
    "diamond": ((0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)),
    "wedge": ((0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)),
}
_STROKES: dict[str, tuple[tuple[float, float], ...]] = {
    "cross": ((-1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (1.0, -1.0)),
    "plus": ((-1.2, 0.0), (1.2, 0.0), (0.0, -1.2), (0.0, 1.2)),
}
#: Filled with the ground, so that they differ from the full ones.
_OPEN = frozenset({"wedge", "ring"})


def mark(style: Style, x: float, y: float, size: float = 3.6, told: str = "") -> Markup:
    """A method's mark at a place, with an optional tooltip."""
    name = MARKS[style.mark]
    kind = "open" if name in _OPEN else "bare" if name in _STROKES else "full"
    return element("path", f"mark {kind} {style.classes}", told, d=_path(name, x, y, size))


def _path(name: str, x: float, y: float, size: float) -> str:
    def at(point: tuple[float, float]) -> str:
        return f"{x + size * point[0]:.1f},{y + size * point[1]:.1f}"

    if name in _STROKES:
        one, two, three, four = _STROKES[name]
        return f"M{at(one)} L{at(two)} M{at(three)} L{at(four)}"
    if name in _OUTLINES:
        return f"M{' L'.join(at(point) for point in _OUTLINES[name])} Z"
    arc = f"A{size:.1f},{size:.1f} 0 1 0"
    return f"M{at(_ROUND[0])} {arc} {at(_ROUND[1])} {arc} {at(_ROUND[0])} Z"
