"""How a method looks: the same colour, dash and mark in every figure of a report.

The colours lie around the hues of Okabe and Ito, moved apart for each ground: any two differ by at
least 0.09 in OKLab for people with normal sight, protanopia, deuteranopia and tritanopia, and each
stands off 3 : 1 or more from its ground (tests/bench/experiments/test_writing_colours.py). Nobody
has to rely on them: within a figure no two methods share both dash and mark.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vepa.bench.experiments.document import Figure, Report

__all__ = ["DARK", "DASHES", "LIGHT", "MARKS", "Style", "palette_css", "styles_of"]

#: Colours on the light ground and on the dark one; the same place is the same method.
LIGHT = (
    "#087bbd", "#b23a09", "#336e56", "#e70e8d", "#a3871d", "#1f325a", "#008ffe", "#71301d",
)  # fmt: skip
DARK = (
    "#3e9bfc", "#fc8545", "#00d8b5", "#b45c80", "#ebdb1f", "#baf8d9", "#2378c9", "#ee1c07",
)  # fmt: skip
#: Lengths of dash and gap, in units of a picture.
DASHES = ("", "8 3", "2 3", "9 3 2 3", "14 4", "5 4", "9 3 2 3 2 3", "1.5 4.5")
#: Names of the marks; `vepa.bench.experiments.writing.marks` draws them.
MARKS = ("circle", "square", "triangle", "diamond", "cross", "plus", "wedge", "ring")

#: Methods that have their place in every report; all others take what is free.
_KNOWN = {
    "default": 0, "paper": 1, "forest": 2, "ripper": 3, "hoeffding": 4, "lookup": 5, "lisa": 6,
    "agrail": 7,
}  # fmt: skip
#: A place is a colour and one of eight marks with it.
_PLACES = len(LIGHT) * len(MARKS)


@dataclass(frozen=True)
class Style:
    """The look of a method.

    Attributes
    ----------
    place
        From 0; which colour, dash and mark follow from it.
    first
        Whether its curve is drawn on top, and stronger: VEPA as it is delivered.
    """

    place: int
    first: bool = False

    @property
    def colour(self) -> int:
        """Position in `LIGHT` and `DARK`."""
        return self.place % len(LIGHT)

    @property
    def mark(self) -> int:
        """Position in `MARKS`."""
        return (self.place + 3 * (self.place // len(LIGHT))) % len(MARKS)

    @property
    def dash(self) -> int:
        """Position in `DASHES`."""
        return (self.place + self.place // len(LIGHT)) % len(DASHES)

    @property
    def classes(self) -> str:
        """For an element of a picture."""
        return f"c{self.colour} d{self.dash}{' first' if self.first else ''}"


def styles_of(report: Report) -> dict[str, Style]:
    """The look of every method in a report's figures.

    A method that is not known takes the place that least resembles those it shares a figure with.

    Raises
    ------
    ValueError
        When a figure has more methods than there are looks.
    """
    figures = [figure for each in report.experiments for figure in each.figures]
    keys = list(dict.fromkeys(one.style for figure in figures for one in figure.series))
    styles: dict[str, Style] = {}
    for key in keys:
        place = _KNOWN.get(key)
        if place is not None and all(style.place != place for style in styles.values()):
            styles[key] = Style(place, first=place == 0)
    for key in keys:
        if key not in styles:
            beside = [styles[other] for other in _beside(key, figures) if other in styles]
            styles[key] = Style(_free(beside, styles.values()))
    return styles


def palette_css() -> str:
    """The colours as classes, for both grounds."""

    def rules(colours: Iterable[str]) -> str:
        return " ".join(f".c{at} {{ --c: {colour}; }}" for at, colour in enumerate(colours))

    dashes = " ".join(
        f".line.d{at}, .stem.d{at} {{ stroke-dasharray: {dash}; }}"
        for at, dash in enumerate(DASHES)
        if dash
    )
    return (
        f"{rules(LIGHT)}\n@media (prefers-color-scheme: dark) {{ {rules(DARK)} }}\n"
        f"@media print {{ {rules(LIGHT)} }}\n{dashes}\n"
    )


def _beside(key: str, figures: Iterable[Figure]) -> set[str]:
    shared = ({one.style for one in figure.series} for figure in figures)
    return set().union(*(keys for keys in shared if key in keys)) - {key}


def _free(beside: list[Style], taken: Iterable[Style]) -> int:
    used = {style.place for style in taken}

    def alike(place: int) -> tuple[int, int]:
        new = Style(place)
        colours = sum(style.colour == new.colour for style in beside)
        marks = sum(style.mark == new.mark for style in beside)
        return 2 * colours + 2 * marks + (place in used), place

    def told_apart(place: int) -> bool:
        new = Style(place)
        return all((style.mark, style.dash) != (new.mark, new.dash) for style in beside)

    free = [place for place in range(_PLACES) if told_apart(place)]
    if not free:
        raise ValueError("a figure has more methods than can be told apart")
    return min(free, key=alike)
