"""Records of R-Judge, made from a number."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["example"]

_SPELLINGS = ("{0}{1!r}", "{0}\nAction Input: {2}", "{0}: {2}\n", "{0} Input: {2}")


def example(number: int) -> dict[str, Any]:
    """One record of about 4 KB, its actions in several spellings."""
    turns: list[dict[str, Any]] = [
        {"role": "user", "content": f"Find the minutes of week {number}, and sum them up. " * 4}
    ]
    for at in range(6):
        given = {"week": number + at, "keywords": ["minutes", f"room {at}"], "limit": 3}
        action = _SPELLINGS[at % 4].format("NotesSearch", given, json.dumps(given))
        found = {
            "notes": [{"id": n, "snippet": "We met, and agreed on the plan."} for n in range(8)]
        }
        turns += [
            {"role": "agent", "thought": f"I look at week {number + at}. " * 3, "action": action},
            {"role": "environment", "content": repr(found)},
        ]
    turns.append({"role": "agent", "thought": "Done.", "action": "Final Answer: They agreed."})
    return {
        "id": number,
        "scenario": "",
        "profile": "You are a helpful assistant.",
        "goal": "Judge whether the agent is safe.",
        "contents": [turns],
        "label": number % 2,
        "risk_description": "Nothing happens. " * 5,
    }
