"""One order of ids, whatever order a file has them in."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["natural_key", "natural_order"]

#: ASCII digits only: what other scripts count with is text here.
_PIECE = re.compile(r"([^0-9]*)([0-9]*)")
NaturalKey = tuple[tuple[tuple[str, int, str], ...], str]


def natural_key(name: str) -> NaturalKey:
    """What to sort an id by: text as text, runs of digits as numbers, so `x/9` before `x/10`.

    Two names that differ have keys that differ, so the order is total.
    """
    pieces = []
    for text, digits in _PIECE.findall(name):
        # Length before digits orders numbers of any size; `int` refuses those beyond some length.
        number = digits.lstrip("0") or digits[:1]
        pieces.append((text, len(number), number))
    return tuple(pieces), name  # the name itself, since `a1` and `a01` are the same pieces


def natural_order(names: Sequence[str]) -> list[int]:
    """Positions of `names` in their natural order, shape (names,)."""
    return sorted(range(len(names)), key=[natural_key(name) for name in names].__getitem__)
