"""The codebook as pieces for a template: the little Markdown that it is written in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Block", "blocks_of"]

_SPAN = re.compile(r"\*\*(?P<strong>.+?)\*\*|`(?P<code>[^`]+)`|\*(?P<em>[^*\s][^*]*)\*")
_ITEM = re.compile(r"(?P<mark>[-*]|\d+\.)\s+(?P<text>.*)")

#: Kind (`strong`, `code`, `em` or empty) and words.
Span = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, a paragraph or a list.

    Attributes
    ----------
    kind
        `heading`, `text`, `bullets` or `numbers`.
    lines
        Of a list its items, of the others one.
    """

    kind: str
    lines: Sequence[Sequence[Span]]


def blocks_of(text: str) -> Iterator[Block]:
    """The blocks of a text, in order; a title of the first level is left out."""
    kind, held = "", list[str]()
    for line in [*text.splitlines(), ""]:
        item = _ITEM.match(line)
        if item:
            wanted = "numbers" if item["mark"][0].isdigit() else "bullets"
            if kind != wanted:
                yield from _closed(kind, held)
                kind, held = wanted, []
            held.append(item["text"])
        elif line.startswith("#"):
            yield from _closed(kind, held)
            kind, held = "", []
            if line.startswith("##"):
                yield Block("heading", [_spans(line.lstrip("# "))])
        elif not line.strip():
            yield from _closed(kind, held)
            kind, held = "", []
        elif held and (kind == "text" or line.startswith(" ")):
            held[-1] += f" {line.strip()}"
        else:
            yield from _closed(kind, held)
            kind, held = "text", [line.strip()]


def _closed(kind: str, held: Sequence[str]) -> Iterator[Block]:
    if held:
        yield Block(kind, [_spans(line) for line in held])


def _spans(line: str) -> list[Span]:
    found: list[Span] = []
    at = 0
    for match in _SPAN.finditer(line):
        found += [("", line[at : match.start()])] if match.start() > at else []
        kind = match.lastgroup or ""
        found.append((kind, match[kind]))
        at = match.end()
    return [*found, ("", line[at:])] if at < len(line) else found
