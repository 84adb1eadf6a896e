"""Runs of LangSmith, four a trace, made from a number."""

from __future__ import annotations

from typing import Any

__all__ = ["example"]

_WORK = "The shelf in the hall holds boxes of paper, and the list beside it tells when they came. "


def example(number: int) -> dict[str, Any]:
    """One run of 2 to 6 KB: the root, a call of the model, its tool, and the call after it."""
    trace, place = f"trace-{number // 4}", number % 4
    ask = _message("HumanMessage", content=f"Count the boxes of shelf {trace}. {_WORK * 4}")
    call = {
        "name": "read_list",
        "args": {"shelf": trace},
        "id": f"call-{trace}",
        "type": "tool_call",
    }
    wants = _message("AIMessage", content="", tool_calls=[call], additional_kwargs={})
    read = _message("ToolMessage", content=_WORK * 20, tool_call_id=call["id"], name="read_list")
    says = _message("AIMessage", content=f"{number} boxes.", tool_calls=[])
    shown, answer = ([ask], wants) if place == 1 else ([ask, wants, read], says)
    run: dict[str, Any] = {
        "id": f"run-{number}",
        "trace_id": trace,
        "name": ("agent", "ChatModel", "read_list", "ChatModel")[place],
        "run_type": ("chain", "llm", "tool", "llm")[place],
        "parent_run_id": f"run-{number - place}" if place else None,
        "dotted_order": f"20260101T000000000000Z{trace}" + f".{place}" * bool(place),
        "start_time": f"2026-01-01T00:00:0{place}",
        "end_time": f"2026-01-01T00:00:0{place + 1}",
        "error": None,
        "status": "success",
        "extra": {"metadata": {"ls_model_name": "small-1", "note": _WORK * 8}},
        "tags": ["night"],
        "inputs": {"messages": [shown]},
        "outputs": {"generations": [[{"text": "", "message": answer}]]},
    }
    if place == 0:
        run |= {"inputs": {"messages": [ask]}, "outputs": {"messages": [ask, wants, read, says]}}
    elif place == 2:
        run |= {"inputs": {"input": str(call["args"])}, "outputs": {"output": read}}
    return run


def _message(kind: str, **parts: Any) -> dict[str, Any]:
    path = ["langchain", "schema", "messages", kind]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": parts}
