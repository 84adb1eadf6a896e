"""Messages in the spellings of LangChain and of the chat APIs that LangSmith records.

- `{lc: 1, type: constructor, id: [.., HumanMessage], kwargs: {content, ..}}`: what a tracer writes
- `{type: human, data: {content, ..}}` and `{type: human, content, ..}`: stored messages
- `{role, content, tool_calls: [{id, function: {name, arguments}}]}`: the chat API's own
- `[human, text]`, a bare text

Calls stand in `tool_calls` (`{name, args, id}`), older ones in `additional_kwargs` as the API gave
them, and as `tool_use` blocks of the content; arguments that were no JSON in `invalid_tool_calls`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

from vepa.corpus.importing.draft import as_text
from vepa.corpus.importing.format import checked
from vepa.corpus.importing.messages import Asked, Given, Said
from vepa.corpus.importing.report import Foreign, Notes
from vepa.errors import InputError, Where

__all__ = ["is_message", "message_of", "messages_of"]

Role = Literal["system", "user", "assistant", "tool"]
_ROLES: dict[str, Role] = {
    "system": "system", "developer": "system",
    "human": "user", "user": "user",
    "ai": "assistant", "assistant": "assistant", "model": "assistant",
    "tool": "tool", "function": "tool",
}  # fmt: skip
_KNOWN = ", ".join(sorted(_ROLES))


class _Function(Foreign):
    name: str
    arguments: Any = None


class _Call(Foreign):
    unused: ClassVar[frozenset[str]] = frozenset({"type", "index", "error"})

    name: str | None = None
    args: Any = None
    id: str | None = None
    function: _Function | None = None


class _More(Foreign):
    unused: ClassVar[frozenset[str]] = frozenset({"refusal", "parsed", "audio"})

    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None
    reasoning_content: str | None = None


class _Message(Foreign):
    unused: ClassVar[frozenset[str]] = frozenset(
        {
            "id", "type", "role", "response_metadata", "usage_metadata", "example", "artifact",
            "tool_call_chunks", "chunk_position", "annotations", "audio", "stop_reason", "model",
            "stop_sequence", "usage", "finish_reason",
        }
    )  # fmt: skip

    content: str | list[Any] | None = None
    name: str | None = None
    tool_calls: list[_Call] | None = None
    invalid_tool_calls: list[_Call] | None = None
    function_call: _Function | None = None
    additional_kwargs: _More | None = None
    tool_call_id: str | None = None
    status: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None


def is_message(data: Any) -> bool:
    """Whether it looks like one message of any spelling that names its role."""
    if not isinstance(data, dict):
        return False
    if data.get("lc") == 1:
        return _class_of(data).endswith(("Message", "MessageChunk"))
    kind = data.get("role", data.get("type"))
    return isinstance(kind, str) and kind.lower() in {*_ROLES, "chat", "remove"} and (
        "content" in data or "data" in data or "tool_calls" in data
    )  # fmt: skip


def messages_of(data: Any, place: str, notes: Notes) -> list[Said]:
    """All messages of a list; of a batch of lists the first.

    Raises
    ------
    InputError
        With the place of what is no message.
    """
    if not isinstance(data, list):
        raise InputError("a list of messages belongs here", where=Where(field=place))
    if data and isinstance(data[0], list) and (not data[0] or not isinstance(data[0][0], str)):
        if len(data) > 1:
            notes.remark("further conversations of a batch left out")
        return messages_of(data[0], f"{place}.0", notes)
    found = (message_of(each, f"{place}.{at}", notes) for at, each in enumerate(data))
    return [each for each in found if each is not None]


def message_of(data: Any, place: str, notes: Notes) -> Said | None:
    """One message; None where it only removes another.

    Raises
    ------
    InputError
        When it is none.
    """
    kind, body, inner = _opened(data, place)
    if kind == "remove":
        notes.remark("message that removes another left out")
        return None
    role = _ROLES.get(kind.lower())
    if role is None:
        raise InputError(
            f"{kind!r} is no role of a message",
            where=Where(field=place),
            remedy=f"known are {_KNOWN}",
        )
    message = checked(_Message, body, notes, f"{inner}.")
    text, thoughts, calls, results = _content(message.content, f"{inner}.content", notes)
    if role == "tool" and results:
        return Said("user", results=tuple(results))
    if role == "tool":
        ok = message.status != "error"
        given = Given(text, message.tool_call_id, message.name, ok, None if ok else "error")
        return Said("user", results=(given,))
    if role == "assistant":
        calls = list(_calls(message, inner)) or calls
        thoughts = [message.reasoning_content or "", *thoughts]
        if message.additional_kwargs and message.additional_kwargs.reasoning_content:
            thoughts.append(message.additional_kwargs.reasoning_content)
    return Said(
        role,
        text or message.refusal or "",
        "\n".join(filter(None, thoughts)) or None,
        tuple(calls),
        tuple(results),
        message.name,
    )


def _class_of(data: dict[str, Any]) -> str:
    path = data.get("id")
    return path[-1] if isinstance(path, list) and path and isinstance(path[-1], str) else ""


def _opened(data: Any, place: str) -> tuple[str, Any, str]:
    """Kind, body and place of the body of a message in any spelling."""
    if isinstance(data, str):
        return "human", {"content": data}, place
    if isinstance(data, list) and len(data) == 2 and all(isinstance(part, str) for part in data):
        return data[0], {"content": data[1]}, place
    if not isinstance(data, dict):
        raise InputError("a message belongs here", where=Where(field=place))
    kind: Any
    if "lc" in data:
        name = _class_of(data)
        if data.get("type") != "constructor" or not name:
            raise InputError(
                "an object that LangChain could not write down", where=Where(field=place)
            )
        kind = name.removesuffix("Chunk").removesuffix("Message")
        body, inner = data.get("kwargs"), f"{place}.kwargs"
    elif isinstance(data.get("data"), dict):
        kind, body, inner = data.get("type"), data["data"], f"{place}.data"
    else:
        kind, body, inner = data.get("role", data.get("type")), data, place
    if isinstance(kind, str) and kind.lower() == "chat" and isinstance(body, dict):
        kind, body = body.get("role"), body
    if not isinstance(kind, str):
        raise InputError(
            "a message without a role", where=Where(field=place), remedy=f"known are {_KNOWN}"
        )
    return kind, body, inner


def _calls(message: _Message, place: str) -> Iterator[Asked]:
    more = message.additional_kwargs or _More()
    for name, calls in (
        ("tool_calls", message.tool_calls or more.tool_calls),
        ("invalid_tool_calls", message.invalid_tool_calls),
    ):
        for at, call in enumerate(calls or []):
            if call.function is not None:
                yield Asked(call.function.name, call.function.arguments, call.id)
            elif call.name is not None:
                yield Asked(call.name, call.args, call.id)
            else:
                raise InputError("a call without a name", where=Where(field=f"{place}.{name}.{at}"))
    old = message.function_call or more.function_call
    if old is not None:
        yield Asked(old.name, old.arguments)


_Content = tuple[str, list[str], list[Asked], list[Given]]


def _content(content: str | Sequence[Any] | None, place: str, notes: Notes) -> _Content:
    """Text, thoughts, calls and results of a message's content."""
    if content is None or isinstance(content, str):
        return content or "", [], [], []
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[Asked] = []
    results: list[Given] = []
    for at, block in enumerate(content):
        if isinstance(block, str):
            texts.append(block)
            continue
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(kind, str):
            raise InputError("a block without a type", where=Where(field=f"{place}.{at}"))
        if kind in ("text", "input_text", "output_text"):
            texts.append(as_text(block.get("text")))
        elif kind in ("thinking", "reasoning", "redacted_thinking"):
            thoughts.append(_thought(block))
        elif kind in ("tool_use", "tool_call"):
            calls.append(_block_call(block, f"{place}.{at}"))
        elif kind == "tool_result":
            failed = bool(block.get("is_error"))
            error = "error" if failed else None
            inner, own = block.get("content"), block.get("tool_use_id")
            if not isinstance(inner, str | list | None) or not isinstance(own, str | None):
                raise InputError(
                    "a result has texts or blocks, and the id of its call",
                    where=Where(field=f"{place}.{at}"),
                )
            text = _content(inner, f"{place}.{at}.content", notes)[0]
            results.append(Given(text, own, None, not failed, error))
        else:
            notes.remark(f"{kind} left out")
            texts.append(f"[{kind}]")
    return "\n".join(texts), thoughts, calls, results


def _block_call(block: dict[str, Any], place: str) -> Asked:
    name, own = block.get("name"), block.get("id")
    if not isinstance(name, str) or not isinstance(own, str | None):
        raise InputError("a call without a name", where=Where(field=place))
    return Asked(name, block.get("input", block.get("args")), own)


def _thought(block: dict[str, Any]) -> str:
    told = block.get("thinking") or block.get("reasoning") or block.get("text")
    if isinstance(told, str):
        return told
    parts = block.get("summary")
    if isinstance(parts, list):
        return "\n".join(as_text(each.get("text")) for each in parts if isinstance(each, dict))
    return ""
