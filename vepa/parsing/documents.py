"""Results as documents: what came from one hand, with its head apart from its text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from vepa.parsing.text import markup_to_text

__all__ = ["Document", "documents", "split_quoted"]

#: Keys whose value says who wrote a document, or where an answer goes.
_SENDERS = frozenset({
    "from", "sender", "author", "reply_to", "reply-to", "replyto", "organizer", "creator", "by",
    "created_by", "writer", "user", "username", "email",
})  # fmt: skip
_HEAD_LINE = re.compile(r"^\s{0,3}(?P<key>[A-Za-z][\w -]{0,24}?)\s*:\s+(?P<value>\S.*)$")
_QUOTE_START = re.compile(
    r"^\s*(?:-{2,}\s*(?:original|forwarded|weitergeleitete|message transf)|begin forwarded|"
    r".{2,90} (?:wrote|writes|schrieb.{0,60}|a .crit|escribi.)\s*:\s*$)",
    re.IGNORECASE,
)
#: JSON that was cut, or stands inside other text, keeps its escapes; they would glue words.
_ESCAPE = re.compile(r'\\(u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|["\\/nrtbf])')
_HEAD_LINES = 12
_HEAD_VALUE = 300


@dataclass(slots=True)
class Document:
    """One mail, page, row, comment or file.

    Attributes
    ----------
    head
        Short values that stand beside the text: names, titles, addresses; those of the documents
        around it too.
    senders
        Those of them that say who wrote it.
    texts
        Every text in it, heads included.
    """

    head: list[str] = field(default_factory=list)
    senders: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


def documents(content: str) -> list[Document]:
    """Take a result apart: JSON by its objects, any other text as one document."""
    if content.lstrip()[:1] in ("{", "["):
        try:
            data = json.loads(content)
        except (ValueError, RecursionError):
            pass  # cut at the output limit, or no JSON: a text like any other
        else:
            found: list[Document] = []
            _collect(data, Document(), found)
            return found
    if '":' in content:
        content = _ESCAPE.sub(_unescaped, content)
    return [_plain(content)]


def _unescaped(match: re.Match[str]) -> str:
    sign = match[1]
    if sign[0] == "u":
        return chr(int(sign[1:], 16))
    return {"n": "\n", "r": "\n", "t": "\t"}.get(sign, sign)


def _collect(node: Any, around: Document, found: list[Document]) -> None:
    """Walk JSON data without recursion; every object is a document of its own."""
    stack: list[tuple[Any, Document, Document | None, str]] = [(node, around, None, "")]
    while stack:
        data, outer, document, key = stack.pop()
        if isinstance(data, Mapping):
            inner = Document(list(outer.head), list(outer.senders))
            found.append(inner)
            scalars = [(name, value) for name, value in data.items() if _is_scalar(value)]
            for name, value in scalars:
                _add(inner, name, value)
            nested = [(name, value) for name, value in data.items() if not _is_scalar(value)]
            stack.extend((value, inner, inner, name) for name, value in reversed(nested))
        elif isinstance(data, list):
            stack.extend((child, outer, document, key) for child in reversed(data))
        elif data is not None:
            if document is None:
                document = outer
                if not any(document is known for known in found):
                    found.append(document)
            _add(document, key, data)


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, Mapping | list)


def _add(document: Document, key: str, value: Any) -> None:
    if value is None:
        return
    text = markup_to_text(value) if isinstance(value, str) else json.dumps(value)
    if not text.strip():
        return
    document.texts.append(text)
    if len(text) <= _HEAD_VALUE and "\n" not in text.strip():
        document.head.append(text)
        if key.lower() in _SENDERS:
            document.senders.append(text)


def _plain(content: str) -> Document:
    document = Document(texts=[markup_to_text(content)])
    for line in content.split("\n", _HEAD_LINES)[:_HEAD_LINES]:
        match = _HEAD_LINE.match(line)
        if match:
            document.head.append(match["value"])
            if match["key"].lower() in _SENDERS:
                document.senders.append(match["value"])
        elif line.startswith("#"):
            document.head.append(line.lstrip("# "))
    return document


def split_quoted(text: str) -> tuple[str, str]:
    """A user turn as (the user's own words, what the user only quotes).

    Quoted is what stands in lines that begin with `>`, in fenced blocks, and below the separator
    line of a forwarded or answered mail.
    """
    own: list[str] = []
    quoted: list[str] = []
    fenced = below = False
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif line.lstrip().startswith(">"):
            quoted.append(line.lstrip().lstrip("> "))
        else:
            below = below or _QUOTE_START.match(line) is not None
            (quoted if fenced or below else own).append(line)
    return "\n".join(own), "\n".join(quoted)


def leaves_of(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Every text in the arguments of a call."""
    stack: list[Any] = [arguments]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, Mapping):
            stack.extend(reversed(list(node.values())))
        elif isinstance(node, list):
            stack.extend(reversed(node))
