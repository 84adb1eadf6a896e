"""Long texts cut into lines that are easy to read, without changing a sign of them.

What a person selects on the page is quoted as evidence, and a quote has to stand in the trace as it
is. So JSON is not laid out anew: it is cut after its commas and brackets, and every piece is shown
as a line of its own. All pieces together are the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vepa.viewer.signs import visible

__all__ = ["Line", "Text", "broken", "text_of"]

#: A list or an object without another one inside stays on one line up to this length.
_SHORT = 90
#: So much of a text is laid out at once, and so much behind each fold.
FIRST_SIGNS, FOLD_SIGNS = 6_000, 20_000
#: Deeper levels stand no further to the right.
_DEEPEST = 10
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_PIECE = re.compile(rf'{_STRING}|[\[\]{{}},]|[^\[\]{{}},"]+', re.DOTALL)
_FLAT = re.compile(rf'[\[{{](?:[^\[\]{{}}"]|{_STRING})*[\]}}]', re.DOTALL)
#: Of a string: up to an escaped line feed, or to its end.
_PART = re.compile(r"[^\\]*(?:\\[^n][^\\]*)*(?:\\n|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Line:
    """A piece of a text.

    Attributes
    ----------
    depth
        How far to the right it stands.
    text
        Its signs.
    """

    depth: int
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A text as the page shows it: signs that hide or steer are spelled out.

    Attributes
    ----------
    first
        What is laid out at once.
    folds
        What comes after it, each part behind a fold of its own: its signs and its lines.
    structured
        Whether the lines are pieces of JSON; otherwise its own line feeds are the only ones.
    """

    first: Sequence[Line]
    folds: Sequence[tuple[int, Sequence[Line]]]
    structured: bool


def text_of(text: str, *, json_too: bool = False) -> Text:
    """A text for the page.

    Parameters
    ----------
    text
        From a trace.
    json_too
        Whether JSON is cut into lines.
    """
    lines = broken(text) if json_too else None
    # Signs that are spelled out take eight times their place.
    share = 8 if len(visible(text)) > 2 * len(text) else 1
    first, rest = _cut(lines or [Line(0, text)], FIRST_SIGNS // share)
    folds = []
    while rest:
        fold, rest = _cut(rest, FOLD_SIGNS // share)
        folds.append((sum(len(line.text) for line in fold), _seen(fold)))
    return Text(_seen(first), folds, lines is not None)


def broken(text: str) -> list[Line] | None:
    """JSON in lines; None for any other text."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    return list(_lines(text))


def _lines(text: str) -> Iterator[Line]:
    depth, at, line = 0, 0, ""
    inside = 0  # whether the line goes on with a string that was cut
    while at < len(text):
        piece = _piece(text, at)
        at += len(piece)
        if piece in ("}", "]"):
            if line.strip():
                yield Line(depth + inside, line)
                line = ""
            depth, inside, line = depth - 1, 0, line + piece
        elif piece in ("{", "["):
            yield Line(depth + inside, line + piece)
            depth, inside, line = depth + 1, 0, ""
        elif piece == ",":
            yield Line(depth + inside, line + piece)
            inside, line = 0, ""
        elif piece[0] == '"':
            *parts, last = _parts(piece)
            for part in parts:
                yield Line(depth + inside, line + part)
                inside, line = 1, ""
            line += last
        else:
            line += piece
    if line:
        yield Line(depth + inside, line)


def _piece(text: str, at: int) -> str:
    if text[at] in "{[":
        flat = _FLAT.match(text, at, at + _SHORT)
        if flat:
            return flat.group()
    found = _PIECE.match(text, at)
    return found.group() if found else text[at:]


def _parts(string: str) -> list[str]:
    """A string, cut after every escaped line feed."""
    if "\\n" not in string:
        return [string]
    return [part for part in _PART.findall(string) if part]


def _cut(lines: Sequence[Line], signs: int) -> tuple[list[Line], list[Line]]:
    """What fits into so many signs, and the rest; a line that does not fit is cut."""
    for at, line in enumerate(lines):
        if len(line.text) > signs:
            ends = [Line(line.depth, line.text[:signs])] if signs else []
            begins = Line(line.depth, line.text[signs:])
            return [*lines[:at], *ends], [begins, *lines[at + 1 :]]
        signs -= len(line.text)
    return list(lines), []


def _seen(lines: Iterable[Line]) -> list[Line]:
    return [Line(min(line.depth, _DEEPEST), visible(line.text)) for line in lines]
