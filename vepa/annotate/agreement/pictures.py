"""Confusion as pictures: the decision, the primary trigger, and κ of every trigger."""

from __future__ import annotations

from collections.abc import Callable
from math import floor, sqrt

from markupsafe import Markup

from vepa.annotate.agreement.figures import Binary, Pair
from vepa.annotate.agreement.tables import ends, value
from vepa.bench.report.svg import element, picture, words

__all__ = ["decision_map", "kappa_bars", "primary_map"]

#: Width of a picture: half a page, or a phone.
_WIDTH = 460


def decision_map(pair: Pair) -> Markup:
    """Contents by what the two decided, two by two."""
    table = pair.decision
    rows = [("refuse", (table.both, table.only_a)), ("allow", (table.only_b, table.neither))]
    left, top, wide, high = 96, 46, 180, 76
    most = max(pair.items, 1)
    parts = [
        words(pair.b, "axis-label", left + wide, 16),
        words(pair.a, "axis-label", 30, top + high + 4),
    ]
    for column, name in enumerate(("refuse", "allow")):
        parts.append(words(name, "tick", left + wide * (column + 0.5), 36))
    for row, (name, counts) in enumerate(rows):
        y = top + row * high
        parts.append(words(name, "tick", left - 10, y + high / 2 + 4, "end"))
        for column, count in enumerate(counts):
            x = left + column * wide
            other = ("refuse", "allow")[column]
            told = f"{pair.a} says {name}, {pair.b} says {other}: {count:,} contents"
            parts.append(_cell(row == column, count, most, told, (x, y, wide - 3, high - 3)))
            place = x + (wide - 3) / 2
            parts.append(words(f"{count:,}", "count large", place, y + high / 2))
            parts.append(words(f"{100 * count / most:.1f} %", "tick", place, y + high / 2 + 18))
    return picture(
        "chart map",
        f"Decisions of {pair.a} and {pair.b}",
        f"Both refuse {table.both:,}, only {pair.a} {table.only_a:,}, only {pair.b} "
        f"{table.only_b:,}, both allow {table.neither:,}.",
        parts,
        _WIDTH,
        top + 2 * high + 6,
    )


def primary_map(pair: Pair) -> Markup:
    """Contents by the primary trigger that each named; both axes carry the numbers of the bars."""
    found = next(each for each in pair.nominal if each.key == "primary")
    numbers = _numbers(pair)
    names = sorted(found.categories, key=lambda name: (numbers.get(name, 0), name))
    place = [found.categories.index(name) for name in names]
    counts = [[found.counts[row][column] for column in place] for row in place]
    # Where neither sees one there are so many that nothing else would have a shade.
    quiet = {at for at, name in enumerate(names) if name not in numbers}
    most = max(
        (
            count
            for row, line in enumerate(counts)
            for column, count in enumerate(line)
            if not {row, column} <= quiet
        ),
        default=1,
    )
    left, top = 34, 40
    side = min(40.0, (_WIDTH - left - 4) / max(len(names), 1))
    parts = [
        words(pair.b, "axis-label", left + side * len(names) / 2, 14),
        words(pair.a, "axis-label", 12, top - 8),
    ]
    for row, name in enumerate(names):
        y = top + row * side
        number = str(numbers.get(name, 0))
        parts.append(words(number, "tick", left + (row + 0.5) * side, top - 8))
        parts.append(words(number, "tick", left - 8, y + side / 2 + 4, "end"))
        for column, other in enumerate(names):
            count = counts[row][column]
            told = f"{pair.a}: {name}; {pair.b}: {other}: {count:,} contents"
            box = (left + column * side, y, side - 2, side - 2)
            parts.append(_cell(row == column, count, most, told, box))
            if count:
                parts.append(words(str(count), "count", box[0] + side / 2 - 1, y + side / 2 + 3))
    return picture(
        "chart map",
        f"Primary triggers of {pair.a} and {pair.b}",
        f"{found.items:,} contents; the diagonal is agreement. Shades leave out the contents in "
        "which neither sees a trigger.",
        parts,
        _WIDTH,
        top + side * len(names) + 4,
    )


def kappa_bars(pair: Pair) -> Markup:
    """κ of the decision and of each trigger, with its interval."""
    rows = [pair.decision, *pair.triggers]
    lows = [each.kappa.low for each in rows if each.kappa.low is not None]
    values = [each.kappa.value for each in rows if each.kappa.value is not None]
    start = floor(min([0.0, *lows, *values]) * 4) / 4
    left, top, high, wide = 8, 26, 34, _WIDTH - 64

    def across(kappa: float) -> float:
        return left + (kappa - start) / (1 - start) * wide

    bottom = top + high * len(rows)
    parts = []
    for at in range(round((1 - start) * 4) + 1):
        tick = start + at / 4
        x = across(tick)
        style = "base" if tick == 0 else "grid"
        parts.append(element("line", style, x1=x, x2=x, y1=top - 6, y2=bottom))
        parts.append(words(f"{tick:g}", "tick", x, 14))
    numbers = _numbers(pair)
    for at, each in enumerate(rows):
        number = numbers.get(each.key)
        name = each.key.replace("_", " ")
        y = top + at * high
        label = f"{number}  {name}" if number else name
        parts.append(words(label, "bar-name", across(0.0) + 3, y + 11, "start"))
        parts += _bar(each, y + 15, across)
        parts.append(words(value(each.kappa), "tick", _WIDTH - 4, y + 26, "end"))
    told = [f"{each.key} {value(each.kappa)}" for each in rows]
    return picture(
        "chart bars",
        f"κ of {pair.a} and {pair.b}",
        "; ".join(told),
        parts,
        _WIDTH,
        bottom + 6,
    )


def _bar(each: Binary, y: float, across: Callable[[float], float]) -> list[Markup]:
    kappa, high = each.kappa, 13
    zero = across(0.0)
    if kappa.value is None:
        return [words(f"no κ: {kappa.reason}", "tick", zero + 3, y + high - 2, "start")]
    end = across(kappa.value)
    state = "unstable" if each.unstable else "stable"
    told = (
        f"{each.key}: κ {value(kappa)}, 95 % {ends(kappa)}; both {each.both}, one only "
        f"{each.only_a} and {each.only_b}" + ("; few, unstable" if each.unstable else "")
    )
    box = {"x": min(zero, end), "y": y, "width": max(abs(end - zero), 0.5), "height": high}
    parts = [element("rect", f"bar kappa {state}", told, **box)]
    if kappa.low is not None and kappa.high is not None:
        low, top, middle = across(kappa.low), across(kappa.high), y + high / 2
        parts.append(element("line", "whisker", x1=low, x2=top, y1=middle, y2=middle))
        parts += [
            element("line", "whisker", x1=x, x2=x, y1=middle - 4, y2=middle + 4) for x in (low, top)
        ]
    return parts


def _numbers(pair: Pair) -> dict[str, int]:
    """Trigger -> its number in the pictures, from 1; 0 is left for none."""
    return {each.key: at for at, each in enumerate(pair.triggers, 1)}


def _cell(
    same: bool, count: int, most: int, told: str, box: tuple[float, float, float, float]
) -> Markup:
    """A field whose shade tells its share, by the square root so that single items show."""
    shade = 0.0 if not count else 0.12 + 0.68 * sqrt(min(count / max(most, 1), 1.0))
    style = "cell same" if same else "cell apart"
    x, y, width, height = box
    shape: dict[str, float | str] = {"x": x, "y": y, "width": width, "height": height, "rx": 3.0}
    shape["fill-opacity"] = f"{shade:.2f}"
    return element("rect", style if count else "cell empty", told, **shape)
