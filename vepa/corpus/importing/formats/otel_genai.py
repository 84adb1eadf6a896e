"""OpenTelemetry spans of generative AI: the calls of models, tools and agents of a trace.

`gen_ai.operation.name` says what a span is (`chat`, `generate_content`, `text_completion`,
`execute_tool`, `invoke_agent`, `create_agent`); OpenInference has `openinference.span.kind`,
OpenLLMetry `traceloop.span.kind` and `llm.request.type`. `gen_ai.system` became
`gen_ai.provider.name`. Traces of one `gen_ai.conversation.id` (or `session.id`) are one trajectory.
Spans of a trace come in any order and in any number of records; other spans are only the way from a
call to its agent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vepa.corpus.importing.draft import Draft
from vepa.corpus.importing.format import GroupedFormat, within
from vepa.corpus.importing.formats.otel_events import EVENTS
from vepa.corpus.importing.formats.otel_talk import talk_of, tools_of
from vepa.corpus.importing.formats.otel_tools import first, took, tool_of
from vepa.corpus.importing.formats.otlp import Found, found_in, is_telemetry
from vepa.corpus.importing.grouping import Link
from vepa.corpus.importing.joining import Joined
from vepa.corpus.importing.report import Notes
from vepa.errors import InputError

__all__ = ["OtelGenAI"]

_OURS = (
    "gen_ai.", "llm.", "openinference.", "traceloop.", "tool.", "tool_call.", "retrieval.",
    "input.value", "output.value",
)  # fmt: skip
_CONVERSATION = ("gen_ai.conversation.id", "session.id")
_KINDS = {
    "chat": "chat", "text_completion": "chat", "generate_content": "chat", "completion": "chat",
    "execute_tool": "tool", "invoke_agent": "agent", "create_agent": "other",
    "embeddings": "other", "invoke_workflow": "other",
    "LLM": "chat", "TOOL": "tool", "AGENT": "agent", "RETRIEVER": "tool",
    "tool": "tool", "agent": "agent",
}  # fmt: skip
#: Attributes that are read, or that say nothing of what happened.
_KNOWN = re.compile(
    r"gen_ai\.(operation\.name|system|provider\.name|(request|response|usage|openai|token|output\.type)"
    r"(\..*)?|input\.messages|output\.messages|system_instructions|conversation\.id"
    r"|tool\.(name|description|type|definitions|call\.(id|arguments|result))|agent\.(name|id|"
    r"description|version)|evaluation\..*|content\..*|data_source\.id|(prompt|completion)(\..*)?|event\..*)"
    r"|llm\.(prompts|completions|input_messages|output_messages|request|tools|model_name|provider"
    r"|system|token_count|invocation_parameters|usage|response|is_streaming|headers|top_p|cost)\b.*"
    r"|openinference\.span\.kind|traceloop\..*|tool\.(name|description|parameters|json_schema|id)"
    r"|tool_call\.id|retrieval\.documents\..*|(input|output)\.(value|mime_type)|session\.id|agent\.name"
    r"|(error|exception|server|client|network|service|telemetry|thread|code|url|http|user|otel|process|"
    r"peer|event)\..*|metadata|tag\.tags|graph\.node\..*|logfire\..*"
)


class OtelGenAI(GroupedFormat):
    """Pieces are spans and log records; those of a trace or a conversation are a trajectory."""

    name = "otel-genai"
    title = "OpenTelemetry GenAI spans (OTLP/JSON or printed)"
    inside = ("resourceSpans", "resourceLogs", "spans")

    def recognise(self, data: Any) -> bool:
        """A request of spans or logs, or one span."""
        return is_telemetry(data)

    def pieces(self, data: Any, head: Mapping[str, Any], notes: Notes) -> Iterator[tuple[str, Any]]:
        """All spans and log records of a record under the id of their trace."""
        for _, found in found_in(data):
            trace = found.get("trace")
            ours = _is_ours(found)
            if not ours:
                notes.remark(f"{found['kind']} of another kind left out")
            if trace is None:
                if ours:
                    notes.remark("log record of no trace left out")
                continue
            if not ours:
                if found["kind"] == "span":
                    yield trace, {name: found[name] for name in ("kind", "trace", "span", "parent")}
                continue
            for name in found["attributes"]:
                if not _KNOWN.fullmatch(name):
                    notes.key(f"attributes.{name}")
            yield trace, found
            for name in _CONVERSATION:
                if isinstance(found["attributes"].get(name), str) and found["attributes"][name]:
                    yield trace, Link(found["attributes"][name])
                    break

    def join(self, key: str, pieces: Sequence[Any], notes: Notes) -> Iterator[Draft]:
        """The trajectory of a trace, or of all traces of a conversation."""
        spans = _spans(pieces, notes)
        ours = [span for span in spans.values() if "attributes" in span]
        if not ours:
            return
        joined = Joined(notes)
        draft = Draft(notes, id=key)
        talking = _talking(ours)
        # In the order of time; what began at once, as it stood in the file.
        for span in sorted(ours, key=lambda span: int(span["start"])):
            with within(_place(span)):
                _tell(joined, draft, span, spans, talking, notes)
        if not len(joined):
            raise InputError(
                "no span of this trace has the content of a message or of a call",
                remedy="let the instrumentation record it: "
                "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT, TRACELOOP_TRACE_CONTENT",
            )
        joined.write(draft)
        draft.meta = _meta(ours)
        yield draft


def _is_ours(found: Found) -> bool:
    names = (
        *found["attributes"],
        found["name"],
        *(each["name"] for each in found.get("events", ())),
    )
    return any(name.startswith(_OURS) for name in names)


def _spans(pieces: Sequence[Any], notes: Notes) -> dict[str, Found]:
    """By id, each with its log records; a span that was sent twice counts once."""
    spans: dict[str, Found] = {}
    for piece in pieces:
        if piece["kind"] != "span":
            continue
        if piece["span"] in spans:
            notes.remark("span sent twice")
        else:
            spans[piece["span"]] = piece
    for piece in pieces:
        if piece["kind"] == "log":
            # Without the span itself, its events still tell what was said.
            own = piece.get("span") or f"log {piece['start']}"
            lone = {"kind": "span", "trace": piece["trace"], "span": own, "parent": None}
            span = spans.setdefault(own, lone)
            if "attributes" not in span:
                span |= {
                    "name": "",
                    "attributes": {},
                    "start": piece["start"],
                    "end": 0,
                    "error": None,
                }
            span.setdefault("logs", []).append(piece)
    return spans


def _kind_of(span: Found) -> str:
    given = span["attributes"]
    for name in ("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind"):
        word = given.get(name)
        if isinstance(word, str) and word in _KINDS:
            return _KINDS[word]
    if given.get("llm.request.type") or span.get("logs"):
        return "chat"
    names = {each["name"] for each in span.get("events", ())}
    if names & set(EVENTS) or any(name in given for name in _MESSAGES):
        return "chat"
    return "other"


_MESSAGES = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.prompt.0.role",
             "gen_ai.completion.0.role", "llm.input_messages.0.message.role")  # fmt: skip


def _talking(spans: Sequence[Found]) -> str:
    """Of which kind the spans are that hold the talk: models', else agents', else any other."""
    quiet = Notes()  # what is found here is found again
    for kind in ("chat", "agent"):
        for span in spans:
            if _kind_of(span) == kind and _talks(span, quiet):
                return kind
    return "other"


def _talks(span: Found, notes: Notes) -> bool:
    with within(_place(span)):
        return any(talk_of(span, notes))


def _tell(
    joined: Joined,
    draft: Draft,
    span: Found,
    spans: Mapping[str, Found],
    talking: str,
    notes: Notes,
) -> None:
    kind, given = _kind_of(span), span["attributes"]
    agent, asked_by = _agents(span, spans)
    seconds = took(span)
    if draft.model is None and kind in ("chat", "agent"):
        named = (given.get(name) for name in _MODELS)
        draft.model = next((name for name in named if isinstance(name, str) and name), None)
    for tool in tools_of(given, notes):
        joined.offer(*tool)
    if kind == "tool":
        joined.tool(*tool_of(span, notes), agent=agent)
    elif kind == talking:
        inputs, outputs = talk_of(span, notes)
        if span["error"] and not outputs:
            notes.remark("call of a model that failed")
        joined.chat(inputs, outputs, agent=agent, asked_by=asked_by, seconds=seconds)


_MODELS = ("gen_ai.request.model", "gen_ai.response.model", "llm.model_name", "llm.request.model")


def _place(span: Found) -> str:
    return f"spans.{span['span']}"


def _agents(span: Found, spans: Mapping[str, Found]) -> tuple[str | None, str | None]:
    """The agent of a span, and the one that called it."""
    at: Found | None = span
    agent: str | None = None
    seen: set[str] = set()
    while at is not None and at["span"] not in seen:
        seen.add(at["span"])
        above = _agent_of(at)
        if agent is None:
            agent = above
        elif above is not None and above != agent:
            return agent, above
        at = spans.get(at["parent"]) if at.get("parent") else None
    return agent, None


def _agent_of(span: Found) -> str | None:
    given = span.get("attributes")
    if not given:
        return None
    name = given.get("gen_ai.agent.name", given.get("agent.name"))
    if name is None and given.get("traceloop.span.kind") == "agent":
        name = given.get("traceloop.entity.name")
    return name if isinstance(name, str) and name else None


def _meta(spans: Sequence[Found]) -> dict[str, Any]:
    traces = sorted({span["trace"] for span in spans})
    agents = sorted({name for span in spans if (name := _agent_of(span))})
    errors = {span["span"]: span["error"] for span in spans if span["error"]}
    providers = (
        first(span["attributes"], "gen_ai.provider.name", "gen_ai.system", "llm.provider")
        for span in spans
    )
    found = {
        "traces": traces if len(traces) > 1 else None,
        "provider": next((name for name in providers if name), None),
        "agents": agents,
        "evaluations": [each for span in spans for each in _evaluations(span)],
        "errors": errors,
    }
    return {name: value for name, value in found.items() if value}


def _evaluations(span: Found) -> Iterator[dict[str, Any]]:
    """Scores of whoever evaluated a call."""
    for event in (*span.get("events", ()), *span.get("logs", ())):
        if event["name"] == "gen_ai.evaluation.result":
            prefix = "gen_ai.evaluation."
            body = event.get("body")
            given = {**event["attributes"], **(body if isinstance(body, dict) else {})}
            yield {
                name.removeprefix(prefix): value
                for name, value in given.items()
                if name.startswith(prefix)
            }
