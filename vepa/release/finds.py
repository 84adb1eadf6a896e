"""Finds of the scanner, told without saying what was found."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BINARY", "Found", "masked"]

#: Kind of a file that is no text.
BINARY = "a file whose text cannot be looked at"
_SHOWN = 3


@dataclass(frozen=True)
class Found:
    """Something that must not stand in a release.

    Attributes
    ----------
    file, line
        Where, relative to the release; lines count from 1.
    field
        Path in the record, where the file holds records.
    column
        Place in that text, or in the line, from 1.
    kind
        What it looks like.
    excerpt
        Its first signs and its length; never the whole.
    sha256
        Of the words that were found, or of the file that cannot be looked at.
    record
        Name of the trajectory or event, where the file holds records.
    """

    file: str
    line: int
    field: str | None
    column: int
    kind: str
    excerpt: str
    sha256: str
    record: str | None = None

    @property
    def remedy(self) -> str:
        """What can be done about it."""
        if self.kind == BINARY:
            return "take the file out of the release"
        which = f" {self.record}" if self.record else ""
        return (
            f"find out how it came into the record{which}; take what holds it out of the corpus "
            "and make the release again. A secret that is meant as bait is a canary: list it in "
            "environments/world.yaml"
        )

    def __str__(self) -> str:
        return f"{self.kind} at column {self.column}: {self.excerpt}"


def masked(words: str) -> str:
    """The first signs of a find and its length; of a short one less."""
    shown = words[: min(_SHOWN, len(words) // 4)]
    return f"{shown}… ({len(words)} characters)"
