"""Requests of the OpenTelemetry collector, a trace each, made from a number."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["example"]

_WORK = "The shelf in the hall holds boxes of paper, and the list beside it tells when they came. "


def example(number: int) -> dict[str, Any]:
    """One request of about 8 KB: two calls of a model and a tool between them."""
    ask = _message("user", {"type": "text", "content": f"Count shelf {number}. {_WORK * 5}"})
    call = {"type": "tool_call", "id": "c1", "name": "read_list", "arguments": {"shelf": number}}
    read = {"type": "tool_call_response", "id": "c1", "response": _WORK * 12}
    wants = _message("assistant", call)
    says = _message("assistant", {"type": "text", "content": f"{number % 40} boxes."})
    tool = {"type": "function", "name": "read_list", "description": _WORK, "parameters": {}}
    first = {"gen_ai.tool.definitions": [tool], "gen_ai.input.messages": [ask]}
    spans = [
        _chat(number, 1, first | {"gen_ai.output.messages": [wants]}),
        _span(number, 2, "execute_tool read_list", {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read_list",
            "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": call["arguments"],
            "gen_ai.tool.call.result": _WORK * 12,
        }),
        _chat(number, 3, {
            "gen_ai.input.messages": [ask, wants, _message("tool", read)],
            "gen_ai.output.messages": [says],
        }),
    ]  # fmt: skip
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "helper"}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}


def _message(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def _chat(number: int, at: int, attributes: dict[str, Any]) -> dict[str, Any]:
    known = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "small-1",
        "gen_ai.usage.input_tokens": 100 + number % 900,
    }
    return _span(number, at, "chat small-1", known | attributes)


def _span(number: int, at: int, name: str, attributes: dict[str, Any]) -> dict[str, Any]:
    start = 1_767_225_600_000_000_000 + number * 10_000_000_000 + at * 1_000_000_000
    return {
        "traceId": f"{number:032x}",
        "spanId": f"{number * 4 + at:016x}",
        "parentSpanId": f"{number * 4:016x}",
        "name": name,
        "kind": 3,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 500_000_000),
        "attributes": [{"key": key, "value": _value(value)} for key, value in attributes.items()],
        "status": {},
    }


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"stringValue": value if isinstance(value, str) else json.dumps(value)}
