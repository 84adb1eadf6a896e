"""Ranges, ticks and widths of texts: the arithmetic of pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10

from vepa.bench.experiments.document import Figure, Unit
from vepa.bench.experiments.telling import axis_value

__all__ = ["Axis", "broken", "cut", "figure_axis", "number_axis", "room"]

#: Widths of letters beside the size of the text, for the widest of the common fonts.
_NARROW, _WIDE = frozenset("fijlrtI.,:;'|!()[]- "), frozenset("mwMW%±…")
_LETTERS = {"narrow": 0.36, "wide": 0.97, "capital": 0.7, "digit": 0.64, "other": 0.61}
#: Ratio of the ends from which a positive axis counts by powers of ten.
_DECADES = 900


@dataclass(frozen=True)
class Axis:
    """A numeric axis.

    Attributes
    ----------
    low, high
        Its ends.
    ticks
        Value and what is written there.
    powers
        Whether it counts by powers of ten.
    """

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    powers: bool = False

    def share(self, number: float) -> float:
        """Where a figure lies, from 0 at the low end to 1 at the high one."""
        low, high, at = self.low, self.high, min(max(number, self.low), self.high)
        if self.powers:
            low, high, at = log10(low), log10(high), log10(at)
        return (at - low) / (high - low)


def figure_axis(figure: Figure, most: int, *, snug: bool = False) -> Axis:
    """The axis of a figure's values: all points, bands and marks of the source are on it.

    Parameters
    ----------
    figure
        The figure.
    most
        About how many ticks there is room for.
    snug
        Whether its ends may lie half way between two ticks.
    """
    points = [point for one in figure.series for point in one.points]
    ends = [end for point in points for end in (point.low, point.high) if end is not None]
    values = [*(point.y for point in points), *ends, *figure.marks.values()]
    low, high = min(values, default=0.0), max(values, default=1.0)
    if figure.unit == "count" and 0 < low < high / 2:
        low = 0.0
    return _even(low, high, most, figure.unit, snug=snug)


def number_axis(numbers: Iterable[float], most: int) -> Axis:
    """The axis of rounds, shares or sizes."""
    known = sorted(set(numbers)) or [0.0, 1.0]
    low, high = known[0], known[-1]
    if low > 0 and high / low >= _DECADES:
        decades = range(ceil(log10(low) - 1e-9), floor(log10(high) + 1e-9) + 1)
        every = max(1, ceil(len(decades) / most))
        ticks = tuple((10.0**at, axis_value(10.0**at)) for at in decades[::every])
        return Axis(low, high, ticks, powers=True)
    if low == high:
        return Axis(low - 0.5, high + 0.5, ((low, axis_value(low)),))
    if len(known) <= most and _apart(known):
        return Axis(low, high, tuple((at, axis_value(at)) for at in known))
    step = _step((high - low) / max(most - 1, 1), whole=all(at == int(at) for at in known))
    inner = [at * step for at in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]
    if inner and inner[0] - low > 0.6 * step:  # rounds begin with 1, not with 5
        inner.insert(0, low)
    return Axis(low, high, tuple((at, axis_value(_clean(at))) for at in inner))


def room(text: str, size: float) -> float:
    """About how wide a text is."""
    return size * sum(_LETTERS[_kind(letter)] for letter in text)


def broken(text: str, width: float, size: float, most: int = 3) -> list[str]:
    """A text on as many lines as it takes; what the last of `most` cannot hold is left out."""
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}".strip()
        if lines[-1] and room(joined, size) > width and len(lines) < most:
            lines.append(word)
        else:
            lines[-1] = joined
    return [cut(line, width, size) for line in lines]


def cut(text: str, width: float, size: float) -> str:
    """A text that fits, its end left out where it must be."""
    if room(text, size) <= width:
        return text
    kept = len(text) - 1
    while kept > 1 and room(f"{text[:kept]}…", size) > width:
        kept -= 1
    return f"{text[:kept].rstrip()}…"


def _kind(letter: str) -> str:
    if letter in _NARROW or letter in _WIDE:
        return "narrow" if letter in _NARROW else "wide"
    if letter.isdigit():
        return "digit"
    return "capital" if letter.isupper() or ord(letter) > 0x2FF else "other"


def _even(low: float, high: float, most: int, unit: Unit, *, snug: bool) -> Axis:
    """An axis with round ticks, its ends among them or half way between."""
    if high - low < 1e-9:
        low, high = low - 0.05, high + 0.05
    step = _step((high - low) / max(most - 1, 1), whole=unit == "count" and high - low > most)
    part = step / 2 if snug else step
    first, last = floor(low / part + 1e-9) * part, ceil(high / part - 1e-9) * part
    inner = range(ceil(first / step - 1e-9), floor(last / step + 1e-9) + 1)
    ticks = tuple((_clean(at * step), axis_value(_clean(at * step), unit)) for at in inner)
    return Axis(first, last, ticks)


def _step(least: float, *, whole: bool = False) -> float:
    """The next round number: 1, 2 or 5 times a power of ten."""
    power = 10.0 ** floor(log10(least))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= least * (1 - 1e-9))
    return max(step, 1.0) if whole else step


def _apart(known: Sequence[float]) -> bool:
    """Whether a tick at each leaves room for its text."""
    span = known[-1] - known[0]
    pairs = pairwise(known)
    return all((after - before) / span >= 0.08 for before, after in pairs)


def _clean(number: float) -> float:
    return round(number, 10) + 0.0
