"""Samples of an Inspect log, made from a number; `head` is what stands before them in a log."""

from __future__ import annotations

from typing import Any

__all__ = ["example", "head"]

_PAGE = "The shelf holds bolts, nuts and washers, each in a box with its number and its place. "


def head() -> dict[str, Any]:
    """The log without its samples."""
    return {
        "version": 2,
        "status": "success",
        "eval": {"eval_id": "e1", "task": "shelf", "model": "lab/model-a", "dataset": {}},
        "plan": {"steps": []},
        "results": {"total_samples": 1, "scores": []},
        "stats": {"started_at": "2025-03-01T10:00:00+00:00"},
    }


def example(number: int) -> dict[str, Any]:
    """One sample of about 7 KB."""
    question = f"How many boxes are left on shelf {number}? {_PAGE * 3}"
    messages: list[dict[str, Any]] = [
        {"id": f"s{number}", "role": "system", "content": "You keep the shelf. " * 6},
        {"id": f"u{number}", "role": "user", "content": "attachment://q", "source": "input"},
    ]
    events: list[dict[str, Any]] = []
    shape = {"type": "object", "properties": {"box": {"type": "integer"}}}
    tool = {"name": "look", "description": "Looks at a box.", "parameters": shape}
    for turn in range(4):
        call = f"c{number}-{turn}"
        reply = {
            "id": f"a{number}-{turn}",
            "role": "assistant",
            "source": "generate",
            "content": [
                {"type": "reasoning", "reasoning": f"Box {turn} is next. {_PAGE}"},
                {"type": "text", "text": "I look."},
            ],
            "tool_calls": [{"id": call, "function": "look", "arguments": {"box": turn}}],
        }
        given = {"id": f"t{number}-{turn}", "role": "tool", "content": _PAGE * 3,
                 "tool_call_id": call, "function": "look"}  # fmt: skip
        if turn == number % 9:
            given["error"] = {"type": "timeout", "message": "The lamp was off."}
        messages += [reply, given]
        events.append({"event": "model", "model": "lab/model-a", "input": [], "tools": [tool],
                       "output": {"choices": [{"message": {"id": reply["id"]}}]},
                       "working_time": 0.5})  # fmt: skip
        events.append({"event": "tool", "id": call, "function": "look", "working_time": 0.1})
    messages.append({"id": f"f{number}", "role": "assistant", "content": f"{number} boxes."})
    return {
        "id": f"shelf-{number}",
        "epoch": 1,
        "input": question,
        "target": str(number),
        "messages": messages,
        "output": {"model": "lab/model-a", "choices": [{"message": messages[-1]}]},
        "scores": {"includes": {"value": "C" if number % 2 else "I", "answer": str(number)}},
        "metadata": {"row": number},
        "events": events,
        "attachments": {"q": question},
        "total_time": 2.5,
    }
