"""Messages of an Inspect log, put into a draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from vepa.corpus.importing.draft import Draft, as_text
from vepa.corpus.importing.report import Foreign
from vepa.errors import InputError, Where

__all__ = ["Message", "Turns"]


class Part(Foreign):
    """A part of a content; a `tool_use` is a call that the provider itself carried out."""

    unused: ClassVar[frozenset[str]] = frozenset(
        {"internal", "citations", "cache_breakpoint", "refusal", "signature", "detail", "format",
         "filename", "mime_type", "image", "audio", "video", "document", "data", "tool_type",
         "context"}
    )  # fmt: skip
    type: Literal[
        "text", "reasoning", "tool_use", "image", "audio", "video", "document", "data"
    ]  # fmt: skip
    text: str | None = None
    reasoning: str | None = None
    summary: str | None = None
    redacted: bool = False
    id: str | None = None
    name: str | None = None
    arguments: Any = None
    result: Any = None
    error: str | None = None


class ToolCall(Foreign):
    """A call; `parse_error` says why its arguments could not be read."""

    unused: ClassVar[frozenset[str]] = frozenset({"view", "type"})
    id: str
    function: str
    arguments: dict[str, Any]
    parse_error: str | None = None


class ToolError(Foreign):
    """Why a call failed (`timeout`, `permission`, `parsing`, …)."""

    type: str
    message: str


class Message(Foreign):
    """One message."""

    unused: ClassVar[frozenset[str]] = frozenset({"metadata", "model"})
    role: Literal["system", "user", "assistant", "tool"]
    content: str | list[Part]
    id: str | None = None
    source: Literal["input", "generate", "operator"] | None = None
    reasoning: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | list[str] | None = None
    function: str | None = None
    error: ToolError | None = None
    tool_error: str | None = None


class Turns:
    """Puts messages into a draft; knows how long the model and the tools took."""

    def __init__(self, draft: Draft, events: Sequence[Mapping[str, Any]]):
        self._draft = draft
        self._seconds: dict[str, float] = {}
        self._unread: dict[str, str] = {}
        for event in events:
            key, time = _timed(event), event.get("working_time")
            if key and isinstance(time, int | float) and time >= 0:
                self._seconds[key] = float(time)

    def add(self, message: Message, place: str) -> None:
        if message.role == "assistant":
            self._assistant(message)
            return
        text, thought = self._text(message.content)
        if thought:
            self._draft.notes.remark("reasoning outside of an assistant's message left out")
        if message.role == "system":
            self._draft.instruct(text)
        elif message.role == "tool":
            self._result(message, text, place)
        elif message.tool_call_id:
            self._draft.observe(text)
        else:
            operator = "operator" if message.source == "operator" else None
            self._draft.user(text, speaker=operator)

    def end(self) -> None:
        """Calls whose arguments could not be read, and that nobody answered."""
        for call, error in self._unread.items():
            self._draft.result(error, id=call, ok=False, error="parsing")

    def _assistant(self, message: Message) -> None:
        seconds = self._seconds.get(message.id or "")
        before = len(self._draft)
        texts: list[str] = []
        thoughts = [message.reasoning] if message.reasoning else []
        parts = message.content if isinstance(message.content, list) else []
        if isinstance(message.content, str):
            texts.append(message.content)
        for part in parts:
            if part.type == "tool_use":
                self._used(part, _beside(thoughts, texts))
                texts, thoughts = [], []
            else:
                text, thought = self._part(part)
                texts += [text] if text else []
                thoughts += [thought] if thought else []
        beside = _beside(thoughts, texts)
        for call in message.tool_calls or []:
            self._draft.call(call.function, call.arguments, id=call.id, thought=beside,
                             seconds=seconds)  # fmt: skip
            beside = seconds = None
            if call.parse_error:
                self._unread[call.id] = call.parse_error
        if not message.tool_calls and (any(texts) or len(self._draft) == before):
            alone = "\n".join(thoughts) or None
            self._draft.answer("\n".join(texts), thought=alone, seconds=seconds)
        elif not message.tool_calls and thoughts:
            self._draft.think(len(self._draft) - 1, "\n".join(thoughts))

    def _used(self, part: Part, thought: str | None) -> None:
        self._draft.call(part.name or "tool", part.arguments, id=part.id, thought=thought)
        failed = part.error is not None
        self._draft.result(
            part.error if part.error is not None else as_text(part.result),
            id=part.id,
            ok=not failed,
            error="error" if failed else None,
        )

    def _result(self, message: Message, text: str, place: str) -> None:
        if isinstance(message.tool_call_id, list):
            raise InputError("one id belongs here", where=Where(field=f"{place}.tool_call_id"))
        own = message.tool_call_id
        self._unread.pop(own or "", None)
        seconds = self._seconds.get(f"tool {own}")
        kind = message.error.type if message.error else "unknown"
        error = message.error.message if message.error else message.tool_error
        if error is None:
            self._draft.result(text, id=own, tool=message.function, seconds=seconds)
            return
        raw = text if text and text != error else None
        self._draft.result(error, id=own, tool=message.function, ok=False, error=kind, raw=raw,
                           seconds=seconds)  # fmt: skip

    def _text(self, content: str | Sequence[Part]) -> tuple[str, str]:
        if isinstance(content, str):
            return content, ""
        told = [self._part(part) for part in content]
        return "\n".join(t for t, _ in told if t), "\n".join(t for _, t in told if t)

    def _part(self, part: Part) -> tuple[str, str]:
        """Text and thought of a part."""
        if part.type == "text":
            return part.text or "", ""
        if part.type == "reasoning":
            thought = (part.summary if part.redacted else part.reasoning) or ""
            if not thought:
                self._draft.notes.remark("redacted reasoning left out")
            return "", thought
        self._draft.notes.remark(f"{part.type} left out")
        return f"[{part.type}]", ""


def _beside(thoughts: Sequence[str], texts: Sequence[str]) -> str | None:
    return "\n".join(part for part in (*thoughts, *texts) if part) or None


def _timed(event: Mapping[str, Any]) -> str | None:
    """Whose time an event tells: a message's id, or `tool ID` of a call."""
    if event.get("event") == "tool":
        return f"tool {event.get('id')}"
    output = event.get("output")
    choices = output.get("choices") if isinstance(output, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    own = message.get("id") if isinstance(message, dict) else None
    return own if event.get("event") == "model" and isinstance(own, str) else None
