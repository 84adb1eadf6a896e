"""Runs of one to four words, with where each has stood: hashes, filled a text at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from vepa.corpus.tools import Origin
from vepa.parsing.directives import Ask
from vepa.parsing.text import GRAM, Run, grams, words_of

__all__ = ["CELL_WORDS", "Planted", "Runs", "Seen", "Standing"]

Standing = Literal["delegated", "errand", "foreign"]

#: Most runs stand in no request; they share this.
_NONE: Mapping[int, bool] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Planted:
    """A request by a third party that an agent has read.

    Attributes
    ----------
    ask
        What it wants.
    origin
        What it stood in.
    sentence
        Its words.
    standing
        `delegated`: the user told the agent to do what it says. `errand`: the user gave the agent
        the piece of work that it stands in. `foreign`: neither.
    """

    ask: Ask
    origin: Origin
    sentence: tuple[str, ...]
    standing: Standing


@dataclass(frozen=True, slots=True)
class Seen:
    """Where one run of words has stood.

    Attributes
    ----------
    user
        In the user's own words.
    data
        In a result, whatever else stood there.
    plain
        In a document of a result that asks for nothing.
    inside
        In or around these requests (positions in the memory's list) -> whether it had been told
        before, by a document that asks for nothing.
    beside
        Says who sent a document with one of these requests (for an answer, or in an errand).
    """

    user: bool = False
    data: bool = False
    plain: bool = False
    inside: Mapping[int, bool] = field(default_factory=lambda: _NONE)
    beside: Mapping[int, bool] = field(default_factory=lambda: _NONE)


#: Words of a cell of a table or record that tells something.
CELL_WORDS = range(2, GRAM + 1)
_CELL_ENDS = re.compile(r"[,;|\t\n]")


@dataclass(frozen=True, slots=True)
class _Text:
    """A text of a result as `Runs.add_data` takes it."""

    text: str
    words: list[str]
    plain: bool
    rank: int | None
    around: Sequence[list[str]]

    def cells(self) -> Iterator[Run]:
        cells = [self.words]
        if len(self.words) > GRAM:
            cells = [words_of(cell) for cell in _CELL_ENDS.split(self.text)]
        return (tuple(words) for words in cells if len(words) in CELL_WORDS)


class Runs:
    """The table: run of words -> where it has stood.

    A set for each answer, not an entry for each run: sets take in a whole text at once, and most
    runs are never asked for.
    """

    def __init__(self) -> None:
        self._user: set[Run] = set()
        #: In results; a run stands in the first of the two where any document of it asks nothing.
        self._plain: set[Run] = set()
        self._pressing: set[Run] = set()
        self._ranked: dict[int, set[Run]] = {}
        self._cells: set[Run] = set()
        self._inside: dict[Run, dict[int, bool]] = {}
        self._beside: dict[Run, dict[int, bool]] = {}
        #: Texts wait for the first question: in traces of unknown tools nobody ever asks.
        self._waiting: list[_Text] = []
        self._tables: list[_Text] = []

    def add_user(self, words: list[str]) -> None:
        """Note words of the user's own."""
        self._user.update(grams(words))

    def add_data(
        self,
        text: str,
        words: list[str],
        *,
        plain: bool,
        rank: int | None,
        around: Sequence[list[str]],
    ) -> None:
        """Note a text of a result.

        Parameters
        ----------
        text, words
            As it is, and its words.
        plain
            Whether its document asks for nothing.
        rank
            Its class of sensitivity, where that is known.
        around
            Words of each argument of the call: what the agent itself put there is not told by the
            result. The same object for all texts of a result.
        """
        if rank is not None:
            self._ranked.setdefault(rank, set())
        noted = _Text(text, words, plain, rank, around)
        self._waiting.append(noted)
        self._tables.append(noted)

    def _settle(self) -> None:
        around: Sequence[list[str]] = ()
        echo: set[Run] = set()
        for each in self._waiting:
            if each.around is not around:
                around = each.around
                echo = {run for words in around for run in grams(words)}
            runs = grams(each.words)
            told = [run for run in runs if run not in echo] if echo else runs
            (self._plain if each.plain else self._pressing).update(told)
            if each.rank is not None:
                self._ranked[each.rank].update(runs)
        self._waiting.clear()

    def add_inside(self, runs: Iterable[Run], number: int, *, told: bool = False) -> None:
        """Note what stands in or around a request; a later look at the same changes nothing."""
        self._settle()
        for run in runs:
            self._inside.setdefault(run, {}).setdefault(number, told or run in self._plain)

    def add_beside(self, runs: Iterable[Run], number: int) -> None:
        """Note what names the sender of a request."""
        for run in runs:
            self._beside.setdefault(run, {})[number] = False

    @property
    def ranked(self) -> bool:
        """Whether the class of any text is known."""
        return bool(self._ranked)

    def rank(self, run: Run) -> int | None:
        """The lowest class of the results that held a run; None: in none, or the user's own."""
        self._settle()
        found = [rank for rank, runs in self._ranked.items() if run in runs]
        return min(found) if found and run not in self._user else None

    def is_cell(self, run: Run) -> bool:
        """Whether a run was a whole cell of a table or record."""
        for each in self._tables:
            self._cells.update(each.cells())
        self._tables.clear()
        return run in self._cells

    def where(self, words: Sequence[str]) -> Seen:
        """Where a run of words stood as a whole; a long one by all its runs of four."""
        self._settle()
        found = _whole(words)
        return Seen(
            user=self._user.issuperset(found),
            data=all(run in self._plain or run in self._pressing for run in found),
            plain=self._plain.issuperset(found),
            inside=_common([self._inside.get(run, _NONE) for run in found]),
            beside=_common([self._beside.get(run, _NONE) for run in found]),
        )

    def inside(self, words: Sequence[str]) -> Mapping[int, bool]:
        """`where(words).inside`."""
        if not self._inside:
            return _NONE
        return _common([self._inside.get(run, _NONE) for run in _whole(words)])


def _whole(words: Sequence[str]) -> list[Run]:
    return [tuple(words[at : at + GRAM]) for at in range(max(1, len(words) - GRAM + 1))]


def _common(found: Sequence[Mapping[int, bool]]) -> Mapping[int, bool]:
    fewest = min(found, key=len)
    return fewest and {
        number: all(numbers[number] for numbers in found)
        for number in fewest
        if all(number in numbers for numbers in found)
    }
