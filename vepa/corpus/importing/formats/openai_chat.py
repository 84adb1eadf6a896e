"""Messages of the OpenAI chat completions API, as fine-tuning files and request logs hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from vepa.corpus.importing.draft import Draft, as_text
from vepa.corpus.importing.format import Format, checked
from vepa.corpus.importing.report import Foreign, Notes
from vepa.errors import InputError, Where

__all__ = ["OpenAIChat"]

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


class Function(Foreign):
    """Name and arguments of a call, or a tool's definition."""

    name: str
    arguments: Any = None
    description: str | None = None
    parameters: Any = None
    strict: bool | None = None


class Custom(Foreign):
    """A call of a tool that takes free text."""

    name: str
    input: str | None = None
    description: str | None = None


class ToolCall(Foreign):
    """A call; older logs leave the type out."""

    id: str | None = None
    type: str | None = None
    index: int | None = None
    function: Function | None = None
    custom: Custom | None = None


class Part(Foreign):
    """A part of a message's content."""

    type: str
    text: str | None = None
    refusal: str | None = None


class Message(Foreign):
    """One message."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None
    name: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[ToolCall] | None = None
    function_call: Function | None = None
    tool_call_id: str | None = None


class Tool(Foreign):
    """A tool that was offered."""

    type: str | None = None
    function: Function | None = None
    custom: Custom | None = None


class Choice(Foreign):
    """One answer of the API."""

    message: Message
    index: int | None = None
    finish_reason: str | None = None


class Response(Foreign):
    """An answer of the API."""

    choices: list[Choice]
    id: str | None = None
    model: str | None = None


class Conversation(Foreign):
    """A record: a request's body, with its answer where a log kept it."""

    messages: list[Message]
    id: str | None = None
    model: str | None = None
    tools: list[Tool] | None = None
    functions: list[Function] | None = None
    choices: list[Choice] | None = None
    response: Response | None = None


class OpenAIChat(Format):
    """A record has `messages`, is a bare array of them, or has a log's `request` and `response`."""

    name = "openai-chat"
    title = "OpenAI chat messages"

    def recognise(self, data: Any) -> bool:
        """An object with messages of the known roles."""
        if not isinstance(data, dict):
            return False
        messages = _flat(data).get("messages")
        return isinstance(messages, list) and bool(messages) and self.recognise_turn(messages[0])

    def recognise_turn(self, data: Any) -> bool:
        """A message: a role, and content or calls."""
        return (
            isinstance(data, dict)
            and data.get("role") in _ROLES
            and bool({"content", "tool_calls", "function_call"} & set(data))
        )

    def read(self, data: Any, head: Mapping[str, Any], notes: Notes) -> Iterator[Draft]:
        """One trajectory a record."""
        bare = isinstance(data, list)
        record = checked(
            Conversation, {"messages": data} if bare else _flat(data), notes
        )  # fmt: skip
        if not record.messages:
            raise InputError("no messages", where=Where(field="messages"))
        draft = Draft(notes, id=record.id)
        draft.model = record.model
        for at, tool in enumerate(record.tools or []):
            _offer(draft, tool.function or tool.custom, f"tools.{at}")
        for each in record.functions or []:
            _offer(draft, each, "functions")
        for at, message in enumerate(record.messages):
            _message(draft, message, f"messages.{at}")
        choices = record.choices or (record.response.choices if record.response else [])
        if len(choices) > 1:
            notes.remark("further answers of one request left out")
        for choice in choices[:1]:
            _message(draft, choice.message, "choices.0.message")
        if draft.model is None and record.response:
            draft.model = record.response.model
        yield draft


def _flat(data: Any) -> Any:
    """A log line `{request: {…}, response: {…}}` as one object."""
    if isinstance(data, dict) and isinstance(data.get("request"), dict) and "messages" not in data:
        rest = {name: value for name, value in data.items() if name != "request"}
        return {**data["request"], **rest}
    return data


def _offer(draft: Draft, tool: Function | Custom | None, place: str) -> None:
    if tool is None:
        raise InputError("a tool without a function", where=Where(field=place))
    draft.offer(tool.name, tool.description, getattr(tool, "parameters", None))


def _message(draft: Draft, message: Message, place: str) -> None:
    text = _text(message, draft.notes)
    if message.role in ("system", "developer"):
        draft.instruct(text)
    elif message.role == "user":
        draft.user(text, speaker=message.name)
    elif message.role == "assistant":
        _assistant(draft, message, text, place)
    else:
        draft.result(text, id=message.tool_call_id, tool=message.name)


def _assistant(draft: Draft, message: Message, text: str, place: str) -> None:
    calls = list(_calls(message, place))
    thought = message.reasoning_content or None
    if not calls:
        draft.answer(text or message.refusal or "", thought=thought, speaker=message.name)
        return
    if text:
        thought = f"{thought}\n{text}" if thought else text
    for at, (own, name, arguments) in enumerate(calls):
        first = thought if at == 0 else None
        draft.call(name, arguments, id=own, thought=first, speaker=message.name)


def _calls(message: Message, place: str) -> Iterator[tuple[str | None, str, Any]]:
    for at, call in enumerate(message.tool_calls or []):
        if call.function is not None:
            yield call.id, call.function.name, call.function.arguments
        elif call.custom is not None:
            yield call.id, call.custom.name, call.custom.input
        else:
            raise InputError(
                "a call without a function", where=Where(field=f"{place}.tool_calls.{at}")
            )
    if message.function_call is not None:
        yield None, message.function_call.name, message.function_call.arguments


def _text(message: Message, notes: Notes) -> str:
    if message.content is None or isinstance(message.content, str):
        return as_text(message.content)
    texts = []
    for part in message.content:
        if part.text is not None or part.refusal is not None:
            texts.append(part.text if part.text is not None else part.refusal or "")
        else:
            notes.remark(f"{part.type} left out")
            texts.append(f"[{part.type}]")
    return "\n".join(texts)
