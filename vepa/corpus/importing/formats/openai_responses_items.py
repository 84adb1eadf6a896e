"""Items of the OpenAI Responses API, and how each becomes steps.

An item has a `type`; a message may leave it out and has a `role`. Calls that a program carries out
(`function_call`, `custom_tool_call`, `computer_call`, `local_shell_call`, `shell_call`,
`apply_patch_call`, `tool_search_call`, `program`) are answered by an item of their own, which names
the `call_id`; the local shell's answer names it as `id`. Calls that the API carries out itself
(`file_search_call`, `web_search_call`, `code_interpreter_call`, `image_generation_call`,
`mcp_call`) hold their results. A `reasoning` item has `content` or a `summary`, or is encrypted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vepa.corpus.importing.draft import Draft, as_text
from vepa.corpus.importing.format import checked
from vepa.corpus.importing.formats.openai_responses_records import (
    Approval,
    HostedCall,
    MessageItem,
    NamedCall,
    OutputItem,
    ReasoningItem,
    ToolList,
    offer,
)
from vepa.corpus.importing.report import keys
from vepa.errors import InputError, Where

__all__ = ["ITEM_TYPES", "Items"]


#: Of the items that a call is answered with: what the call's tool is called.
_OUTPUTS = {
    "function_call_output": None,
    "custom_tool_call_output": None,
    "computer_call_output": "computer",
    "local_shell_call_output": "local_shell",
    "shell_call_output": "shell",
    "apply_patch_call_output": "apply_patch",
    "tool_search_output": "tool_search",
    "program_output": "program",
}
_LEFT_OUT = keys("item_reference compaction compaction_trigger configuration_update")
_HOSTED = keys(
    "computer_call local_shell_call shell_call apply_patch_call tool_search_call program "
    "file_search_call web_search_call code_interpreter_call image_generation_call"
)
_OTHERS = keys(
    "function_call custom_tool_call reasoning mcp_call mcp_list_tools mcp_approval_request "
    "mcp_approval_response additional_tools"
)
#: Types that tell this API from others; a message is not among them.
ITEM_TYPES = _HOSTED | _OTHERS | _LEFT_OUT | frozenset(_OUTPUTS)


class Items:
    """Adds items to a draft, in their order; `close` says that there are no more."""

    def __init__(self, draft: Draft):
        self._draft = draft
        self._thoughts: list[str] = []
        #: Calls that wait for a person's word: id of the request -> name and arguments.
        self._waiting: dict[str, tuple[str, Any]] = {}
        self._readers: dict[str, Callable[[Mapping[str, Any], str], None]] = {
            "message": self._message,
            "reasoning": self._reasoning,
            "function_call": self._named_call,
            "custom_tool_call": self._named_call,
            "mcp_call": self._mcp_call,
            "mcp_list_tools": self._tools,
            "additional_tools": self._tools,
            "mcp_approval_request": self._approval_request,
            "mcp_approval_response": self._approval,
            **dict.fromkeys(_HOSTED, self._hosted_call),
            **dict.fromkeys(_OUTPUTS, self._output),
        }

    def add(self, item: Mapping[str, Any], place: str) -> None:
        """One item, at a dotted path.

        Raises
        ------
        InputError
            When it is none, with the field.
        """
        kind = item.get("type", "message" if "role" in item else None)
        if not isinstance(kind, str):
            raise InputError("an item has a type or a role", where=Where(field=place))
        reader = self._readers.get(kind)
        if reader is None:
            self._draft.notes.remark(f"item of type {kind} left out")
        else:
            reader(item, place)

    def close(self) -> None:
        """Keep what no later item took: thoughts, and calls that nobody allowed."""
        for name, arguments in self._waiting.values():
            self._draft.call(name, arguments, thought=self._thought())
        if self._thoughts:
            self._draft.answer("", thought=self._thought())

    def _thought(self) -> str | None:
        thought, self._thoughts = "\n".join(self._thoughts), []
        return thought or None

    # -- messages -------------------------------------------------------------------------------

    def _message(self, data: Mapping[str, Any], place: str) -> None:
        item = checked(MessageItem, data, self._draft.notes, f"{place}.")
        text = self._text(item.content, f"{place}.content")
        if item.role in ("system", "developer"):
            self._draft.instruct(text)
        elif item.role == "user":
            self._draft.user(text)
        elif item.role == "assistant":
            self._draft.answer(text, thought=self._thought())
        else:
            raise InputError(
                f"'user', 'assistant', 'system' or 'developer' belongs here, not {item.role!r}",
                where=Where(field=f"{place}.role"),
            )

    def _reasoning(self, data: Mapping[str, Any], place: str) -> None:
        item = checked(ReasoningItem, data, self._draft.notes, f"{place}.")
        parts = item.content or item.summary
        if parts:
            self._thoughts.append(self._text(parts, place))
        elif item.encrypted_content:
            self._draft.notes.remark("encrypted reasoning left out")

    def _text(self, content: Any, place: str) -> str:
        """Text of a message's or a result's content; what is no text stands in brackets."""
        if not isinstance(content, list):
            return as_text(content)
        return "\n".join(self._part(part, f"{place}.{at}") for at, part in enumerate(content))

    def _part(self, part: Any, place: str) -> str:
        if isinstance(part, str):
            return part
        if not isinstance(part, dict):
            raise InputError("a mapping belongs here", where=Where(field=place))
        for key in ("text", "refusal", "logs"):
            if isinstance(part.get(key), str):
                return str(part[key])
        if "stdout" in part or "stderr" in part:
            return "\n".join(filter(None, map(as_text, (part.get("stdout"), part.get("stderr")))))
        kind = part.get("type")
        if not isinstance(kind, str):
            raise InputError("this key is missing", where=Where(field=f"{place}.type"))
        self._draft.notes.remark(f"{kind} left out")
        names = (part.get(key) for key in ("filename", "file_url", "image_url", "url", "file_id"))
        named = next((each for each in names if isinstance(each, str) and each), "data:")
        return f"[{kind}]" if named.startswith("data:") else f"[{kind}: {named}]"

    # -- calls ----------------------------------------------------------------------------------

    def _named_call(self, data: Mapping[str, Any], place: str) -> None:
        item = checked(NamedCall, data, self._draft.notes, f"{place}.")
        if item.call_id is None:
            raise InputError("this key is missing", where=Where(field=f"{place}.call_id"))
        name = f"{item.namespace}.{item.name}" if item.namespace else item.name
        given = item.input if item.input is not None else item.arguments
        self._draft.call(name, given, id=item.call_id, thought=self._thought())

    def _mcp_call(self, data: Mapping[str, Any], place: str) -> None:
        item = checked(NamedCall, data, self._draft.notes, f"{place}.")
        self._waiting.pop(str(data.get("approval_request_id")), None)
        own = data.get("id") if isinstance(data.get("id"), str) else None
        name = f"{item.server_label}.{item.name}" if item.server_label else item.name
        self._draft.call(name, item.arguments, id=own, thought=self._thought())
        if item.error is not None:
            self._draft.result(as_text(_words(item.error)), id=own, ok=False)
        elif item.output is not None:
            self._draft.result(self._text(item.output, f"{place}.output"), id=own)

    def _approval_request(self, data: Mapping[str, Any], place: str) -> None:
        item = checked(NamedCall, data, self._draft.notes, f"{place}.")
        if not isinstance(data.get("id"), str):
            raise InputError("this key is missing", where=Where(field=f"{place}.id"))
        name = f"{item.server_label}.{item.name}" if item.server_label else item.name
        self._waiting[data["id"]] = (name, item.arguments)

    def _approval(self, data: Mapping[str, Any], place: str) -> None:
        item = checked(Approval, data, self._draft.notes, f"{place}.")
        if item.approve or item.approval_request_id not in self._waiting:
            return
        name, arguments = self._waiting.pop(item.approval_request_id)
        own = item.approval_request_id
        self._draft.call(name, arguments, id=own, thought=self._thought())
        self._draft.result(item.reason or "not approved", id=own, ok=False, error="not_approved")

    def _hosted_call(self, data: Mapping[str, Any], place: str) -> None:
        item = checked(HostedCall, data, self._draft.notes, f"{place}.")
        kind = data["type"]
        own = item.call_id or (data["id"] if isinstance(data.get("id"), str) else None)
        given = item.action or item.operation or item.arguments or {}
        for key in ("actions", "code", "queries"):
            if (value := getattr(item, key)) is not None:
                given = {key: value}
        if kind == "image_generation_call" and isinstance(data.get("revised_prompt"), str):
            given = {"prompt": data["revised_prompt"]}
        sources = given.get("sources") if isinstance(given, dict) else None
        if sources is not None:
            given = {name: value for name, value in given.items() if name != "sources"}
        self._draft.call(kind.removesuffix("_call"), given, id=own, thought=self._thought())
        found = next(
            (each for each in (item.results, item.outputs, sources) if each is not None), None
        )
        if item.error or data.get("status") == "failed":
            self._draft.result(as_text(_words(item.error)), id=own, ok=False, error="failed")
        elif item.outputs is not None:
            self._draft.result(self._text(item.outputs, f"{place}.outputs"), id=own)
        elif found is not None:
            self._draft.result(as_text(found), id=own)
        elif isinstance(item.result, str):
            self._draft.notes.remark("image left out")
            self._draft.result("[image]", id=own)

    def _output(self, data: Mapping[str, Any], place: str) -> None:
        item = checked(OutputItem, data, self._draft.notes, f"{place}.")
        kind = data["type"]
        if kind in ("function_call_output", "custom_tool_call_output") and "output" not in data:
            raise InputError("this key is missing", where=Where(field=f"{place}.output"))
        for at, tool in enumerate(item.tools or []):
            offer(self._draft, tool, f"{place}.tools.{at}")
        given = item.output if item.output is not None else item.result
        parts = [given] if isinstance(given, dict) else given
        text = self._text(parts, f"{place}.output")
        if item.tools is not None and given is None:
            text = ", ".join(str(tool.get("name", tool.get("type"))) for tool in item.tools)
        error = "failed" if item.status == "failed" else _shell_error(given)
        self._draft.result(
            text,
            id=item.call_id or (item.id if kind == "local_shell_call_output" else None),
            tool=item.name or _OUTPUTS[kind],
            ok=error is None,
            error=error,
        )

    def _tools(self, data: Mapping[str, Any], place: str) -> None:
        item = checked(ToolList, data, self._draft.notes, f"{place}.")
        for at, tool in enumerate(item.tools):
            offer(self._draft, tool, f"{place}.tools.{at}", item.server_label)
        if item.error:
            self._draft.notes.remark("server whose tools could not be listed")


def _shell_error(output: Any) -> str | None:
    """What the first command that did not end well ended with."""
    for each in output if isinstance(output, list) else []:
        outcome = each.get("outcome") if isinstance(each, dict) else None
        if isinstance(outcome, dict):
            if outcome.get("type") == "timeout":
                return "timeout"
            if outcome.get("exit_code"):
                return f"exit {outcome['exit_code']}"
    return None


def _words(error: Any) -> Any:
    if not isinstance(error, dict):
        return error
    return error.get("message") or error.get("content") or error
