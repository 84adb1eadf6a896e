"""Runs of one to four words, with where each has stood: hashes, filled a text at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from vepa.corpus.tools import Origin
from vepa.parsing.directives import Ask
from vepa.parsing.text import GRAM, Run

__all__ = ["Planted", "Runs", "Seen", "Standing"]

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

    def add_user(self, runs: Iterable[Run]) -> None:
        """Note words of the user's own."""
        self._user.update(runs)

    def add_data(
        self, runs: Sequence[Run], *, plain: bool, rank: int | None, echo: set[Run]
    ) -> None:
        """Note a text of a result.

        Parameters
        ----------
        runs
            Of the text.
        plain
            Whether its document asks for nothing.
        rank
            Its class of sensitivity, where that is known.
        echo
            What the agent put into the call itself: its result does not tell it.
        """
        told = [run for run in runs if run not in echo] if echo else runs
        (self._plain if plain else self._pressing).update(told)
        if rank is not None:
            self._ranked.setdefault(rank, set()).update(runs)

    def add_cell(self, run: Run) -> None:
        """Note a whole cell of a table or record."""
        self._cells.add(run)

    def add_inside(self, runs: Iterable[Run], number: int, *, told: bool = False) -> None:
        """Note what stands in or around a request; a later look at the same changes nothing."""
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
        found = [rank for rank, runs in self._ranked.items() if run in runs]
        return min(found) if found and run not in self._user else None

    def is_cell(self, run: Run) -> bool:
        """Whether a run was a whole cell of a table or record."""
        return run in self._cells

    def where(self, words: Sequence[str]) -> Seen:
        """Where a run of words stood as a whole; a long one by all its runs of four."""
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
