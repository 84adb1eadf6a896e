"""Lines of results as the two vendors' batch APIs write them."""

from __future__ import annotations

from typing import Any

__all__ = ["anthropic_line", "openai_line"]


def openai_line(name: str, fate: str, text: str, usage: tuple[int, int]) -> dict[str, Any]:
    line: dict[str, Any] = {"id": f"r-{name}", "custom_id": name, "response": None, "error": None}
    if fate in ("expired", "canceled"):
        code = "batch_expired" if fate == "expired" else "batch_cancelled"
        return line | {"error": {"code": code, "message": "not worked on"}}
    if fate in ("errored", "invalid"):
        status, code = (500, "server_error") if fate == "errored" else (400, "invalid_request")
        body: dict[str, Any] = {"error": {"code": code, "message": "no"}}
        return line | {"response": {"status_code": status, "body": body}}
    message = {"role": "assistant", "content": text, "refusal": None}
    if fate == "declined":
        message |= {"content": None, "refusal": "I would rather not."}
    if fate == "garbled":
        message["content"] = '{"word": '
    body = {
        "id": "c", "object": "chat.completion", "model": "served-openai",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]},
    }  # fmt: skip
    return line | {"response": {"status_code": 200, "request_id": "q", "body": body}}


def anthropic_line(name: str, fate: str, text: str, usage: tuple[int, int]) -> dict[str, Any]:
    if fate in ("expired", "canceled"):
        return {"custom_id": name, "result": {"type": fate}}
    if fate in ("errored", "invalid"):
        code = "api_error" if fate == "errored" else "invalid_request_error"
        error = {"type": "error", "error": {"type": code, "message": "no"}, "request_id": "q"}
        return {"custom_id": name, "result": {"type": "errored", "error": error}}
    said = '{"word": ' if fate == "garbled" else text
    message = {
        "id": "m", "type": "message", "role": "assistant", "model": "served-anthropic",
        "content": [{"type": "text", "text": said}], "stop_sequence": None,
        "stop_reason": "refusal" if fate == "declined" else "end_turn",
        "usage": {"input_tokens": usage[0], "output_tokens": usage[1]},
    }  # fmt: skip
    return {"custom_id": name, "result": {"type": "succeeded", "message": message}}
