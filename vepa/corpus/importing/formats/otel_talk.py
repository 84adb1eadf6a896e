"""The messages of a span, in the conventions that instrumentations have had over time.

- OpenTelemetry 1.37 and later: `gen_ai.input.messages` and `gen_ai.output.messages`, which are
  `[{role, parts}]` (parts of the types text, reasoning, tool_call, tool_call_response,
  server_tool_call, blob, uri, file, ..), `gen_ai.system_instructions` (parts),
  `gen_ai.tool.definitions`; each a JSON text on a span, and structured in events
  (`gen_ai.client.inference.operation.details`)
- before that: an event a message, `gen_ai.user.message` and so on, `gen_ai.choice` for the answer,
  as events of the span (content in attributes, or as JSON in `gen_ai.event.content`) or as log
  records (content in the body)
- OpenLLMetry: `gen_ai.prompt.0.role`, `gen_ai.completion.0.tool_calls.0.name`
- OpenInference: `llm.input_messages.0.message.role`, and `openinference.span.kind`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from vepa.corpus.importing.draft import as_text
from vepa.corpus.importing.format import checked
from vepa.corpus.importing.formats.langchain_messages import message_of
from vepa.corpus.importing.formats.otel_events import EVENTS, events_of
from vepa.corpus.importing.formats.otel_fields import (
    flat_message,
    inference_message,
    loose,
    numbered,
    parsed,
    plain,
    tree,
)
from vepa.corpus.importing.messages import Asked, Given, Said
from vepa.corpus.importing.report import Foreign, Notes
from vepa.errors import InputError, Where

__all__ = ["talk_of", "tools_of"]

_ROLES = {
    "system": "system", "developer": "system", "user": "user", "human": "user", "tool": "user",
    "function": "user", "assistant": "assistant", "model": "assistant", "ai": "assistant",
    "agent": "assistant",
}  # fmt: skip
_FILES = ("blob", "uri", "file", "file_data", "image", "audio", "video", "document")


class _Part(Foreign):
    unused: ClassVar[frozenset[str]] = frozenset({"mime_type", "modality", "uri", "file_id"})

    type: str
    content: Any = None
    text: Any = None
    id: str | None = None
    name: str | None = None
    arguments: Any = None
    response: Any = None
    result: Any = None
    server_tool_call: Any = None
    server_tool_call_response: Any = None


class _Message(Foreign):
    unused: ClassVar[frozenset[str]] = frozenset({"finish_reason"})

    role: str
    parts: list[_Part]
    name: str | None = None


class _Tool(Foreign):
    unused: ClassVar[frozenset[str]] = frozenset({"type", "response", "strict"})

    name: str | None = None
    description: str | None = None
    parameters: Any = None
    function: Any = None


def talk_of(span: Mapping[str, Any], notes: Notes) -> tuple[list[Said], list[Said]]:
    """What a call of a model was shown and what it answered.

    Parameters
    ----------
    span
        See `otlp.Found`; `logs` are the log records of the span.

    Raises
    ------
    InputError
        With the place of a message that is none.
    """
    given: dict[str, Any] = span["attributes"]
    sources = [(given, "attributes.")]
    for event in (*span.get("events", ()), *span.get("logs", ())):
        if event["name"] not in EVENTS:
            body = event.get("body")
            inner = {**event["attributes"], **(body if isinstance(body, dict) else {})}
            sources.append((inner, f"{event['name']}."))
    for attributes, where in sources:
        inputs, outputs = _structured(attributes, where, notes)
        if inputs or outputs:
            return inputs, outputs
    inputs, outputs = events_of(span, notes)
    if inputs or outputs:
        return inputs, outputs
    for asked, answered, read in (
        ("gen_ai.prompt", "gen_ai.completion", flat_message),
        ("llm.prompts", "llm.completions", flat_message),
        ("llm.input_messages", "llm.output_messages", inference_message),
    ):
        inputs = list(numbered(given, asked, "user", read, notes))
        outputs = list(numbered(given, answered, "assistant", read, notes))
        if inputs or outputs:
            return inputs, outputs
    for event in span.get("events", ()):  # before 1.28: all messages in an event
        if event["name"] in ("gen_ai.content.prompt", "gen_ai.content.completion"):
            given = {**given, **event["attributes"]}
    return plain(given, notes)


def tools_of(given: Mapping[str, Any], notes: Notes) -> Iterator[tuple[str, Any, Any]]:
    """Name, description and parameters of the tools that a span says were offered."""
    name = "gen_ai.tool.definitions"
    place = f"attributes.{name}"
    tools = parsed(given[name], place) if given.get(name) else []
    if not isinstance(tools, list):
        raise InputError("an array of tools belongs here", where=Where(field=place))
    for at, each in enumerate(tools):
        tool = checked(_Tool, each, notes, f"{place}.{at}.")
        if isinstance(tool.function, dict):
            tool = checked(_Tool, tool.function, notes, f"{place}.{at}.function.")
        if tool.name is None:
            raise InputError("a tool without a name", where=Where(field=f"{place}.{at}"))
        yield tool.name, tool.description, tool.parameters
    for each in tree(given, "llm.request.functions").values():
        yield from _offered(each)
    for each in tree(given, "llm.tools").values():
        held = each.get("tool") if isinstance(each, dict) else None
        shape = loose(held.get("json_schema")) if isinstance(held, dict) else None
        yield from _offered(shape.get("function", shape) if isinstance(shape, dict) else None)


def _offered(data: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(data, dict) and isinstance(data.get("name"), str):
        yield data["name"], data.get("description"), loose(data.get("parameters"))


# -- messages of parts -----------------------------------------------------------------------------


def _structured(
    given: Mapping[str, Any], place: str, notes: Notes
) -> tuple[list[Said], list[Said]]:
    inputs: list[Said] = []
    name = "gen_ai.system_instructions"
    if given.get(name):
        text = given[name]
        if not isinstance(text, str) or text.lstrip().startswith("["):
            parts = parsed(text, f"{place}{name}")
            if isinstance(parts, list) and all(isinstance(each, str) for each in parts):
                parts = [{"type": "text", "content": each} for each in parts]
            said = _message({"role": "system", "parts": parts}, f"{place}{name}", notes)
            text = "\n".join(each.text for each in said)
        inputs.append(Said("system", text))
    inputs += _messages(given, "gen_ai.input.messages", place, notes)
    outputs = _messages(given, "gen_ai.output.messages", place, notes)
    return inputs, outputs


def _messages(given: Mapping[str, Any], name: str, place: str, notes: Notes) -> list[Said]:
    data = given.get(name)
    if data is None:
        return []
    if isinstance(data, str) and data.strip() and data.lstrip()[0] not in "[{":
        notes.remark("messages that are one text")  # some write no list
        return [Said("assistant" if name.startswith("gen_ai.output") else "user", data)]
    data = parsed(data, f"{place}{name}")
    if not isinstance(data, list):
        raise InputError("an array of messages belongs here", where=Where(field=f"{place}{name}"))
    if name.startswith("gen_ai.output") and len(data) > 1 and _are_choices(data):
        notes.remark("further answers of one request left out")
        data = data[:1]
    found: list[Said] = []
    for at, each in enumerate(data):
        found += _message(each, f"{place}{name}.{at}", notes)
    return found


def _are_choices(data: Sequence[Any]) -> bool:
    """Several answers to one request, no message after another."""
    return all(isinstance(each, dict) and each.get("finish_reason") for each in data)


def _message(data: Any, place: str, notes: Notes) -> list[Said]:
    """One message; more where results stand in the middle of it."""
    if isinstance(data, dict) and "parts" not in data and {"content", "tool_calls"} & set(data):
        said = message_of(data, place, notes)
        return [said] if said is not None else []
    message = checked(_Message, data, notes, f"{place}.")
    role: Any = _ROLES.get(message.role.lower())
    speaker = message.name
    if role is None:
        notes.remark("message of an unknown role")
        role, speaker = "observation", speaker or message.role
    found: list[Said] = []
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[Asked] = []

    def flush() -> None:
        if texts or thoughts or calls:
            thought = "\n".join(thoughts) or None
            found.append(Said(role, "\n".join(texts), thought, tuple(calls), speaker=speaker))
        for each in (texts, thoughts, calls):
            each.clear()

    for at, part in enumerate(message.parts):
        given = _given(part)
        if given is not None:
            flush()
            found.append(Said("user", results=(given,)))
        elif part.type == "reasoning":
            thoughts.append(as_text(part.content))
        elif part.type in ("tool_call", "server_tool_call"):
            calls.append(_asked(part, f"{place}.parts.{at}"))
        else:
            texts.append(_text(part, notes))
    flush()
    return found or [Said(role, speaker=speaker)]


def _given(part: _Part) -> Given | None:
    if part.type == "tool_call_response":
        shown = part.response if part.response is not None else part.result
        return Given(as_text(shown if shown is not None else part.content), part.id, part.name)
    if part.type == "server_tool_call_response":
        return Given(as_text(part.server_tool_call_response), part.id, part.name)
    return None


def _asked(part: _Part, place: str) -> Asked:
    if part.name is None:
        raise InputError("a call without a name", where=Where(field=f"{place}.name"))
    return Asked(part.name, part.arguments or part.server_tool_call, part.id)


def _text(part: _Part, notes: Notes) -> str:
    if part.type == "text":
        return as_text(part.content if part.content is not None else part.text)
    notes.remark(f"{part.type if part.type in _FILES else 'part of another type'} left out")
    return f"[{part.type}]"
