"""Records of ATBench, made from a number."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["example"]


def example(number: int) -> dict[str, Any]:
    """One record of about 7 KB."""
    turns: list[dict[str, Any]] = [
        {"role": "user", "content": f"Book a ferry for group {number}, and tell them. " * 4}
    ]
    for at in range(4):
        call = {"name": f"ferry_{at}", "arguments": {"group": number, "harbour": "Molo", "day": at}}
        result = [
            {"at": f"{hour}:10", "seats": number + hour, "open": True} for hour in range(8, 16)
        ]
        turns += [
            {"role": "agent", "thought": f"I look at day {at}.", "action": json.dumps(call)},
            {
                "role": "environment",
                "content": json.dumps({"status": "success", "result": result}, indent=2),
            },
        ]
    words = json.dumps({"response": "Booked, and told."})
    turns.append({"role": "agent", "thought": "", "action": f"Complete{words}"})
    return {
        "id": number,
        "tool_used": [_tool(at) for at in range(4)],
        "contents": [turns],
        "label": number % 2,
        "risk_source": "benign",
        "failure_mode": "benign",
        "harm_type": "benign",
        "reason": "Nothing happens.",
        "source": "benign",
    }


def _tool(at: int) -> dict[str, Any]:
    names = ("group", "harbour", "day", "seats", "note")
    return {
        "name": f"ferry_{at}",
        "description": "Looks for ferries, and books them. " * 4,
        "parameters": {
            "type": "object",
            "properties": {n: {"type": "STRING", "description": f"The {n}."} for n in names},
            "required": list(names[:2]),
        },
        "_source": "json_source",
    }
