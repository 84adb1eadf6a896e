"""Spans of tools and retrievers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vepa.corpus.importing.draft import as_text
from vepa.corpus.importing.formats.otel_events import EVENTS
from vepa.corpus.importing.formats.otel_talk import talk_of
from vepa.corpus.importing.formats.otlp import Found
from vepa.corpus.importing.messages import Asked, Given
from vepa.corpus.importing.report import Notes

__all__ = ["first", "took", "tool_of"]


def tool_of(span: Found, notes: Notes) -> tuple[Asked, Given | None]:
    """A run of a tool as a call and its result, where the span has one.

    Raises
    ------
    InputError
        With the name of an event that holds no message.
    """
    given = span["attributes"]
    name = first(given, "gen_ai.tool.name", "tool.name", "traceloop.entity.name")
    name = as_text(name or span["name"].removeprefix("execute_tool ").strip() or "tool")
    own = first(given, "gen_ai.tool.call.id", "tool_call.id", "tool.id")
    own = own if isinstance(own, str) else None
    arguments = first(
        given, "gen_ai.tool.call.arguments", "tool.parameters", "input.value",
        "traceloop.entity.input",
    )  # fmt: skip
    result = first(given, "gen_ai.tool.call.result", "output.value", "traceloop.entity.output")
    if result is None:
        result = _retrieved(given)
    if result is None and any(each["name"] in EVENTS for each in span.get("events", ())):
        asked, answered = talk_of(span, notes)
        result = "\n".join(each.text for each in answered) or None
        arguments = arguments or "\n".join(each.text for each in asked) or None
    failed = span["error"]
    if result is None and failed is None:
        return Asked(name, arguments, own), None
    text = as_text(result if result is not None else failed)
    error = as_text(given.get("error.type") or "error") if failed else None
    return Asked(name, arguments, own), Given(text, own, name, not failed, error, took(span))


def first(given: Mapping[str, Any], *names: str) -> Any:
    """The first of the attributes that there is."""
    return next((given[name] for name in names if given.get(name) is not None), None)


def _retrieved(given: Mapping[str, Any]) -> str | None:
    texts = [
        as_text(value)
        for name, value in given.items()
        if name.startswith("retrieval.documents.") and name.endswith(".document.content")
    ]
    return "\n\n".join(texts) or None


def took(span: Found) -> float | None:
    """Seconds that a span took, where it says so."""
    return (span["end"] - span["start"]) / 1e9 if span["end"] > span["start"] > 0 else None
