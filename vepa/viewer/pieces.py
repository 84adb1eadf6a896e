"""Texts of arguments cut where their source changes, and how a source is told without colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vepa.parsing.sources import Leaf, Source

__all__ = ["LETTERS", "Piece", "legend", "mark_of", "name_of_path", "pieces"]

#: Kind of a source -> its letter and its meaning; the agent's own words have no mark.
LETTERS = {
    "user": ("U", "the user said it"),
    "message": ("M", "a message, or what the user quoted"),
    "document": ("D", "a document or record that was read"),
    "tool": ("T", "the answer of a tool"),
    "agent": ("", "the agent's own words"),
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text; without a source it holds no traced word."""

    text: str
    source: Source | None


def pieces(leaf: Leaf) -> Iterator[Piece]:
    """The whole text of a leaf, cut where its source changes."""
    at = 0
    for span in leaf.spans:
        if span.start > at:
            yield Piece(leaf.text[at : span.start], None)
        yield Piece(leaf.text[span.start : span.end], span.source)
        at = span.end
    if at < len(leaf.text):
        yield Piece(leaf.text[at:], None)


def mark_of(source: Source) -> str:
    """A source in short: `M3`, `M3!` for a third party's request; empty for the agent's words."""
    letter = LETTERS[source.kind][0]
    if not letter:
        return ""
    return f"{letter}{source.step}{'!' if source.request else ''}"


def name_of_path(path: Sequence[str | int]) -> str:
    """Where a value stands in the arguments: `attendees[0].email`."""
    name = ""
    for part in path:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    return name


def legend() -> Iterator[tuple[str, str, str]]:
    """Kind, letter and meaning of each source."""
    for kind, (letter, meaning) in LETTERS.items():
        yield kind, letter, meaning
