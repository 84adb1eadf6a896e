"""Conversations of the Anthropic Messages API, made from a number."""

from __future__ import annotations

from typing import Any

__all__ = ["example"]

_WORK = "The shelf in the hall holds boxes of paper, and the list beside it tells when they came. "


def example(number: int) -> dict[str, Any]:
    """One line of a log, of about 6 KB."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Count shelf {number}."}]
    for turn in range(6):
        own = f"toolu_{number}_{turn}"
        given = {"shelf": number, "page": turn}
        result = [{"type": "text", "text": _WORK * 6}]
        messages += [
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": f"Page {turn} is next.", "signature": "AAAA"},
                {"type": "tool_use", "id": own, "name": "read_list", "input": given},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": own, "content": result},
            ]},
        ]  # fmt: skip
    messages.append({"role": "assistant", "content": f"{number % 40} boxes."})
    return {
        "model": "claude-small-1",
        "max_tokens": 500,
        "system": _WORK * 4,
        "messages": messages,
        "tools": [{"name": "read_list", "description": _WORK, "input_schema": {"type": "object"}}],
    }
