"""A request as litellm takes it, and an answer as this project reads it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from vepa.files import canonical_json, utf8_text
from vepa.llm.messages import Finish, Message, ModelRequest, Shape, ToolCall
from vepa.llm.settings import ModelSettings
from vepa.llm.shapes import strict_enough

__all__ = ["Answer", "CutShortError", "Mode", "finished", "parameters", "read_response"]

#: How a structured answer is asked for; None: by no structured request.
Mode = Literal["schema", "tool", "json"] | None
_FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "tool_calls": "tools",
    "function_call": "tools",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "declined",
    "refusal": "declined",
}


class CutShortError(Exception):
    """A streamed answer that ended before the provider said that it was done."""


@dataclass(slots=True)
class Answer:
    """One answer of a provider, before any check.

    Attributes
    ----------
    text, calls
        What the model wrote.
    finish
        Why it stopped.
    prompt, completion
        Tokens as the provider counted them; None where it did not say.
    model
        As the provider names it.
    """

    text: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    finish: Finish = "stop"
    prompt: int | None = None
    completion: int | None = None
    model: str = ""
    usage: Any = None

    def message(self) -> Message:
        """The answer as a message."""
        return Message(role="assistant", content=self.text, calls=tuple(self.calls))


def parameters(request: ModelRequest, settings: ModelSettings, mode: Mode) -> dict[str, Any]:
    """Keyword arguments for `litellm.completion`, but for the model, its address and its key."""
    messages = [_message(message) for message in request.messages]
    found: dict[str, Any] = {"max_tokens": request.max_tokens or settings.max_tokens}
    temperature = request.temperature if request.temperature is not None else settings.temperature
    if temperature is not None:
        found["temperature"] = temperature
    if request.seed is not None:
        found["seed"] = request.seed
    if request.tools:
        found["tools"] = [
            _tool(offer.name, offer.description, offer.parameters) for offer in request.tools
        ]
    if request.shape is not None and mode is not None:
        _ask_for_shape(request.shape, mode, messages, found)
    if settings.stream:
        found |= {"stream": True, "stream_options": {"include_usage": True}}
    return {"messages": messages, **found}


def _ask_for_shape(
    shape: Shape, mode: Mode, messages: list[dict[str, Any]], found: dict[str, Any]
) -> None:
    if mode == "schema":
        found["response_format"] = {
            "type": "json_schema",
            "json_schema": {
                "name": shape.name,
                "schema": shape.schema_,
                "strict": strict_enough(shape.schema_),
            },
        }
    elif mode == "tool":
        found["tools"] = [_tool(shape.name, "Give the answer with this call.", shape.schema_)]
        found["tool_choice"] = {"type": "function", "function": {"name": shape.name}}
    else:
        text = (
            "Answer with one JSON object and nothing else. It has to fit this JSON schema:\n"
            + canonical_json(shape.schema_)
        )
        if messages and messages[0]["role"] == "system":
            messages[0] = {**messages[0], "content": f"{messages[0]['content']}\n\n{text}"}
        else:
            messages.insert(0, {"role": "system", "content": text})


def _message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.answers, "content": message.content}
    found: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        found["content"] = message.content or None
        found["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _sendable(call.arguments)},
            }
            for call in message.calls
        ]
    return found


def _sendable(arguments: str) -> str:
    """Arguments that are no JSON object, wrapped as what they are: most providers refuse them raw.

    The record keeps the model's own text; only the history that is sent back is wrapped.
    """
    try:
        if isinstance(json.loads(arguments), dict):
            return arguments
    except (ValueError, RecursionError):
        pass
    return json.dumps({"malformed_arguments": arguments}, ensure_ascii=False)


def _tool(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "description": description, "parameters": schema}
    return {"type": "function", "function": function}


def read_response(response: Any, shape: Shape | None, mode: Mode) -> Answer:
    """A whole response of litellm, unstreamed."""
    choice = response.choices[0]
    message = choice.message
    refusal = getattr(message, "refusal", None)
    answer = Answer(
        text=message.content or refusal or "",
        calls=[
            ToolCall(
                id=call.id or f"call_{number}",
                name=utf8_text(call.function.name or ""),
                arguments=utf8_text(_text_of(call.function.arguments)),
            )
            for number, call in enumerate(message.tool_calls or ())
        ],
        model=str(response.model or ""),
        usage=getattr(response, "usage", None),
    )
    return finished(answer, choice.finish_reason, bool(refusal), shape, mode)


def _text_of(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)


def finished(
    answer: Answer, reason: str | None, refused: bool, shape: Shape | None, mode: Mode
) -> Answer:
    """Fill in why it stopped and what was counted; the text and the calls are there already."""
    answer.text = utf8_text(answer.text)
    answer.prompt = getattr(answer.usage, "prompt_tokens", None)
    answer.completion = getattr(answer.usage, "completion_tokens", None)
    if mode == "tool" and shape is not None:
        # The call that carries a structured answer is a way of asking, no call of a tool.
        mine = [call for call in answer.calls if call.name == shape.name]
        if mine:
            answer.text, answer.calls = mine[0].arguments, []
            reason = "stop" if reason == "tool_calls" else reason
    finish = _FINISHES.get(reason or "", "stop")
    if refused:
        finish = "declined"
    if answer.calls and finish == "stop":
        finish = "tools"
    if finish == "tools" and not answer.calls:
        finish = "stop"
    if finish == "declined":
        answer.calls = []
    answer.finish = finish
    return answer
