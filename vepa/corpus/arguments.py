"""The arguments of a call as plain texts, as patterns and provenance read them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from posixpath import normpath
from typing import Any
from unicodedata import normalize
from urllib.parse import unquote

__all__ = ["argument_texts", "path_spellings", "plain_text"]

#: Signs that show nothing and would split a word before a reader of patterns.
_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")


def plain_text(text: str) -> str:
    """`text` in Unicode form NFKC and without invisible signs; letter case is kept."""
    if text.isascii():
        return text
    return _INVISIBLE.sub("", normalize("NFKC", _INVISIBLE.sub("", text)))


def argument_texts(arguments: Mapping[str, Any], name: str) -> list[str]:
    """The non-empty values of one argument as plain texts.

    Parameters
    ----------
    arguments
        The arguments of a call.
    name
        An argument, or a dotted path into one; lists on the way are walked through.

    Returns
    -------
    list of str
        Texts as they are, numbers and booleans as JSON spells them, each leaf of a list or of an
        object by itself. Empty when the argument is missing, null or blank.
    """
    nodes: list[Any] = [arguments]
    for part in name.split("."):
        objects = [node for node in _spread(nodes) if isinstance(node, Mapping)]
        nodes = [node[part] for node in objects if part in node]
    return [text for text in _leaves(nodes) if text.strip()]


def path_spellings(text: str) -> list[str]:
    """A text and, where it looks like a path or a URL, the path that it comes down to.

    `Team/%2e%2e/HR//pay.csv` also reads as `HR/pay.csv`, so that a pattern finds it.
    """
    if "/" not in text and "%2" not in text:
        return [text]
    plain = re.sub(r"(?<!:)/{2,}", "/", unquote(text))
    if not any(sign.isspace() for sign in text):
        head, mark, tail = plain.rpartition("://")
        plain = head + mark + normpath(tail) + ("/" if tail.endswith("/") else "")
    return [text] if plain == text else [text, plain]


def _spread(nodes: list[Any]) -> Iterator[Any]:
    for node in nodes:
        if isinstance(node, list):
            yield from _spread(node)
        else:
            yield node


def _leaves(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield plain_text(node)
    elif isinstance(node, Mapping):
        for child in node.values():
            yield from _leaves(child)
    elif isinstance(node, list | tuple):
        for child in node:
            yield from _leaves(child)
    elif node is not None:
        yield json.dumps(node)
