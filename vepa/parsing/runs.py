"""Runs of one to four words, with where each has stood: a table of hashes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from vepa.corpus.tools import Origin
from vepa.parsing.directives import Ask
from vepa.parsing.text import GRAM

__all__ = ["Planted", "Runs", "Seen", "Standing"]

Standing = Literal["delegated", "errand", "foreign"]

#: Most runs stand in no request; they share this and never write to it.
_NONE: dict[int, bool] = {}


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


@dataclass(slots=True)
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
    rank
        The lowest class of sensitivity among the results that held it; None: in none.
    cell
        Whether it was a whole cell of a table or record.
    """

    user: bool = False
    data: bool = False
    plain: bool = False
    inside: dict[int, bool] = field(default_factory=lambda: _NONE)
    beside: dict[int, bool] = field(default_factory=lambda: _NONE)
    rank: int | None = None
    cell: bool = False

    def stands_inside(self, number: int, *, told: bool = False) -> None:
        """Note a request; a later look at the same one changes nothing."""
        if number not in self.inside:
            if self.inside is _NONE:
                self.inside = {}
            self.inside[number] = told or self.plain

    def stands_beside(self, number: int) -> None:
        """Note a request of the sender that this run names."""
        if self.beside is _NONE:
            self.beside = {}
        self.beside[number] = False


_NOTHING = Seen()


class Runs:
    """The table: run of words -> where it has stood."""

    def __init__(self) -> None:
        self._seen: dict[str, Seen] = {}

    def entry(self, run: str) -> Seen:
        """What is known of a run, to be written to."""
        seen = self._seen.get(run)
        if seen is None:
            seen = self._seen[run] = Seen()
        return seen

    def get(self, run: str) -> Seen:
        """What is known of a run, to be read."""
        return self._seen.get(run, _NOTHING)

    def where(self, words: list[str]) -> Seen:
        """Where a run of words stood as a whole; a long one by all its runs of four."""
        runs = [words[at : at + GRAM] for at in range(max(1, len(words) - GRAM + 1))]
        found = [self.get(" ".join(run)) for run in runs]
        if len(found) == 1:
            return found[0]
        return Seen(
            user=all(seen.user for seen in found),
            data=all(seen.data for seen in found),
            plain=all(seen.plain for seen in found),
            inside=_common([seen.inside for seen in found]),
            beside=_common([seen.beside for seen in found]),
        )


def _common(found: list[dict[int, bool]]) -> dict[int, bool]:
    fewest = min(found, key=len)
    return {
        number: all(numbers[number] for numbers in found)
        for number in fewest
        if all(number in numbers for numbers in found)
    }
