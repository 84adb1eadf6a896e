"""Every word that was said, in one row, and where the runs that are asked for first stood."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from vepa.parsing.text import GRAM, Run, grams

__all__ = ["Told"]

#: A longer run is looked for at so many places where its first words stood: cost stays linear.
_PLACES = 8

Owner = TypeVar("Owner")


class Told(Generic[Owner]):
    """What was said, for texts that are known beforehand to be looked for in it.

    Parameters
    ----------
    asked
        The words of each of these texts. Of all that is said, only what occurs in them is indexed,
        and that is little.

    Attributes
    ----------
    owners
        Of each word in the row, who said it.
    work
        Words read, runs noted and looked up.
    """

    def __init__(self, asked: Iterable[Sequence[str]]) -> None:
        #: With every run also those that it begins with: whoever misses one stops there.
        self._asked: set[Run] = set()
        for words in asked:
            self._asked.update(grams(words))
        self._words = {run[0] for run in self._asked}
        #: None stands between two texts, so that no run reaches from one into the other.
        self._row: list[str | None] = []
        self.owners: list[Owner] = []
        self._places: dict[Run, list[int]] = {}
        self.work = 0

    def note(self, words: Sequence[str], owner: Owner) -> None:
        """Read a text."""
        begin = len(self._row)
        self._row += [*words, None]
        self.owners += [owner] * (len(words) + 1)
        self.work += len(words)
        for at in [at for at, word in enumerate(words) if word in self._words]:
            for length in range(1, min(GRAM, len(words) - at) + 1):
                self.work += 1
                run = tuple(words[at : at + length])
                if run not in self._asked:
                    break
                known = self._places.setdefault(run, [])
                # Only a run of four may go on; of a shorter one the first place is enough.
                if len(known) < (_PLACES if length == GRAM else 1):
                    known.append(begin + at)

    def longest(self, words: Sequence[str], at: int) -> tuple[int, int]:
        """How many words from `at` on stood somewhere as one run, and where; (0, -1): none.

        Parameters
        ----------
        words
            One of the texts that were to be asked for.
        at
            Where the run begins in it.
        """
        for length in range(min(GRAM, len(words) - at), 0, -1):
            self.work += 1
            known = self._places.get(tuple(words[at : at + length]))
            if known:
                ends = [self._reach(words, at, place, length) for place in known]
                most = max(ends)
                return most, known[ends.index(most)]
        return 0, -1

    def _reach(self, words: Sequence[str], at: int, place: int, length: int) -> int:
        while at + length < len(words) and self._row[place + length] == words[at + length]:
            length += 1
            self.work += 1
        return length
