"""Near-duplicates: texts that share nearly all of their word sequences, found exactly."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vepa.corpus.trajectory import Step

__all__ = [
    "SHINGLE",
    "THRESHOLD",
    "Pair",
    "Sets",
    "jaccard",
    "near_duplicates",
    "own_words",
    "requested",
    "shingles",
]

#: Words in a row that count as one shared piece.
SHINGLE = 5
#: Share of common pieces from which on two texts are near-duplicates.
THRESHOLD = 0.7
_WORD = re.compile(r"\w+")

Shingles = frozenset[tuple[str, ...]]


@dataclass(frozen=True, order=True)
class Pair:
    """Two texts that are near-duplicates.

    Attributes
    ----------
    first, second
        Positions in what was searched, `first < second`.
    similarity
        Jaccard similarity of their shingles, from `THRESHOLD` to 1.
    """

    first: int
    second: int
    similarity: float


class Sets:
    """Disjoint sets of the numbers below `count`; each is alone at first.

    Parameters
    ----------
    count
        How many numbers.
    """

    def __init__(self, count: int):
        self._above = list(range(count))

    def of(self, member: int) -> int:
        """The number that stands for the set of a member: the smallest in it."""
        above = self._above
        while above[member] != member:
            above[member] = above[above[member]]
            member = above[member]
        return member

    def join(self, first: int, second: int) -> None:
        """Make one set of two."""
        one, other = sorted((self.of(first), self.of(second)))
        self._above[other] = one


def own_words(steps: Iterable[Step]) -> str:
    """What an episode does not share with its world: what was asked, and all that the agent wrote.

    Answers of services are left out: two episodes that read the same mail are no twins for that.

    Parameters
    ----------
    steps
        Of one trajectory.
    """
    parts: list[str] = []
    for step in steps:
        if step.kind != "observation":
            parts.append(step.text or "")
        parts.append(step.thought or "")
        if step.call is not None:
            parts += _strings(step.call.arguments)
            parts.append(step.call.text or "")
    return "\n".join(part for part in parts if part)


def requested(steps: Iterable[Step]) -> str:
    """The first words of the user; empty where there are none."""
    return next((step.text or "" for step in steps if step.kind == "user"), "")


def shingles(text: str) -> Shingles:
    """The runs of `SHINGLE` words of a text; a shorter text is one run, an empty one has none.

    Case, punctuation and white space play no part.
    """
    words = _WORD.findall(text.lower())
    if len(words) < SHINGLE:
        return frozenset({tuple(words)} if words else ())
    return frozenset(zip(*(words[at:] for at in range(SHINGLE)), strict=False))


def jaccard(first: frozenset[Any], second: frozenset[Any]) -> float:
    """Share of common members, from 0 to 1; 0 for two empty sets."""
    common = len(first & second)
    return common / (len(first) + len(second) - common) if common else 0.0


def near_duplicates(texts: Sequence[Shingles], sets: Sets, *, join: bool) -> list[Pair]:
    """Pairs of near-duplicates that stand in different sets, sorted.

    Exact, without sampling. Of two texts as alike as `THRESHOLD`, each has a common piece among its
    `size - ceil(THRESHOLD * size) + 1` rarest, so an index of these alone misses no pair. Fast
    while most pieces are rare. Texts that share most of their pieces and still are no
    near-duplicates cost a comparison a pair.

    Parameters
    ----------
    texts
        Shingles of each text.
    sets
        Of the positions in `texts`; pairs within one are passed over.
    join
        Whether a pair joins its sets at once. Then the pairs found are only as many as it takes to
        join all that belongs together; otherwise they are all there are.
    """
    found: list[Pair] = []
    ranked = _ranked(texts)
    #: Piece -> set when it entered -> texts, so that a text passes over its own set in one step.
    index: dict[int, dict[int, list[int]]] = {}
    # From short to long: whatever is in the index is no longer than what is looked up.
    for at in sorted(range(len(ranked)), key=lambda at: (len(ranked[at]), at)):
        rarest = sorted(ranked[at])[: _prefix(len(ranked[at]))]
        compared: set[int] = set()
        for other in _candidates(at, rarest, index, sets):
            if other in compared or len(ranked[other]) < THRESHOLD * len(ranked[at]):
                continue
            compared.add(other)
            similarity = jaccard(ranked[at], ranked[other])
            if similarity >= THRESHOLD:
                found.append(Pair(min(at, other), max(at, other), similarity))
                if join:
                    sets.join(at, other)
        for piece in rarest:
            index.setdefault(piece, {}).setdefault(sets.of(at), []).append(at)
    return sorted(found)


def _candidates(
    at: int, rarest: Sequence[int], index: dict[int, dict[int, list[int]]], sets: Sets
) -> Iterator[int]:
    """Texts of other sets that share one of the rarest pieces."""
    for piece in rarest:
        for members in index.get(piece, {}).values():
            for other in members:
                # All of these are of one set, and may have become part of this one's meanwhile.
                if sets.of(other) == sets.of(at):
                    break
                yield other


def _ranked(texts: Sequence[Shingles]) -> list[frozenset[int]]:
    """Pieces as whole numbers, the rarest the smallest."""
    counts = Counter(piece for text in texts for piece in text)
    # How ties are broken changes no result, and comparing words would take most of the time.
    rank = {piece: at for at, piece in enumerate(sorted(counts, key=counts.__getitem__))}
    return [frozenset(rank[piece] for piece in text) for text in texts]


def _prefix(size: int) -> int:
    """How many of the rarest pieces suffice; the small term is against rounding up too far."""
    return size - math.ceil(THRESHOLD * size - 1e-9) + 1 if size else 0


def _strings(value: Any) -> list[str]:
    """Texts in JSON data, in their order; keys are the tool's and play no part."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in _strings(each)]
