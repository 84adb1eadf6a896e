"""Answers of the OpenAI Responses API with their input, made from a number."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["example"]

_WORK = "The shelf in the hall holds boxes of paper, and the list beside it tells when they came. "


def example(number: int) -> dict[str, Any]:
    """One line of a log, of about 6 KB."""
    items: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "input_text", "text": f"Count shelf {number}."}]}
    ]
    for turn in range(6):
        own = f"call_{number}_{turn}"
        given = json.dumps({"shelf": number, "page": turn})
        items += [
            {"type": "reasoning", "id": f"rs_{number}_{turn}",
             "summary": [{"type": "summary_text", "text": f"Page {turn} is next."}]},
            {"type": "function_call", "call_id": own, "name": "read_list", "arguments": given},
            {"type": "function_call_output", "call_id": own, "output": _WORK * 6},
        ]  # fmt: skip
    text = {"type": "output_text", "text": f"{number % 40} boxes.", "annotations": []}
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_754_000_000 + number,
        "status": "completed",
        "model": "small-model",
        "instructions": _WORK * 4,
        "input": items,
        "output": [{"type": "message", "role": "assistant", "content": [text]}],
        "tools": [{"type": "function", "name": "read_list", "parameters": {"type": "object"}}],
    }
