"""Messages that are events of a span, one each, as instrumentations wrote them before 1.37."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vepa.corpus.importing.draft import as_text
from vepa.corpus.importing.formats.langchain_messages import message_of
from vepa.corpus.importing.formats.otel_fields import loose, parsed
from vepa.corpus.importing.messages import Said
from vepa.corpus.importing.report import Notes

__all__ = ["EVENTS", "events_of"]

#: Events that hold a message each -> role.
EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}


def events_of(span: Mapping[str, Any], notes: Notes) -> tuple[list[Said], list[Said]]:
    """What a model was shown and what it answered, by the events of a span.

    Raises
    ------
    InputError
        With the name of an event that holds no message.
    """
    inputs: list[Said] = []
    outputs: list[Said] = []
    for event in (*span.get("events", ()), *span.get("logs", ())):
        name = event["name"]
        if name not in EVENTS:
            continue
        content = _event(event, name)
        if name != "gen_ai.choice":
            said = message_of({"role": EVENTS[name], **content}, name, notes)
            inputs += [said] if said is not None else []
            continue
        if content.get("index"):
            notes.remark("further answers of one request left out")
            continue
        inner = content.get("message", content)
        if not isinstance(inner, dict):
            inner = {"content": _blocks(inner) or as_text(inner)}
        said = message_of({"role": "assistant", **inner}, name, notes)
        outputs += [said] if said is not None else []
    return inputs, outputs


def _event(event: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The content of an event, wherever its exporter put it."""
    given = dict(event["attributes"])
    packed = given.get("gen_ai.event.content")
    body = parsed(packed, f"{place}.gen_ai.event.content") if packed else event.get("body")
    if body is None:
        body = given
    if not isinstance(body, dict):
        body = {"content": as_text(body)}
    found = {
        name: value
        for name, value in body.items()
        if name in ("role", "content", "tool_calls", "name", "index", "message")
    }
    content = found.get("content")
    if content is not None:
        found["content"] = _blocks(loose(content)) or as_text(content)
    for name in ("tool_calls", "message"):
        if isinstance(found.get(name), str) and found[name].lstrip()[:1] in ("[", "{"):
            found[name] = loose(found[name])
    if isinstance(body.get("id"), str):
        found["tool_call_id"] = body["id"]
    return found


def _blocks(content: Any) -> list[Any] | None:
    """Blocks that name their type; those of Bedrock have it as their one key. None for a text."""
    if not isinstance(content, list) or not all(isinstance(each, dict) for each in content):
        return None
    found = [each if "type" in each else _named(each) for each in content]
    return found if found and all(found) else None


def _named(block: dict[str, Any]) -> dict[str, Any] | None:
    if set(block) == {"text"}:
        return {"type": "text", **block}
    kind, inner = next(iter(block.items()), ("", None))
    if len(block) != 1 or not isinstance(inner, dict):
        return None
    if kind == "toolUse":
        used = {"id": inner.get("toolUseId"), "name": inner.get("name")}
        return {"type": "tool_use", **used, "input": inner.get("input")}
    if kind == "toolResult":
        given = inner.get("content")
        parts = [
            each if isinstance(each, dict) else {"json": each}
            for each in (given if isinstance(given, list) else [given])
        ]
        texts = [as_text(each.get("text", each.get("json"))) for each in parts]
        own, failed = inner.get("toolUseId"), inner.get("status") == "error"
        text = "\n".join(texts)
        return {"type": "tool_result", "tool_use_id": own, "content": text, "is_error": failed}
    if kind == "reasoningContent":
        told = inner.get("reasoningText")
        return {"type": "thinking", "thinking": told.get("text") if isinstance(told, dict) else ""}
    return None
