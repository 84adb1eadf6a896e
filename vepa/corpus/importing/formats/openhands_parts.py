"""What the older events of OpenHands hold: arguments, errors, and what was shown to the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vepa.corpus.importing.draft import as_text
from vepa.corpus.importing.report import Foreign
from vepa.errors import InputError, Where

__all__ = [
    "ToolCallMetadata", "as_action", "as_written", "error_of", "first_message", "recalled",
    "rows", "text_of", "with_edges",
]  # fmt: skip

#: Where an answer of the API has the model's message.
_AT = "tool_call_metadata.model_response.choices.0.message."
#: Keys of `args` that are no arguments.
_BESIDE = frozenset({
    "thought", "confirmation_state", "is_confirmed", "security_risk", "blocking", "hidden",
    "keep_prompt", "is_static", "kernel_init_code", "include_extra", "impl_source",
    "return_axtree", "translated_ipython_code", "task_completed",
})  # fmt: skip


class ToolCallMetadata(Foreign):
    """The model's own call; `model_response` is the answer of the API."""

    function_name: str
    tool_call_id: str
    model_response: dict[str, Any] | None = None
    total_calls_in_response: int | None = None


def text_of(args: Mapping[str, Any], key: str, place: str) -> str:
    value = args.get(key)
    if not isinstance(value, str):
        raise InputError(
            "a text belongs here" if key in args else "this key is missing",
            where=Where(field=f"{place}args.{key}"),
        )
    return value


def rows(holder: Mapping[str, Any], key: str, place: str) -> list[Any]:
    """The list under a key; empty where there is none."""
    found = holder.get(key)
    if found is not None and not isinstance(found, list):
        raise InputError("a list belongs here", where=Where(field=f"{place}{key}"))
    return found or []


def as_action(name: str, args: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Tool and arguments by the action alone."""
    if name == "call_tool_mcp":
        arguments = args.get("arguments")
        return as_text(args.get("name")) or name, arguments if isinstance(arguments, dict) else {}
    if name == "think":
        return name, {"thought": as_text(args.get("thought"))}
    kept = {
        key: value for key, value in args.items() if key not in _BESIDE and value is not None
    }  # fmt: skip
    if kept.get("browsergym_send_msg_to_user") == "":
        del kept["browsergym_send_msg_to_user"]
    return name, kept


def as_written(written: ToolCallMetadata, place: str) -> Any:
    """The arguments that the model wrote, where its answer was kept."""
    for call in rows(first_message(written.model_response or {}), "tool_calls", f"{place}{_AT}"):
        if isinstance(call, dict) and call.get("id") == written.tool_call_id:
            function = call.get("function")
            return function.get("arguments") if isinstance(function, dict) else None
    return None


def first_message(response: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return message if isinstance(message, dict) else {}


def error_of(name: str, extras: Mapping[str, Any]) -> str | None:
    """Kind of the error; -1 is the exit code of a command that still runs."""
    if name == "error":
        return as_text(extras.get("error_id")) or "error"
    if name == "user_rejected":
        return "rejected"
    if name in ("browse", "browse_interactive") and extras.get("error"):
        return "browser"
    if name == "run":
        metadata = extras.get("metadata")
        inner = metadata.get("exit_code") if isinstance(metadata, dict) else None
        code = inner if inner is not None else extras.get("exit_code")
        if isinstance(code, int) and code not in (0, -1):
            return f"exit code {code}"
    return None


def with_edges(text: str, extras: Mapping[str, Any]) -> str:
    """What stood before and after a command's output for the model."""
    metadata = extras.get("metadata")
    if not isinstance(metadata, dict):
        return text
    return f"{as_text(metadata.get('prefix'))}{text}{as_text(metadata.get('suffix'))}"


def recalled(text: str, extras: Mapping[str, Any], place: str) -> str:
    """What was looked up for the model: about its place of work, and knowledge by keywords."""
    keys = (
        "repo_name", "repo_directory", "repo_branch", "repo_instructions", "runtime_hosts",
        "additional_agent_instructions", "date", "custom_secrets_descriptions",
        "conversation_instructions", "working_dir",
    )  # fmt: skip
    parts = [text] + [f"{key}: {as_text(extras[key])}" for key in keys if extras.get(key)]
    parts += [
        f"{as_text(each.get('name'))}: {as_text(each.get('content'))}"
        for each in rows(extras, "microagent_knowledge", f"{place}extras.")
        if isinstance(each, dict)
    ]
    return "\n".join(part for part in parts if part)
