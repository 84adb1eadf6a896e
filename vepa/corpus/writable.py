"""JSON of other people inside of a record: whether it can be written and read again."""

from __future__ import annotations

import json
import re
from typing import Any

from vepa.files import canonical_json, plainly_json, utf8_text

__all__ = ["DEEPEST", "writable"]

#: Lists and mappings within one another; what writes a record stops at 255, itself included.
DEEPEST = 200
_NO_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[^\[\]{}"]+')


def writable(what: str, value: dict[str, Any]) -> dict[str, Any]:
    """A mapping that can be written, read again and hashed.

    Parameters
    ----------
    what
        Its name with a verb, for messages ("the arguments are").
    value
        The mapping.

    Raises
    ------
    ValueError
        When it holds no JSON, half a character, or is nested too deep.
    """
    if plainly_json(value) and _encodable(value):
        return value
    try:
        spelled = canonical_json(value)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} no JSON: half a character in it") from None
    except (TypeError, ValueError, RecursionError) as fault:
        raise ValueError(f"{what} no JSON: {fault}") from None
    if _depth(spelled) > DEEPEST:
        raise ValueError(f"{what} nested deeper than {DEEPEST}")
    return value


def _encodable(value: Any) -> bool:
    """Whether no text of a plain JSON value holds half a character."""
    if value.__class__ is str:
        return value.isascii() or value == utf8_text(value)
    if value.__class__ is dict:
        return all(name.isascii() and _encodable(each) for name, each in value.items())
    return value.__class__ is not list or all(map(_encodable, value))


def _depth(spelled: str) -> int:
    """How deep lists and mappings stand in one another, of JSON."""
    deep = deepest = 0
    for sign in _NO_BRACKETS.sub("", spelled):
        deep += 1 if sign in "[{" else -1
        deepest = max(deepest, deep)
    return deepest
