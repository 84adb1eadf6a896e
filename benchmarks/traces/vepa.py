"""The project's own trajectories, made from a number."""

from __future__ import annotations

from typing import Any

__all__ = ["example"]

_WORK = "The shelf in the hall holds boxes of paper, and the list beside it tells when they came. "


def example(number: int) -> dict[str, Any]:
    """One trajectory of about 6 KB."""
    steps: list[dict[str, Any]] = [
        {"index": 0, "kind": "user", "text": f"Count the boxes of shelf {number}."}
    ]
    steps += [
        {
            "index": turn + 1,
            "kind": "call",
            "call": {
                "id": f"call-{turn}",
                "tool": "read_list",
                "arguments": {"shelf": number, "page": turn},
            },
            "result": {"ok": True, "content": _WORK * 7},
        }
        for turn in range(6)
    ]
    steps.append({"index": 7, "kind": "answer", "text": f"{number % 40} boxes."})
    return {
        "schema_version": 1,
        "id": f"shelf/{number}",
        "system": _WORK * 4,
        "offered": [{"name": "read_list", "description": _WORK}],
        "steps": steps,
    }
