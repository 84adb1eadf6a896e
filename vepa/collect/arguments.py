"""Texts of calls as data: what a model wrote as arguments, what a tool answered."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["read_answer", "read_arguments"]

#: Levels that arguments may nest: no tool needs that many, and records do not bear many more.
_DEEPEST = 50


def read_arguments(text: str) -> dict[str, Any] | None:
    """The arguments, if they are a JSON object; none at all are an empty one.

    Python reads more than JSON holds: NaN, numbers beyond all size, halves of characters.
    """
    try:
        arguments = json.loads(text or "{}")
        if not isinstance(arguments, dict) or _deep(arguments):
            return None
        json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return arguments


def read_answer(text: str) -> Any:
    """What a tool answered, for templates: its data where it is JSON, the text otherwise."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _deep(value: Any, left: int = _DEEPEST) -> bool:
    if not isinstance(value, dict | list):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return left == 0 or any(_deep(each, left - 1) for each in inside)
