"""Figures of a summary that may not be there, and how they are written for people.

A summary of an older version, or of a lifecycle that is not whole, lacks some; what is not there
reads as None and is written as a dash, never as nought.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vepa.bench.comparison import counted

__all__ = [
    "NOTHING", "count", "duration", "enumerated", "estimate", "listed", "many", "number", "part",
    "percent", "price", "score", "short", "table", "text",
]  # fmt: skip

NOTHING = "–"
#: Signs of a hash that tell two apart for people.
_HASH = 12
_MINUTE, _HOUR = 60, 3600


def part(data: Any, *path: str) -> Any:
    """What stands under a path of keys; None where one of them is missing."""
    for key in path:
        if not isinstance(data, Mapping):
            return None
        data = data.get(key)
    return data


def table(data: Any, *path: str) -> dict[str, Any]:
    """A mapping under a path; empty where there is none."""
    found = part(data, *path)
    return {str(key): value for key, value in found.items()} if isinstance(found, Mapping) else {}


def listed(data: Any, *path: str) -> list[Any]:
    """A list under a path; empty where there is none."""
    found = part(data, *path)
    return list(found) if isinstance(found, list) else []


def count(data: Any, *path: str) -> int | None:
    """A whole number under a path."""
    found = part(data, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def number(data: Any, *path: str) -> float | None:
    """A number under a path."""
    found = part(data, *path)
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        return None
    return float(found)


def text(data: Any, *path: str) -> str | None:
    """A text under a path."""
    found = part(data, *path)
    return found if isinstance(found, str) and found else None


def many(value: int | None, word: str = "") -> str:
    """A count with its noun: `1 step`, `2,281 steps`."""
    if value is None:
        return NOTHING
    if not word:
        return f"{value:,}"
    return counted(value, word).replace(str(value), f"{value:,}", 1)


def percent(share: float | None) -> str:
    """A share: `84 %`, `7.2 %`."""
    if share is None:
        return NOTHING
    digits = 1 if 0 < share < 0.1 or 0.99 < share < 1 else 0
    return f"{100 * share:.{digits}f}\u00a0%"


def score(value: float | None) -> str:
    """A figure between 0 and 1 with three digits."""
    return NOTHING if value is None else f"{value:.3f}"


def estimate(figure: Any) -> str:
    """A figure with its interval, where it has one."""
    value, low, high = (number(figure, key) for key in ("value", "low", "high"))
    if value is None:
        return NOTHING
    if low is None or high is None:
        return f"{value:.2f}"
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


def duration(seconds: float | None) -> str:
    """A wall time for people."""
    if seconds is None:
        return NOTHING
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h"


def price(dollars: float | None) -> str:
    """A price; one that is not known is not nought."""
    return "price not known" if dollars is None else f"{dollars:.2f} USD"


def short(digest: str | None) -> str:
    """The beginning of a hash."""
    return NOTHING if digest is None else digest[:_HASH]


def enumerated(parts: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)
