"""What items and tools of the OpenAI Responses API hold."""

from __future__ import annotations

from typing import Any, ClassVar

from vepa.corpus.importing.draft import Draft
from vepa.corpus.importing.format import checked
from vepa.corpus.importing.report import Foreign, keys
from vepa.errors import InputError, Where

__all__ = [
    "Approval",
    "HostedCall",
    "MessageItem",
    "NamedCall",
    "OutputItem",
    "ReasoningItem",
    "ToolList",
    "offer",
]


class Item(Foreign):
    """What all items may say."""

    unused: ClassVar[frozenset[str]] = keys(
        "type id status created_by caller async async_ phase execution fingerprint container_id "
        "pending_safety_checks acknowledged_safety_checks approval_request_id max_output_length "
        "environment size quality background output_format revised_prompt svg_usage"
    )


class MessageItem(Item):
    """A message."""

    role: str
    content: str | list[dict[str, Any]] | None = None


class ReasoningItem(Item):
    """What the model thought."""

    summary: list[dict[str, Any]] | None = None
    content: list[dict[str, Any]] | None = None
    encrypted_content: str | None = None


class NamedCall(Item):
    """A call of a tool that the caller named."""

    name: str
    call_id: str | None = None
    arguments: Any = None
    input: str | None = None
    namespace: str | None = None
    server_label: str | None = None
    output: Any = None
    error: Any = None


class HostedCall(Item):
    """A call of a tool of the API's own."""

    call_id: str | None = None
    action: dict[str, Any] | None = None
    actions: list[Any] | None = None
    operation: dict[str, Any] | None = None
    arguments: Any = None
    code: str | None = None
    queries: list[Any] | None = None
    results: list[Any] | None = None
    outputs: list[Any] | None = None
    result: Any = None
    error: Any = None


class OutputItem(Item):
    """What a call gave back."""

    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    namespace: str | None = None
    output: Any = None
    result: Any = None
    status: str | None = None
    tools: list[dict[str, Any]] | None = None


class ToolList(Item):
    """Tools that come later than the request."""

    tools: list[dict[str, Any]]
    role: str | None = None
    server_label: str | None = None
    error: Any = None


class Approval(Item):
    """What a person said to a call that waited for it."""

    approval_request_id: str
    approve: bool
    reason: str | None = None


class Tool(Foreign):
    """A tool that was offered: a function, one of free text, a group, or one of the API's own."""

    unused: ClassVar[frozenset[str]] = keys(
        "strict format container vector_store_ids filters max_num_results ranking_options "
        "search_context_size user_location display_width display_height environment server_url "
        "server_description require_approval headers authorization connector_id partial_images "
        "quality size model moderation background input_fidelity input_image_mask output_format "
        "output_compression action defer_loading allowed_callers output_schema async annotations "
        "external_web_access execution async_ tunnel_id "
        "complexity frame_count frame_duration_ms svg"
    )

    type: str | None = None
    name: str | None = None
    description: str | None = None
    parameters: Any = None
    input_schema: Any = None
    tools: list[dict[str, Any]] | None = None
    server_label: str | None = None
    allowed_tools: Any = None


#: How the API's own tools are called, whatever their version.
_OWN_TOOLS = {"web_search": "web_search", "computer": "computer"}


def offer(draft: Draft, data: Any, place: str, owner: str | None = None) -> None:
    """Note a tool that was offered; those of a group or of a server with its name in front.

    Raises
    ------
    InputError
        When it has neither a name nor a type.
    """
    tool = checked(Tool, data, draft.notes, f"{place}.")
    if tool.type == "mcp":
        names = tool.allowed_tools if isinstance(tool.allowed_tools, list) else []
        for name in names:
            draft.offer(f"{tool.server_label}.{name}")
        return
    if tool.tools is not None:
        for at, each in enumerate(tool.tools):
            offer(draft, each, f"{place}.tools.{at}", tool.name)
        return
    if tool.name is None and tool.type in (None, "function", "custom"):
        raise InputError("this key is missing", where=Where(field=f"{place}.name"))
    kind = tool.type or ""
    own = next((name for start, name in _OWN_TOOLS.items() if kind.startswith(start)), kind)
    name = tool.name or own
    known = tool.parameters if tool.parameters is not None else tool.input_schema
    draft.offer(f"{owner}.{name}" if owner else name, tool.description, known)
