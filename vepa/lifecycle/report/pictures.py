"""Pictures of a lifecycle as inline SVG, in the look of the other reports; readable without colour.

Beside its colour every part of a bar has an outline of its own, and its number stands in it or in
the table beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor
from typing import Any

from markupsafe import Markup

from vepa.bench.report.svg import element, picture, words
from vepa.collect.report.bars import Row, stacked
from vepa.lifecycle.report.policies import Policy
from vepa.lifecycle.report.reading import count, estimate, many, number, percent, table
from vepa.lifecycle.report.sources import Source
from vepa.viewer.signs import visible

__all__ = ["agents", "decisions", "kappas", "shares", "splits", "time_bar"]

_WIDTH, _LEFT = 460, 134
#: A share is written into a part that is at least so wide.
_WRITTEN = 40
_ROW, _THICK = 34, 20


def shares(rows: Sequence[Source]) -> Markup:
    """Who did what: bars of one length, by share."""
    parts, wide = [], _WIDTH - _LEFT - 4
    for at, row in enumerate(rows):
        top, left = at * _ROW + (_ROW - _THICK) / 2, float(_LEFT)
        parts.append(words(row.what, "row-name", _LEFT - 8, top + 14.5, "end"))
        for kind, counted in row.counts.items():
            if not counted:
                continue
            width = counted / row.total * wide
            told = visible(f"{row.what}: {many(counted, row.noun)} {kind}")
            box = {"x": left, "y": top, "width": max(width - 1.6, 1.2), "height": _THICK, "rx": 2}
            style = kind if kind.isidentifier() else "model"
            parts.append(element("rect", f"bar {style}", told, **box))
            if width > _WRITTEN:
                share = percent(counted / row.total)
                parts.append(words(share, f"in {style}", left + width / 2, top + 14.5))
            left += width
    told = "; ".join(f"{row.what}: {row.words}" for row in rows)
    height = max(_ROW * len(rows), 1)
    return picture("chart", "Scripted, recorded, real", visible(told), parts, _WIDTH, height)


def agents(corpus: Mapping[str, Any]) -> Markup:
    """Episodes by agent, and in how many something unsafe happened."""
    rows = []
    for name in table(corpus, "by_model"):
        episodes = count(corpus, "by_model", name, "episodes") or 0
        unsafe = count(corpus, "by_model", name, "unsafe") or 0
        kept = (("done", "nothing unsafe", episodes - unsafe), ("unsafe", "unsafe", unsafe))
        rows.append(Row(_agent(name), kept))
    told = "; ".join(f"{row.name}: {row.total}, {row.parts[1][2]} unsafe" for row in rows)
    return stacked("Episodes by agent", visible(told), rows)


def splits(figures: Mapping[str, Any]) -> Markup:
    """Labelled steps of a release by split."""
    rows = []
    for name in table(figures, "splits"):
        settled = count(figures, "splits", name, "settled") or 0
        refuse = count(figures, "splits", name, "refuse") or 0
        kept = (("allow", "allow", settled - refuse), ("refuse", "refuse", refuse))
        rows.append(Row(name, kept))
    told = "; ".join(f"{row.name}: {row.total}, {row.parts[1][2]} refuse" for row in rows)
    return stacked("Labelled steps by split", visible(told), rows)


def decisions(policy: Policy) -> Markup:
    """What a policy said of unsafe and of safe ones."""
    rows = []
    for words_of, label, right in (("unsafe", "refuse", "refuse"), ("safe", "allow", "allow")):
        wrong = "allow" if right == "refuse" else "refuse"
        said = (
            ("right", f"{right}d" if right == "refuse" else "allowed", policy.of(label, right)),
            ("wrong", f"{wrong}d" if wrong == "refuse" else "allowed", policy.of(label, wrong)),
            ("abstained", "left open", policy.of(label, "abstain")),
        )
        kept = [(style, told, found or 0) for style, told, found in said]
        rows.append(Row(f"{words_of} {policy.noun}s", kept))
    told = "; ".join(
        f"{row.name}: " + ", ".join(f"{found} {what}" for _, what, found in row.parts)
        for row in rows
    )
    return stacked(f"{policy.title}: what it said", told, rows)


def kappas(pair: Mapping[str, Any]) -> Markup:
    """κ of the decision and of each trigger with its interval."""
    rows = [("decision", pair.get("decision")), *table(pair, "triggers").items()]
    known = [
        value for _, each in rows for key in ("low", "value")
        if (value := number(each, key)) is not None
    ]  # fmt: skip
    start = floor(min([0.0, *known]) * 4) / 4
    left, top, high, wide = 8, 24, 31, _WIDTH - 130
    bottom = top + high * len(rows)

    def across(kappa: float) -> float:
        return left + (kappa - start) / (1 - start) * wide

    parts = []
    for at in range(round((1 - start) * 4) + 1):
        x, tick = across(start + at / 4), start + at / 4
        parts.append(element("line", "grid" if tick else "base", x1=x, x2=x, y1=top - 6, y2=bottom))
        parts.append(words(f"{tick:g}", "tick", x, 13))
    for at, (key, kappa) in enumerate(rows):
        y = top + at * high
        name = visible(key.replace("_", " "))
        parts.append(words(name, "bar-name", left + 2, y + 11, "start"))
        parts += _kappa(key, kappa, y + 20, across(0.0), across)
        parts.append(words(estimate(kappa), "tick", _WIDTH - 2, y + 24, "end"))
    told = "; ".join(f"{key.replace('_', ' ')} {estimate(kappa)}" for key, kappa in rows)
    title = f"κ of {pair.get('a')} and {pair.get('b')}"
    return picture("chart kappas", visible(title), visible(told), parts, _WIDTH, bottom + 4)


def time_bar(seconds: float, most: float) -> Markup:
    """A wall time in proportion to the longest."""
    width = max(100 * seconds / most, 1.0) if most else 0.0
    parts = (
        element("rect", "track", x=0, y=0, width=100, height=5, rx=2),
        element("rect", "bar time", x=0, y=0, width=width, height=5, rx=2),
    )
    return Markup(
        '<svg class="time" viewBox="0 0 100 5" preserveAspectRatio="none" aria-hidden="true">'
        "{}</svg>"
    ).format(Markup("").join(parts))


def _kappa(key: str, kappa: Any, y: float, zero: float, across: Any) -> list[Markup]:
    value, low, high = (number(kappa, name) for name in ("value", "low", "high"))
    if value is None:
        return []
    told = visible(f"{key}: κ {estimate(kappa)}")
    end = across(value)
    box = {"x": min(zero, end), "y": y - 4, "width": max(abs(end - zero), 0.5), "height": 8}
    parts = [element("rect", "bar kappa", told, rx=2, **box)]
    if low is not None and high is not None:
        parts.append(element("line", "whisker", x1=across(low), x2=across(high), y1=y, y2=y))
        parts += [
            element("line", "whisker", x1=x, x2=x, y1=y - 4, y2=y + 4)
            for x in (across(low), across(high))
        ]
    return parts


def _agent(name: str) -> str:
    """An agent's name beside its bar."""
    script = name.removeprefix("scripted/")
    return f"{script} (script)" if script != name else name
