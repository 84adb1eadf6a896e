"""Bodies and server-sent events of the OpenAI and the Anthropic format."""

from __future__ import annotations

import json
from typing import Any

PIECES = 3


def _text_of(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _pieces(text: str) -> list[str]:
    size = max(1, -(-len(text) // PIECES))
    return [text[start : start + size] for start in range(0, len(text), size)]


def _openai_usage(prompt: int, completion: int) -> dict[str, int]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def _openai_finish(spoken: dict[str, Any]) -> str:
    if spoken["finish"] in ("length", "content_filter"):
        return str(spoken["finish"])
    return "tool_calls" if spoken["calls"] else "stop"


def _call_id(body: dict[str, Any], index: int) -> str:
    """By its place in the conversation: asked again after a kill, the answer is the same."""
    return f"call_{len(body['messages'])}_{index}"


def openai_whole(
    body: dict[str, Any], number: int, spoken: dict[str, Any], prompt: int, completion: int
) -> dict[str, Any]:
    """A chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": spoken["text"] or None}
    if spoken["finish"] == "refusal":
        message |= {"content": None, "refusal": spoken["text"]}
    if spoken["calls"]:
        message["tool_calls"] = [
            {
                "id": _call_id(body, index),
                "type": "function",
                "function": {"name": name, "arguments": _text_of(arguments)},
            }
            for index, (name, arguments) in enumerate(spoken["calls"])
        ]
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": _openai_finish(spoken),
        "logprobs": None,
    }
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body["model"],
        "choices": [choice],
        "usage": _openai_usage(prompt, completion),
    }


def openai_vectors(
    body: dict[str, Any], rows: list[Any], backwards: bool, prompt: int
) -> dict[str, Any]:
    """A list of embeddings."""
    data = [
        {"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)
    ]
    usage = {"prompt_tokens": prompt, "total_tokens": prompt}
    listed = data[::-1] if backwards else data
    return {"object": "list", "data": listed, "model": body["model"], "usage": usage}


def openai_events(
    body: dict[str, Any], number: int, spoken: dict[str, Any], prompt: int, completion: int
) -> list[str]:
    """The same as a stream of chunks; parallel calls interleave."""
    base = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": body["model"],
    }

    def chunk(delta: dict[str, Any], reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return f"data: {json.dumps({**base, 'choices': [choice]})}\n\n"

    events = [chunk({"role": "assistant", "content": ""})]
    kind = "refusal" if spoken["finish"] == "refusal" else "content"
    events += [chunk({kind: piece}) for piece in _pieces(spoken["text"])]
    for index, (name, _) in enumerate(spoken["calls"]):
        function = {"name": name, "arguments": ""}
        call = {"index": index, "id": _call_id(body, index), "type": "function"}
        events.append(chunk({"tool_calls": [{**call, "function": function}]}))
    split = [_pieces(_text_of(arguments)) for _, arguments in spoken["calls"]]
    for turn in range(PIECES):
        for index, pieces in enumerate(split):
            if turn < len(pieces):
                part = {"index": index, "function": {"arguments": pieces[turn]}}
                events.append(chunk({"tool_calls": [part]}))
    events.append(chunk({}, _openai_finish(spoken)))
    if (body.get("stream_options") or {}).get("include_usage"):
        last = {**base, "choices": [], "usage": _openai_usage(prompt, completion)}
        events.append(f"data: {json.dumps(last)}\n\n")
    return [*events, "data: [DONE]\n\n"]


def _anthropic_finish(spoken: dict[str, Any]) -> str:
    if spoken["finish"] == "length":
        return "max_tokens"
    if spoken["finish"] in ("refusal", "content_filter"):
        return "refusal"
    return "tool_use" if spoken["calls"] else "end_turn"


def anthropic_whole(
    body: dict[str, Any], number: int, spoken: dict[str, Any], prompt: int, completion: int
) -> dict[str, Any]:
    """A message."""
    content: list[dict[str, Any]] = []
    if spoken["text"]:
        content.append({"type": "text", "text": spoken["text"]})
    for index, (name, arguments) in enumerate(spoken["calls"]):
        call = {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": name}
        content.append({**call, "input": arguments})
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": _anthropic_finish(spoken),
        "stop_sequence": None,
        "usage": {"input_tokens": prompt, "output_tokens": completion},
    }


def anthropic_events(
    body: dict[str, Any], number: int, spoken: dict[str, Any], prompt: int, completion: int
) -> list[str]:
    """The same as a stream of events."""

    def event(kind: str, data: dict[str, Any]) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"

    whole = anthropic_whole(body, number, spoken, prompt, completion)
    begun = {
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": prompt, "output_tokens": 1},
    }
    events = [event("message_start", {"message": {**whole, **begun}})]
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            start, field, text = {"type": "text", "text": ""}, "text", block["text"]
        else:
            start, field, text = {**block, "input": {}}, "partial_json", _text_of(block["input"])
        kind = "text_delta" if field == "text" else "input_json_delta"
        events.append(event("content_block_start", {"index": index, "content_block": start}))
        for piece in _pieces(text):
            delta = {"type": kind, field: piece}
            events.append(event("content_block_delta", {"index": index, "delta": delta}))
        events.append(event("content_block_stop", {"index": index}))
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events.append(event("message_delta", {"delta": ended, "usage": {"output_tokens": completion}}))
    return [*events, event("message_stop", {})]
