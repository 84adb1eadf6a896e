"""Messages of the OpenAI chat completions API, as fine-tuning files and request logs hold them.

- A message has a `role`. `system` and `developer` instruct; `tool` answers the call that
  `tool_call_id` names; `function` (before tools came, with `function_call` on the assistant's side)
  answers the last call of its `name`. `content` is a text, a list of parts, or null beside calls.
- A call is `{id, type: function, function: {name, arguments}}`, its arguments the text of an
  object (some programs write the object), or `{type: custom, custom: {name, input}}`.
- Other servers of this API write what the model thought as `reasoning_content` or `reasoning`.
- Fine-tuning files have a conversation a line, with `tools` (or `functions`), `weight` on messages
  (0: not learned from) and `parallel_tool_calls`; those of preferences have `input`,
  `preferred_output` and `non_preferred_output`.
- An answer has `choices` with a `message` each; a stored completion is such an answer, whose
  messages may stand beside it. Events of a stream (`chat.completion.chunk`) are not joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vepa.corpus.importing.draft import Draft, as_text
from vepa.corpus.importing.exchange import annotate, exchange_of, open_draft, own_words
from vepa.corpus.importing.format import Format, checked
from vepa.corpus.importing.formats.openai_chat_records import (
    Answer,
    Asked,
    Message,
    Parameters,
    Part,
    Preference,
)
from vepa.corpus.importing.report import Notes
from vepa.errors import InputError, Where

__all__ = ["OpenAIChat"]

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_CHUNK = "chat.completion.chunk"
#: Parts of other APIs' messages, which this one would read as nothing.
_FOREIGN_PARTS = ("tool_use", "tool_result", "thinking", "function_call", "function_call_output")


class OpenAIChat(Format):
    """A record has `messages`, is a bare array of them, or wraps a request and its answer."""

    name = "openai-chat"
    title = "OpenAI chat messages: fine-tuning files, batches, request logs"

    def recognise(self, data: Any) -> bool:
        """Messages of the known roles, or an answer with choices."""
        if isinstance(data, list):
            return bool(data) and all(self.recognise_turn(each) for each in data[:5])
        if not isinstance(data, dict):
            return False
        if _is_preference(data) or data.get("object") == _CHUNK:
            return True
        found = exchange_of(data, ("messages",), "choices")
        if found.request is not None:
            messages = found.request["messages"]
            return (
                isinstance(messages, list) and bool(messages) and self.recognise_turn(messages[0])
            )
        answer = found.response if isinstance(found.response, dict) else data
        choices = answer.get("choices")
        return isinstance(choices, list) and all(
            isinstance(each, dict) and "message" in each for each in choices
        )

    def recognise_turn(self, data: Any) -> bool:
        """A message: a role, and content or calls."""
        return (
            isinstance(data, dict)
            and data.get("role") in _ROLES
            and data.get("type", "message") == "message"
            and bool({"content", "tool_calls", "function_call"} & set(data))
        )

    def read(self, data: Any, head: Mapping[str, Any], notes: Notes) -> Iterator[Draft]:
        """One trajectory a record, two of a preference."""
        if isinstance(data, list):
            data = {"messages": data}
        if not isinstance(data, dict):
            raise InputError("an object belongs here")
        if data.get("object") == _CHUNK:
            raise InputError(
                "an event of a stream", remedy="log the whole answer; events are not joined"
            )
        if data.get("role") in _ROLES and "messages" not in data:
            raise InputError(
                "a message outside a conversation",
                remedy="put the messages of a conversation into one array, or under `messages`",
            )
        if _is_preference(data):
            yield from _preferences(data, notes)
            return
        found = exchange_of(data, ("messages",), "choices")
        draft = open_draft(data, found, notes)
        asked = found.request is not None
        if asked:
            _request(draft, checked(Asked, found.request, notes, found.asked), found.asked)
        if isinstance(found.response, str):
            draft.answer(found.response)
        elif found.response is not None:
            _answer(draft, found.response, found.answered)
        elif not asked:
            raise InputError("neither messages nor an answer", where=Where(field="messages"))
        if not asked:
            notes.remark("answer without its request")
        yield draft


def _request(draft: Draft, asked: Asked, path: str) -> None:
    if not asked.messages:
        raise InputError("no messages", where=Where(field=f"{path}messages"))
    own = asked.custom_id if asked.custom_id is not None else asked.id
    draft.id = draft.id or (None if own is None else str(own))
    draft.model = asked.model or draft.model
    for each in (asked, asked.model_parameters):
        _tools(draft, each, path)
    annotate(draft, "metadata", own_words(asked.metadata, draft.notes))
    annotate(draft, "tags", asked.request_tags)
    _messages(draft, asked.messages, f"{path}messages")


def _tools(draft: Draft, asked: Parameters | None, path: str) -> None:
    if asked is None:
        return
    for at, tool in enumerate(asked.tools or []):
        kind = tool.function or tool.custom
        if kind is None:
            raise InputError("a tool without a function", where=Where(field=f"{path}tools.{at}"))
        draft.offer(kind.name, kind.description, getattr(kind, "parameters", None))
    for each in asked.functions or []:
        draft.offer(each.name, each.description, each.parameters)


def _answer(draft: Draft, body: Mapping[str, Any], path: str) -> None:
    answer = checked(Answer, body, draft.notes, path)
    if not answer.choices:
        raise InputError("an answer without choices", where=Where(field=f"{path}choices"))
    if len(answer.choices) > 1:
        draft.notes.remark("further answers of one request left out")
    draft.id = draft.id or answer.id
    draft.model = draft.model or answer.model
    annotate(draft, "metadata", own_words(answer.metadata, draft.notes))
    annotate(draft, "finish_reason", answer.choices[0].finish_reason)
    _message(draft, answer.choices[0].message, f"{path}choices.0.message")


# -- preferences -----------------------------------------------------------------------------------


def _is_preference(data: Mapping[str, Any]) -> bool:
    return "preferred_output" in data and isinstance(data.get("input"), dict)


def _preferences(data: Mapping[str, Any], notes: Notes) -> Iterator[Draft]:
    """Both ends of the conversation; that one is preferred is no verdict of what may be done."""
    line = checked(Preference, data, notes)
    for key, preferred in (("preferred_output", True), ("non_preferred_output", False)):
        draft = Draft(notes)
        _request(draft, line.input, "input.")
        _messages(draft, getattr(line, key), key)
        draft.meta["preferred"] = preferred
        yield draft


# -- messages --------------------------------------------------------------------------------------


def _messages(draft: Draft, messages: list[Message], path: str) -> None:
    for at, message in enumerate(messages):
        before = len(draft)
        _message(draft, message, f"{path}.{at}")
        if message.weight is not None and len(draft) > before:
            draft.meta.setdefault("weights", {})[str(before)] = message.weight


def _message(draft: Draft, message: Message, place: str) -> None:
    text = _text(message, draft.notes, place)
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
    thought = message.reasoning_content or message.reasoning or None
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


def _text(message: Message, notes: Notes, place: str) -> str:
    if isinstance(message.content, list):
        return "\n".join(
            _part(part, notes, f"{place}.content.{at}") for at, part in enumerate(message.content)
        )
    if not message.content and isinstance(message.audio, dict):
        return as_text(message.audio.get("transcript"))
    return as_text(message.content)


def _part(part: Part, notes: Notes, place: str) -> str:
    if part.text is not None or part.refusal is not None:
        return part.text if part.text is not None else part.refusal or ""
    if part.type in _FOREIGN_PARTS:
        raise InputError(
            f"a part of type {part.type!r} is of another API",
            where=Where(field=f"{place}.type"),
            remedy="read the file with --format anthropic or --format openai-responses",
        )
    notes.remark(f"{part.type} left out")
    named = part.image_url.get("url") if isinstance(part.image_url, dict) else part.image_url
    if isinstance(part.file, dict):
        named = part.file.get("filename") or part.file.get("file_id")
    shown = isinstance(named, str) and named and not named.startswith("data:")
    return f"[{part.type}: {named}]" if shown else f"[{part.type}]"
