"""One order of ids, whatever order a file has them in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["natural_key", "natural_order"]

#: ASCII digits only: what other scripts count with is text here.
_DIGITS = "0123456789"
_PIECE = re.compile(r"([^0-9]*)([0-9]*)")
#: The begin of a number, and a number that is spelled longer than it need be.
_NUMBER = re.compile(r"(?<![0-9])[0-9]")
_PADDED = re.compile(r"(?<![0-9])0[0-9]")
#: Numbers with more digits may not fit into 64 bits.
_LONGEST = 18
NaturalKey = tuple[tuple[tuple[str, int, str], ...], str]
Places = npt.NDArray[np.int64]


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


def natural_order(names: Sequence[str]) -> Places:
    """Positions of `names` in their natural order, shape (names,)."""
    quick = _numbered(names)
    if quick is not None:
        return quick
    order = sorted(range(len(names)), key=[natural_key(name) for name in names].__getitem__)
    return np.array(order, dtype=np.int64)


def _numbered(names: Sequence[str]) -> Places | None:
    """The order of names that are all a head and a number, as `x/1`, `x/2`, `y/1`; else None.

    Thirty times as fast as by keys, and the same.
    """
    heads = [name.rstrip(_DIGITS) for name in names]
    sizes = list(map(int.__sub__, map(len, names), map(len, heads)))
    if not sizes or min(sizes) < 1 or max(sizes) > _LONGEST:
        return None
    kinds = dict.fromkeys(heads)
    if not _apart(kinds):
        return None
    ranks = {head: at for at, head in enumerate(sorted(kinds, key=_key_of_head))}
    tails = map(str.removeprefix, names, heads)
    number = np.fromiter(map(int, tails), dtype=np.int64, count=len(names))
    if len(ranks) == 1:
        order: Places = np.argsort(number, kind="stable")
        same = np.diff(number[order]) == 0
    else:
        rank = np.fromiter(map(ranks.__getitem__, heads), dtype=np.int64, count=len(names))
        order = np.lexsort((number, rank))
        same = (np.diff(number[order]) == 0) & (np.diff(rank[order]) == 0)
    # `x1` and `x01`: the keys tell which is first.
    return None if same.any() else order


def _apart(heads: Iterable[str]) -> bool:
    """Whether names with different heads are ordered by these, whatever their numbers are.

    Not so when a number can stand where another head goes on with one: `a5` and `a1b2`. Heads with
    padded numbers are not looked at: `1a` and `01a` are the same pieces.
    """
    known = set(heads)
    if any(map(_PADDED.search, known)):
        return False
    return not any(
        head[: found.start()] in known for head in known for found in _NUMBER.finditer(head)
    )


def _key_of_head(head: str) -> NaturalKey:
    return natural_key(head + "0")
