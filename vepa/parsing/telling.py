"""When words that stood before count as taken from there, and other spellings of a number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vepa.parsing.text import GRAM, is_distinctive

__all__ = ["is_telling", "other_spellings"]

#: In a text of more words, a short run must tell something before it counts as copied.
_SHORT = GRAM
_TELLING_LETTERS = 5
#: Digits of a number that may be an amount in another unit; shorter ones are limits and counts.
_FEWEST_IN_CENTS, _FEWEST_IN_UNITS = 4, 3


def is_telling(run: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a run is more than a turn of phrase that stands in any text.

    A single plain word is, where it is all of the text; two or three of them in a short text.
    """
    if len(run) >= min(GRAM, len(words)) or any(is_distinctive(word) for word in run):
        return True
    if len(run) == 1:
        return run[0].isdecimal() and len(words) <= _SHORT
    return (
        len(words) <= _SHORT
        or any(word.isdecimal() for word in run)
        or sum(len(word) >= _TELLING_LETTERS for word in run) > 1
    )


def other_spellings(word: str) -> Iterator[str]:
    """A number in cents where it stood in whole units, and the other way round."""
    whole, mark, part = word.partition(".")
    if not whole.isdecimal() or (mark and not part.isdecimal()):
        return
    if not mark and len(whole) >= _FEWEST_IN_CENTS:
        cents = whole[-2:].rstrip("0")
        yield whole[:-2] + (f".{cents}" if cents else "")
    if mark or len(whole) >= _FEWEST_IN_UNITS:
        yield (whole + part.ljust(2, "0")).lstrip("0") or "0"
