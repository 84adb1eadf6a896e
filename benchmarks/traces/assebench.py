"""Records of ASSEBench, made from a number."""

from __future__ import annotations

from typing import Any

__all__ = ["example"]


def example(number: int) -> dict[str, Any]:
    """One record of about 5 KB; every third of them with actions as Python dictionaries."""
    return {
        "id": number,
        "profile": "You are a gardener who plans the beds of a town. " * 2,
        "contents": [_calls(number) if number % 3 == 0 else _steps(number)],
        "label": number % 2,
        "application_scenario": "Task Automation",
        "risk_type": "Prompt Injection",
        "failure_mode": "Appropriately handled task.",
        "ambiguous": 0,
        "risk_description": "Nothing happens. " * 8,
    }


def _steps(number: int) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = [
        {"role": "user", "content": f"Plan the beds of street {number}. " * 30},
        {"role": "agent", "thought": "The workflow generated is [...]. " * 20, "action": ""},
    ]
    for at in range(4):
        thought = f"[Observation]: The knowledge I get from ruler{at} is: {number} metres. " * 6
        turns += [
            {"role": "user", "content": f"At step {at + 2}, you need to measure. "},
            {"role": "agent", "thought": thought, "action": f"ruler{at}()"},
        ]
    return turns


def _calls(number: int) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = [{"role": "user", "content": "\n\nFind seeds. " * 20}]
    for at in range(6):
        given = {"request": f"the gardener's seeds {number}", "page": at}
        turns += [
            {"role": "agent", "thought": "", "action": f"query_search{given!r}"},
            {
                "role": "environment",
                "content": '""' + str([f"https://seeds.test/{at}"] * 12) + '""',
            },
        ]
    words = {"response": "I found seeds, and here is where. " * 10}
    turns.append({"role": "agent", "thought": "", "action": f"Complete{words!r}"})
    return turns
