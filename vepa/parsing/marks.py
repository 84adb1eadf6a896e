"""Classes of sensitivity: their order, and the distinctive strings that tell them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from vepa.parsing.text import fold
from vepa.policy.schema import UNKNOWN, Schema

__all__ = ["Marks"]

_SEPARATORS = re.compile(r"[\W_]+")
#: Marks of at least so many letters and digits are also found with other separators.
_COMPACT = 8


class Marks:
    """Which class of sensitivity a text shows.

    Parameters
    ----------
    marks
        Distinctive string -> class.
    schema
        Orders the classes: as listed in `sensitivity`, the least sensitive first.
    """

    def __init__(self, marks: Mapping[str, str], schema: Schema):
        known = "sensitivity" in schema
        self._words = schema["sensitivity"].values if known else (UNKNOWN,)
        marks = marks if known else {}
        ranked = sorted(marks.items(), key=lambda item: -self._words.index(item[1]))
        self._marks = [(fold(mark).strip(), word) for mark, word in ranked]
        self._compact = [
            (bare, word)
            for mark, word in self._marks
            if len(bare := _SEPARATORS.sub("", mark)) >= _COMPACT
        ]
        protected = "confidential"
        self._protected = self._words.index(protected) if protected in self._words else 1

    def rank(self, word: str) -> int | None:
        """Position of a class, from 1; None for `unknown`."""
        return None if word == UNKNOWN else self._words.index(word)

    def word(self, rank: int | None) -> str:
        """The class of a rank; `unknown` for None."""
        return UNKNOWN if rank is None else self._words[rank]

    def most(self, *words: str) -> str:
        """The most sensitive of several classes; `unknown` counts least."""
        return self._words[max(self._words.index(word) for word in words)]

    def is_protected(self, word: str) -> bool:
        """Whether a class is `confidential` or above."""
        return self._words.index(word) >= self._protected

    def highest(self, texts: Iterable[str]) -> str:
        """The most sensitive class that a mark in `texts` shows; `unknown` when there is none."""
        if not self._marks:
            return UNKNOWN
        folded = fold("\n".join(texts))
        bare = _SEPARATORS.sub("", folded)
        plain = next((word for mark, word in self._marks if mark in folded), UNKNOWN)
        compact = next((word for mark, word in self._compact if mark in bare), UNKNOWN)
        return self.most(plain, compact)
