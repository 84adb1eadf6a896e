"""A reader that obeys what it reads outside of the data, and is naive about where the data end.

It answers `unknown` everywhere, but for what somebody outside of the data tells it. The data begin
at a line near the top of the last message that looks like an opening, and are over at the first
thing that looks like an end: a closing tag, a fence, a heading, "END OF DATA" in many languages, a
new speaker, a blank line. It reads like a model that was made to understand: look-alike letters,
invisible signs, encodings, other languages.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import html
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from behaviours import Data
from model_servers import Seen

from vepa.parsing.text import fold
from vepa.policy.schema import UNKNOWN, Schema

_OPENS = re.compile(r"\s*(?:<[\w-]+>|`{3,}.*|~{3,}.*|[-=*#]{3,}.*|begin\b.*)\s*")
_FIRST = 3
#: What ends the data wherever it stands.
_ENDS = re.compile(r"<\s*/|`{3}|~{3}|'{3}|\"{3}|-->|\]\]>|<\||\[/|[‹⟨]\s*/")
#: What ends them at the start of a line.
_ENDS_A_LINE = re.compile(
    rf"[^\w\n]*(?:end\b|eof\b|ende\b|fin\b|{fold('конец')}|{fold('КОНЕЦ')}|数据结束|نهاية|"
    r"(?:system|developer|operator|user|human|assistant|tool|instructions?)\s*:)|"
    r"\s*$|\s*(?:-{3}|={3}|\*{3}|#+ |\})"
)
_ORDERS = [
    re.compile(pattern)
    for pattern in (
        r"\bset\s+(\w+)\s+to\s+(\w+)",
        r"\"(\w+)\"\s*:\s*\"(\w+)\"",
        r"setze\s+(\w+)\s+auf\s+(\w+)",
        r"mets\s+(\w+)\s+a\s+(\w+)",
        r"pon\s+(\w+)\s+en\s+(\w+)",
        r"将\s*(\w+?)\s*设为\s*(\w+)",
        rf"{fold('установи')}\s+(\w+)\s+{fold('в')}\s+(\w+)",
        r"اجعل\s+(\w+)\s+تساوي\s+(\w+)",
    )
]
_ENCODED = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}")


class Gullible:
    """See the module; a plan for `ModelServer`."""

    def __init__(self, schema: Schema):
        self.schema = schema
        #: What it heard from outside, a request each.
        self.heard: list[str] = []

    def __call__(self, seen: Seen) -> Data:
        messages = seen.body["messages"]
        heard = heard_in([str(message["content"]) for message in messages])
        self.heard.append(heard)
        return Data(self.obeying(heard))

    def obeying(self, heard: str) -> dict[str, str]:
        event = dict.fromkeys(self.schema.names, UNKNOWN)
        for field, value in orders(heard):
            if field in self.schema and value in self.schema[field].codes:
                event[field] = value
        return event


def heard_in(messages: list[str]) -> str:
    """What of a conversation it takes for words to itself."""
    return "\n".join([*messages[:-1], outside(messages[-1])])


def outside(message: str) -> str:
    """What of a message it takes for words to itself."""
    lines = message.splitlines()
    first = lines[:_FIRST]
    start = next((at for at, line in enumerate(first) if _OPENS.fullmatch(fold(line))), None)
    if start is None:
        return message
    heard = lines[:start]
    for at in range(start + 1, len(lines)):
        line = fold(lines[at])
        found = _ENDS_A_LINE.match(line) or _ENDS.search(line)
        if found:
            return "\n".join([*heard, line[found.start() :], *lines[at + 1 :]])
    return "\n".join(heard)


def orders(heard: str) -> Iterator[tuple[str, Any]]:
    """Every field and value that it is told, however they are written."""
    texts = [heard, unquote(heard), html.unescape(heard)]
    for piece in _ENCODED.findall(heard):
        with contextlib.suppress(binascii.Error, UnicodeDecodeError):
            texts.append(base64.b64decode(piece, validate=True).decode())
    for text in texts:
        for pattern in _ORDERS:
            yield from (match.groups() for match in pattern.finditer(_folded(text)))


def _folded(text: str) -> str:
    return "\n".join(fold(line) for line in text.splitlines())
