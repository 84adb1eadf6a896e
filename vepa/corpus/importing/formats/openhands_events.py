"""Events of OpenHands before its SDK (`openhands-ai`, once OpenDevin), put into a draft.

An event is an action (`action`, `args`) or an observation (`observation`, `content`, `extras`),
with `id`, `source` (agent, user or environment) and, of an observation, `cause`: the id of the
action that it answers. `tool_call_metadata` has what the model wrote, where it called tools;
without it the action stands for the call. Names changed (`images_urls`, `is_confirmed`,
`exit_code` in `extras` and later in `extras.metadata`), and actions came and went; one that is not
known counts as a call of that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from vepa.corpus.importing.draft import Draft, as_text
from vepa.corpus.importing.format import checked
from vepa.corpus.importing.formats.openhands_parts import (
    ToolCallMetadata,
    as_action,
    as_written,
    error_of,
    first_message,
    recalled,
    rows,
    text_of,
    with_edges,
)
from vepa.corpus.importing.report import Foreign, Notes
from vepa.errors import InputError, Where

__all__ = ["Course", "Event"]

#: Actions that the agent's calls become.
_CALLS = frozenset({
    "run", "run_ipython", "read", "write", "edit", "browse", "browse_interactive",
    "call_tool_mcp", "think", "delegate", "task_tracking", "push", "send_pr",
})  # fmt: skip
#: What the program does for itself; nothing of it is said or done.
_QUIET = frozenset({
    "null", "initialize", "init", "change_agent_state", "agent_state_changed", "pause", "resume",
    "stop", "condensation_request", "loop_recovery", "loop_detection", "summarize", "add_task",
    "modify_task",
})  # fmt: skip


class Event(Foreign):
    """An action or an observation; `message` only says it for people."""

    unused: ClassVar[frozenset[str]] = frozenset(
        {"message", "timestamp", "timeout", "success", "response_id", "trigger_by_action"}
    )
    id: int | None = None
    source: Literal["agent", "user", "environment"] | None = None
    cause: int | None = None
    action: str | None = None
    args: dict[str, Any] | None = None
    observation: str | None = None
    content: str | None = None
    extras: dict[str, Any] | None = None
    tool_call_metadata: ToolCallMetadata | None = None
    llm_metrics: dict[str, Any] | None = None


class Course:
    """Takes the events of one conversation in their order."""

    def __init__(self, draft: Draft, notes: Notes):
        self._draft = draft
        self._notes = notes
        #: Id of an action -> id of its call; None where it is none.
        self._actions: dict[int, str | None] = {}
        #: Agents that were called by others and still work.
        self._delegates: list[str] = []
        self._begun = False
        #: Call of the action just before, where actions have no ids.
        self._before: str | None = None
        self._told: set[str] = set()
        self._cost = 0.0

    def add(self, data: Any, place: str) -> None:
        """The next event; `place` is its path, with a dot at its end."""
        event = checked(Event, data, None, place)
        if event.action is not None:
            self._action(event, event.action, event.args or {}, place)
        elif event.observation is not None:
            self._observation(event, event.observation, event.extras or {}, place)
        else:
            raise InputError(
                "neither an action nor an observation",
                where=Where(field=place.strip(".") or None),
                remedy="an event of OpenHands has one of these keys",
            )

    # -- actions ----------------------------------------------------------------------------------

    def _action(self, event: Event, name: str, args: Mapping[str, Any], place: str) -> None:
        self._before = None
        if event.id is not None:
            self._actions.setdefault(event.id, None)
        if name == "message":
            self._message(event, text_of(args, "content", place))
        elif name == "system":
            self._system(args, place)
        elif name == "start":
            if args.get("task"):
                self._draft.user(text_of(args, "task", place))
        elif name in ("finish", "reject"):
            self._finish(event, name, args)
        elif name == "condensation" and args.get("summary"):
            self._draft.observe(text_of(args, "summary", place))
        elif name == "recall" or name == "condensation" or name in _QUIET:
            self._notes.remark(f"{name} left out")
        else:
            if name not in _CALLS:
                self._notes.remark(f"unknown action {name} taken as a call")
            self._call(event, name, args, place)

    def _message(self, event: Event, text: str) -> None:
        if event.args:
            for key in ("image_urls", "images_urls", "file_urls"):
                if event.args.get(key):
                    self._notes.remark(f"{key} left out")
        if event.source == "user" and self._begun:
            # The task that an agent gives to another one is put into its mouth as a user's.
            self._draft.answer(text, speaker="agent")
        elif event.source == "user" or event.source is None:
            self._draft.user(text)
        elif event.source == "agent":
            self._draft.answer(text, thought=self._reasoning(event), **self._by(event))
        else:
            self._draft.observe(text)
        self._begun = False

    def _system(self, args: Mapping[str, Any], place: str) -> None:
        self._draft.instruct(text_of(args, "content", place))
        for key in ("agent_class", "openhands_version"):
            if args.get(key):
                self._draft.meta[key] = args[key]
        for tool in rows(args, "tools", f"{place}args."):
            function = tool.get("function") if isinstance(tool, dict) else None
            if isinstance(function, dict) and isinstance(function.get("name"), str):
                self._draft.offer(
                    function["name"],
                    as_text(function.get("description")) or None,
                    function.get("parameters"),
                )

    def _finish(self, event: Event, name: str, args: Mapping[str, Any]) -> None:
        words = [args.get("final_thought"), args.get("thought")]
        outputs = args.get("outputs") or {}
        said = [as_text(each) for each in words if each]
        if not said and outputs:
            inner = outputs.get("content") if isinstance(outputs, dict) else None
            said = [as_text(inner or outputs)]
        elif outputs:
            self._draft.meta["outputs"] = outputs
        if name == "reject":
            self._draft.meta["rejected"] = True
        thought = self._reasoning(event)
        if len(said) > 1 and said[0] != said[1]:
            thought = f"{thought}\n{said[1]}" if thought else said[1]
        self._draft.answer(said[0] if said else "", thought=thought, **self._by(event))

    def _call(self, event: Event, name: str, args: Mapping[str, Any], place: str) -> None:
        written = event.tool_call_metadata
        tool, arguments = as_action(name, args)
        if written is not None:
            tool = written.function_name
            arguments = as_written(written, place) or arguments
        own = written.tool_call_id if written else None
        if own is None:
            own = f"event-{len(self._draft) if event.id is None else event.id}"
        said = as_text(args.get("thought")) if name != "think" else ""
        thought = "\n".join(part for part in (self._reasoning(event), said) if part) or None
        at = self._draft.call(tool, arguments, id=own, thought=thought, **self._by(event))
        if event.id is None:
            self._before = own
        else:
            self._actions[event.id] = own
        risk = args.get("security_risk")
        if risk not in (None, -1, "UNKNOWN"):
            self._draft.meta.setdefault("security_risk", {})[str(at)] = risk
        if name == "delegate":
            self._delegates.append(as_text(args.get("agent")) or "delegate")
            self._begun = True

    def _by(self, event: Event) -> dict[str, Any]:
        """Who acts, and what the turn cost."""
        more: dict[str, Any] = {}
        if self._delegates:
            more["speaker"] = self._delegates[-1]
        total = (event.llm_metrics or {}).get("accumulated_cost")
        if isinstance(total, int | float):
            more["cost"] = max(0.0, float(total) - self._cost)
            self._cost = float(total)
            self._draft.meta["cost"] = self._cost
        return more

    def _reasoning(self, event: Event) -> str | None:
        """What the model thought, once an answer of it; and which model it was."""
        response = event.tool_call_metadata and event.tool_call_metadata.model_response
        if not response:
            return None
        if self._draft.model is None and isinstance(response.get("model"), str):
            self._draft.model = response["model"]
        own = str(response.get("id"))
        if own in self._told:
            return None
        self._told.add(own)
        reasoning = first_message(response).get("reasoning_content")
        return reasoning if isinstance(reasoning, str) and reasoning else None

    # -- observations -----------------------------------------------------------------------------

    def _observation(self, event: Event, name: str, extras: Mapping[str, Any], place: str) -> None:
        text = event.content or ""
        call = self._answered(event)
        if name == "delegate":
            text = text or as_text(extras.get("outputs") or None)
            if self._delegates:
                self._delegates.pop()
        if name == "recall":
            self._draft.observe(recalled(text, extras, place))
        elif name in _QUIET and (name != "null" or call is None):
            if name == "agent_state_changed":
                self._draft.meta["state"] = extras.get("agent_state")
            self._notes.remark(f"{name} left out")
        elif call is None:
            self._draft.observe(text)
        else:
            error = error_of(name, extras)
            shown = with_edges(text, extras) if name == "run" else text
            self._draft.result(shown, id=call, ok=error is None, error=error)

    def _answered(self, event: Event) -> str | None:
        """Id of the call that an observation answers, where it answers one."""
        if event.cause is not None:
            if event.cause not in self._actions:
                self._notes.remark("observation of an action that is not there")
            return self._actions.get(event.cause)
        if event.tool_call_metadata is not None:
            return event.tool_call_metadata.tool_call_id
        before, self._before = self._before, None
        return before
