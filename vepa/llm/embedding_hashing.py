"""Texts as vectors without a model: hashed n-grams of words and characters, the same everywhere."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

from vepa.errors import SettingError, Where
from vepa.llm.tally import Tally

__all__ = ["HASHING", "HashingEmbedder"]

#: Names of these embedders begin with it; the dimensions follow.
HASHING = "hashing/"
#: Fewer, and unlike texts share their places; more, and vectors of a memory are gigabytes.
_FEWEST, _MOST = 16, 65_536
_WORD = re.compile(r"\w+")
_WORDS, _CHARACTERS = (1, 2), (3, 4, 5)
#: A word says more than a row of letters, of which every word brings many.
_WEIGHT_OF_WORDS = 4.0


class HashingEmbedder:
    """Counts of n-grams, each at a place and with a sign that its hash says.

    One and two words and three to five characters within word boundaries, in small letters. It
    knows no meaning: texts are near where they share words or parts of words. Nothing depends on
    the process, the platform or `PYTHONHASHSEED`.

    Parameters
    ----------
    name
        `hashing/N`, N the number of dimensions, 16 to 65536.

    Raises
    ------
    SettingError
        When N is no such number.
    """

    def __init__(self, name: str):
        self.name = name
        self.dimensions = _dimensions(name)

    def vectors(self, texts: Sequence[str], tally: Tally) -> npt.NDArray[np.float64]:
        """Vectors of texts, shape (texts, dimensions); they may have any length."""
        tally.source = "hashing"
        found = np.zeros((len(texts), self.dimensions))
        for row, text in zip(found, texts, strict=True):
            # Sorted: sums of floats depend on their order, and a text may repeat another's parts.
            for gram, count in sorted(Counter(_grams(text)).items()):
                place, sign, weight = _place(gram)
                row[place % self.dimensions] += sign * weight * (1.0 + math.log(count))
        return found


def _dimensions(name: str) -> int:
    written = name.removeprefix(HASHING)
    # The plain form only: `hashing/0256` would be another name for the same vectors.
    if re.fullmatch(r"[1-9][0-9]{0,5}", written) and _FEWEST <= int(written) <= _MOST:
        return int(written)
    raise SettingError(
        f"{name!r} names no number of dimensions",
        where=Where(field="embedder"),
        remedy=f"write hashing/N with N from {_FEWEST} to {_MOST}, for example hashing/1024",
    )


def _grams(text: str) -> Iterator[str]:
    plain = normalize("NFKC", text).casefold()
    words = _WORD.findall(plain)
    for size in _WORDS:
        for start in range(len(words) - size + 1):
            yield "w " + " ".join(words[start : start + size])
    # Signs count where there are no words at all: no text that shows something is without a vector.
    for word in words or plain.split():
        fenced = f" {word} "
        for size in _CHARACTERS:
            for start in range(max(1, len(fenced) - size + 1)):
                yield "c " + fenced[start : start + size]


@lru_cache(maxsize=65_536)
def _place(gram: str) -> tuple[int, float, float]:
    digest = int.from_bytes(blake2b(gram.encode("utf-8", "surrogatepass"), digest_size=9).digest())
    weight = _WEIGHT_OF_WORDS if gram[0] == "w" else 1.0
    return digest >> 8, 1.0 if digest & 1 else -1.0, weight
