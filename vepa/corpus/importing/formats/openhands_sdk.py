"""Events of the OpenHands SDK (`openhands-sdk`, since late 2025), put into a draft.

Each event names its class in `kind`. An `ActionEvent` has the model's call (`tool_call`, with its
arguments as text) and the action made of it (`action`, none where the call could not be carried
out); an `ObservationEvent`, an `AgentErrorEvent` or a `UserRejectObservation` answers it by
`tool_call_id`. The first versions kept `tool_call` in the API's own form (`function`), the tools of
the system prompt likewise, and observations without `content` and `is_error`. Events form a tree
by `parent_id` where somebody went back; they are told in the order of the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from vepa.corpus.importing.draft import Draft, as_text
from vepa.corpus.importing.format import checked
from vepa.corpus.importing.report import Foreign, Notes
from vepa.errors import InputError, Where

__all__ = ["KINDS", "Event", "SdkCourse"]

#: What the program tells its user interface, or does for itself.
_QUIET = frozenset({
    "PauseEvent", "InterruptEvent", "ConversationStateUpdateEvent", "TokenEvent",
    "StreamingDeltaEvent", "LLMCompletionLogEvent", "HookExecutionEvent", "CondensationRequest",
})  # fmt: skip
KINDS = _QUIET | frozenset({
    "SystemPromptEvent", "MessageEvent", "ActionEvent", "ObservationEvent",
    "UserRejectObservation", "AgentErrorEvent", "ConversationErrorEvent", "SecurityAnalysisEvent",
    "Condensation", "CondensationSummaryEvent", "ACPToolCallEvent",
})  # fmt: skip


class Part(Foreign):
    """A part of a content."""

    unused: ClassVar[frozenset[str]] = frozenset({"cache_prompt", "enable_truncation", "meta"})
    type: Literal["text", "image"] = "text"
    text: str | None = None
    image_urls: list[str] | None = None


class LlmMessage(Foreign):
    """A message as the model was shown it, or wrote it."""

    unused: ClassVar[frozenset[str]] = frozenset(
        {"name", "tool_call_id", "tool_calls", "cache_enabled", "vision_enabled",
         "function_calling_enabled", "force_string_serializer", "send_reasoning_content"}
    )  # fmt: skip
    role: str
    content: str | list[Part]
    reasoning_content: str | None = None
    thinking_blocks: list[dict[str, Any]] | None = None
    responses_reasoning_item: dict[str, Any] | None = None


class Event(Foreign):
    """An event of any kind; which of the keys it has depends on the kind."""

    unused: ClassVar[frozenset[str]] = frozenset(
        {"timestamp", "llm_response_id", "activated_skills", "critic_result", "summary_offset",
         "forgotten_event_ids", "classification", "key", "value", "analyzer", "policy", "details",
         "rejection_source", "action_id", "tool_kind", "content"}
    )  # fmt: skip
    kind: str
    id: str | None = None
    source: Literal["agent", "user", "environment", "hook"] | None = None
    parent_id: str | None = None
    system_prompt: Part | None = None
    dynamic_context: Part | None = None
    tools: list[dict[str, Any]] | None = None
    llm_message: LlmMessage | None = None
    extended_content: list[Part] | None = None
    sender: str | None = None
    thought: list[Part] | None = None
    reasoning_content: str | None = None
    thinking_blocks: list[dict[str, Any]] | None = None
    responses_reasoning_item: dict[str, Any] | None = None
    action: dict[str, Any] | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_call: dict[str, Any] | None = None
    security_risk: str | None = None
    observation: dict[str, Any] | None = None
    rejection_reason: str | None = None
    error: str | None = None
    code: str | None = None
    detail: str | None = None
    summary: str | None = None
    risks: dict[str, Any] | None = None
    title: str | None = None
    status: str | None = None
    raw_input: Any = None
    raw_output: Any = None
    is_error: bool = False


class SdkCourse:
    """Takes the events of one conversation in their order."""

    def __init__(self, draft: Draft, notes: Notes):
        self._draft = draft
        self._notes = notes
        self._parents: set[str] = set()
        self._finished: set[str] = set()
        self._acp: dict[str, Event] = {}

    def add(self, data: Any, place: str) -> None:
        """The next event; `place` is its path, with a dot at its end."""
        event = checked(Event, data, None, place)
        if event.parent_id is not None:
            if event.parent_id in self._parents:
                self._notes.remark("branches told one after another")
            self._parents.add(event.parent_id)
        if event.kind in _QUIET:
            self._notes.remark(f"{event.kind} left out")
        elif event.kind == "SystemPromptEvent":
            self._system(event, place)
        elif event.kind == "MessageEvent":
            self._message(event, place)
        elif event.kind == "ActionEvent":
            self._action(event, place)
        elif event.kind == "ACPToolCallEvent":
            self._acp[_needed(event.tool_call_id, "tool_call_id", place)] = event
        else:
            self._other(event, place)

    def end(self) -> None:
        """Calls that another agent program reported over and over: the last report counts."""
        for own, event in self._acp.items():
            self._draft.call(event.title or "tool", event.raw_input, id=own)
            if event.raw_output is not None or event.status in ("completed", "failed"):
                failed = event.is_error or event.status == "failed"
                error = "error" if failed else None
                text = as_text(event.raw_output)
                self._draft.result(text, id=own, ok=not failed, error=error)

    def _other(self, event: Event, place: str) -> None:
        if event.kind == "ObservationEvent":
            self._observation(event, place)
        elif event.kind == "UserRejectObservation":
            reason = event.rejection_reason or "User rejected the action"
            self._answer(event, f"Action rejected: {reason}", "rejected")
        elif event.kind == "AgentErrorEvent":
            self._answer(event, _needed(event.error, "error", place), "error")
        elif event.kind in ("Condensation", "CondensationSummaryEvent"):
            if event.summary:
                self._draft.observe(event.summary)
        elif event.kind == "ConversationErrorEvent":
            self._draft.meta["error"] = {"code": event.code, "detail": event.detail}
        elif event.kind == "SecurityAnalysisEvent":
            self._draft.meta.setdefault("risks", {}).update(event.risks or {})
        else:
            self._notes.remark(f"unknown event {event.kind} left out")

    def _system(self, event: Event, place: str) -> None:
        self._draft.instruct(_needed(event.system_prompt, "system_prompt", place).text or "")
        if event.dynamic_context is not None:
            self._draft.instruct(event.dynamic_context.text or "")
        for tool in event.tools or []:
            inner = tool.get("function") or tool.get("mcp_tool")
            known = inner if isinstance(inner, dict) else tool
            name = known.get("name") or known.get("title") or known.get("kind")
            shape = known.get("parameters") or known.get("inputSchema")
            if isinstance(name, str):
                self._draft.offer(name, as_text(known.get("description")) or None, shape)

    def _message(self, event: Event, place: str) -> None:
        message = _needed(event.llm_message, "llm_message", place)
        parts = [Part(text=message.content)] if isinstance(message.content, str) else (
            message.content
        )  # fmt: skip
        text = self._text([*parts, *(event.extended_content or [])])
        if event.source == "agent":
            thought = _thought(message.reasoning_content, message.thinking_blocks,
                               message.responses_reasoning_item)  # fmt: skip
            self._draft.answer(text, thought=thought, speaker=event.sender)
        elif event.source in ("user", None):
            self._draft.user(text, speaker=event.sender)
        else:
            self._draft.observe(text, speaker=event.sender)

    def _action(self, event: Event, place: str) -> None:
        written = event.tool_call or {}
        function = written.get("function")
        inner = function if isinstance(function, dict) else written
        tool = event.tool_name or inner.get("name")
        own = event.tool_call_id or written.get("id")
        said = self._text(event.thought or [])
        thought = _thought(event.reasoning_content, event.thinking_blocks,
                           event.responses_reasoning_item, said)  # fmt: skip
        action = {key: value for key, value in (event.action or {}).items() if key != "kind"}
        if tool == "finish" and isinstance(action.get("message"), str):
            self._finished.add(_needed(own, "tool_call_id", place))
            self._draft.answer(action["message"], thought=thought)
            return
        arguments = inner.get("arguments")
        name = as_text(_needed(tool, "tool_name", place))
        at = self._draft.call(
            name, action if arguments is None else arguments, id=own, thought=thought
        )  # fmt: skip
        if event.security_risk not in (None, "UNKNOWN"):
            self._draft.meta.setdefault("security_risk", {})[str(at)] = event.security_risk

    def _observation(self, event: Event, place: str) -> None:
        given = _needed(event.observation, "observation", place)
        failed = bool(given.get("is_error") or given.get("error"))
        text = self._shown(given, f"{place}observation.")
        if event.extended_content:
            text = f"{text}\n{self._text(event.extended_content)}"
        code = given.get("exit_code")
        error = "error" if failed else None
        if not failed and isinstance(code, int) and code not in (0, -1):
            error = f"exit code {code}"
        self._answer(event, text, error)

    def _answer(self, event: Event, text: str, error: str | None) -> None:
        if event.tool_call_id in self._finished:
            return  # its words were told with the action
        self._draft.result(
            text, id=event.tool_call_id, tool=event.tool_name, ok=error is None, error=error
        )

    def _shown(self, given: Mapping[str, Any], place: str) -> str:
        """The text of an observation: parts, or the keys of the first versions, or all it has."""
        content = given.get("content")
        if isinstance(content, list):
            parts = [
                checked(Part, each, None, f"{place}content.{at}.")
                for at, each in enumerate(content)
            ]  # fmt: skip
            metadata = given.get("metadata")
            edges = metadata if isinstance(metadata, dict) else {}
            before, after = as_text(edges.get("prefix")), as_text(edges.get("suffix"))
            return f"{before}{self._text(parts)}{after}"
        words = [content, given.get("output"), given.get("text"), given.get("error")]
        texts = [word for word in words if isinstance(word, str) and word]
        if texts or any(isinstance(word, str) for word in words):
            return "\n".join(texts)
        rest = {key: value for key, value in given.items() if key not in ("kind", "is_error")}
        return as_text(rest or None)

    def _text(self, parts: Sequence[Part]) -> str:
        texts = []
        for part in parts:
            if part.type == "image":
                self._notes.remark("image left out")
                texts.append("[image]")
            elif part.text:
                texts.append(part.text)
        return "\n".join(texts)


def _needed(value: Any, key: str, place: str) -> Any:
    if value is None:
        raise InputError("this key is missing", where=Where(field=f"{place}{key}"))
    return value


def _thought(
    reasoning: str | None,
    blocks: Sequence[Mapping[str, Any]] | None,
    item: Mapping[str, Any] | None,
    said: str = "",
) -> str | None:
    """What the model thought, told once where it stands in several places, and what it said."""
    parts = [reasoning or ""]
    parts += [as_text(block.get("thinking")) for block in blocks or []]
    for key in ("summary", "content"):
        told = (item or {}).get(key)
        parts += [as_text(each) for each in (told if isinstance(told, list) else [told]) if each]
    parts.append(said)
    return "\n".join(dict.fromkeys(part for part in parts if part)) or None
