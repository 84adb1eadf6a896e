"""Failure logs of a team of agents, made from a number."""

from __future__ import annotations

from typing import Any

__all__ = ["example"]

_WORK = (
    "The table of the warehouse lists what came in, what went out and what is left on the shelf. "
)


def example(number: int) -> dict[str, Any]:
    """One log of about 6 KB."""
    history: list[dict[str, Any]] = [
        {"content": f"Task {number}: count the shelf. {_WORK * 5}", "role": "assistant",
         "name": "Table_Expert"},
    ]  # fmt: skip
    for turn in range(6):
        history += [
            {"content": f"Step {turn}: {_WORK * 6}\n```python\nprint({number})\n```",
             "role": "user", "name": "Python_Expert"},
            {"content": f"exitcode: 0 (execution succeeded)\nCode output: {number + turn}\n",
             "role": "user", "name": "Computer_terminal"},
        ]  # fmt: skip
    return {
        "is_correct": False,
        "question": f"How many boxes are left in warehouse {number}?",
        "question_ID": f"log-{number}",
        "level": str(number % 3 + 1),
        "ground_truth": str(number),
        "history": history,
        "mistake_agent": "Python_Expert",
        "mistake_step": str(1 + number % 3 * 2),
        "mistake_reason": "It counted the header as a box.",
        "system_prompt": {"Table_Expert": _WORK, "Python_Expert": _WORK},
    }
