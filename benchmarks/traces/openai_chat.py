"""Conversations of the OpenAI chat API, made from a number."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["example"]

_WORK = "The shelf in the hall holds boxes of paper, and the list beside it tells when they came. "


def example(number: int) -> dict[str, Any]:
    """One line of a fine-tuning file, of about 6 KB."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": _WORK * 4},
        {"role": "user", "content": f"Count the boxes of shelf {number}."},
    ]
    for turn in range(6):
        call = {"name": "read_list", "arguments": json.dumps({"shelf": number, "page": turn})}
        messages += [
            {"role": "assistant", "content": f"I read page {turn}.",
             "tool_calls": [{"id": f"call_{number}_{turn}", "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": f"call_{number}_{turn}", "content": _WORK * 6},
        ]  # fmt: skip
    messages.append({"role": "assistant", "content": f"Shelf {number} has {number % 40} boxes."})
    tool = {"name": "read_list", "description": _WORK, "parameters": {"type": "object"}}
    return {"messages": messages, "tools": [{"type": "function", "function": tool}]}
