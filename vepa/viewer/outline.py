"""Results as people read them: JSON as an outline, any other text as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

__all__ = ["outline"]

#: A list or an object of plain values stays on one line up to this length.
_LINE = 90
#: Stands before every line of a longer text, so that none of them looks like a key.
_BAR = "│ "


def outline(content: str) -> str:
    """A result over several lines.

    Parameters
    ----------
    content
        What a model saw.

    Returns
    -------
    str
        JSON as `key: value` lines with its texts unfolded. Text that is no JSON, or whose JSON
        would lose something that way (a key that stands twice), comes back as it is.
    """
    if content.lstrip()[:1] not in ("{", "["):
        return content
    try:
        data = json.loads(
            content, object_pairs_hook=_distinct, parse_float=_exact, parse_constant=_no_constant
        )
        return "\n".join(_lines(data)) if data else content
    except (ValueError, RecursionError):
        return content


def _lines(data: Any) -> Iterator[str]:
    inline = _inline(data)
    if inline is not None:
        yield inline
    elif isinstance(data, str):
        yield from (_BAR + line for line in data.split("\n"))
    elif isinstance(data, list):
        for item in data:
            first, *rest = _lines(item)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)
    else:
        for key, value in data.items():
            name = _plain(key)
            short = _inline(value)
            if short is not None:
                yield f"{name}: {short}"
            else:
                yield f"{name}:"
                yield from (f"  {line}" for line in _lines(value))


def _inline(data: Any) -> str | None:
    """A value on one line; None where it takes several."""
    if isinstance(data, str):
        return None if "\n" in data else _plain(data)
    if not isinstance(data, dict | list):
        return json.dumps(data)
    parts = data.values() if isinstance(data, dict) else data
    if any(isinstance(part, dict | list) and part for part in parts):
        return None
    text = json.dumps(data, ensure_ascii=False)
    # An object reads better as lines, unless there is nothing in it.
    return text if len(text) <= _LINE and (isinstance(data, list) or not data) else None


def _plain(text: str) -> str:
    """A text without quotes, where nobody can take it for something else."""
    bare = text.strip() == text and text[:1].isalnum() and ": " not in text and "\n" not in text
    if bare:
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return text
    return json.dumps(text, ensure_ascii=False)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


def _exact(text: str) -> float:
    number = float(text)
    if json.dumps(number) != text:
        raise ValueError("another spelling would stand there")
    return number
