"""Requests and answers of the Anthropic Messages API.

- A request has `system` (a text, or text blocks), `messages` (`role` and `content`, a text or
  blocks) and `tools` (`name`, `description`, `input_schema`; those of the API's own have a `type`
  with a date in it).
- An answer (`type: message`) has `content`, always blocks, and a `stop_reason`.
- Blocks are told in `anthropic_blocks`. A list of messages may stand alone. Plain texts look like
  those of OpenAI's chat API: only `system`, blocks, `input_schema` or the model's name tell.
- Events of a stream (`message_start`, `content_block_delta`, …) are not joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

from vepa.corpus.importing.draft import Draft
from vepa.corpus.importing.exchange import (
    LOGGED,
    Exchange,
    annotate,
    exchange_of,
    open_draft,
    own_words,
)
from vepa.corpus.importing.format import Format, checked, word
from vepa.corpus.importing.formats.anthropic_blocks import BLOCK_TYPES, Blocks, text_of
from vepa.corpus.importing.report import Foreign, Notes, keys
from vepa.errors import InputError, Where

__all__ = ["Anthropic"]

_EVENTS = keys(
    "message_start content_block_start content_block_delta content_block_stop message_delta "
    "message_stop ping"
)
#: Roles and keys that the messages of this API do not have.
_OTHER_ROLES = keys("tool function developer")
_OTHER_KEYS = keys("tool_calls function_call tool_call_id")


class Message(Foreign):
    """One message."""

    unused: ClassVar[frozenset[str]] = keys(
        "id type model stop_reason stop_sequence usage container"
    )

    role: Literal["user", "assistant", "system"]
    content: Any


class Tool(Foreign):
    """A tool that was offered."""

    unused: ClassVar[frozenset[str]] = keys(
        "type cache_control max_uses allowed_domains blocked_domains user_location "
        "display_width_px display_height_px display_number max_characters max_content_tokens "
        "citations "
        "allowed_callers defer_loading eager_input_streaming input_examples strict"
    )

    name: str
    description: str | None = None
    input_schema: Any = None


class Asked(Foreign):
    """The body of a request, with what a log writes into it."""

    unused: ClassVar[frozenset[str]] = LOGGED | keys(
        "anthropic_beta anthropic_version betas cache_control container context_management "
        "diagnostics inference_geo max_tokens mcp_servers output_config service_tier speed "
        "stop_reason stop_sequences temperature thinking tool_choice top_k top_p usage "
        "model_parameters"
    )

    messages: list[Message]
    system: str | list[dict[str, Any]] | None = None
    tools: list[Tool] | None = None
    model: str | None = None
    id: str | int | None = None
    custom_id: str | None = None
    metadata: Any = None
    request_tags: Any = None
    content: Any = None
    response: Any = None
    response_body: Any = None
    error: Any = None
    error_str: str | None = None


class Answer(Foreign):
    """An answer of the API."""

    unused: ClassVar[frozenset[str]] = keys(
        "type role container context_management diagnostics stop_details stop_sequence usage"
    )

    content: list[Any]
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None


class Anthropic(Format):
    """A record has `messages`, is an answer or a bare array of messages, or wraps both bodies."""

    name = "anthropic"
    title = "Anthropic messages: batches, request logs"

    def recognise(self, data: Any) -> bool:
        """Blocks, `system`, tools with an `input_schema`, an answer, or the model's name."""
        if isinstance(data, list):
            return any(self.recognise_turn(each) for each in data[:20])
        if not isinstance(data, dict):
            return False
        found = exchange_of(data, ("messages",), "content")
        if _is_answer(found.response) or word(data, "type") in _EVENTS - {"ping"}:
            return True
        asked = found.request
        messages = asked.get("messages") if asked is not None else None
        if not isinstance(messages, list) or not messages or not isinstance(messages[0], dict):
            return False
        if any(_is_foreign(each) for each in messages):
            return False
        return _tells(asked or {}) or any(self.recognise_turn(each) for each in messages)

    def recognise_turn(self, data: Any) -> bool:
        """A message with a block that only this API has."""
        if not isinstance(data, dict) or word(data, "role") not in ("user", "assistant"):
            return False
        content = data.get("content")
        return isinstance(content, list) and any(
            word(block, "type") in BLOCK_TYPES or _has_source(block) for block in content
        )

    def read(self, data: Any, head: Mapping[str, Any], notes: Notes) -> Iterator[Draft]:
        """One trajectory a record."""
        if isinstance(data, list):
            data = {"messages": data}
        if not isinstance(data, dict):
            raise InputError("an object belongs here")
        if word(data, "type") in _EVENTS:
            raise InputError(
                f"an event of a stream ({data['type']})",
                where=Where(field="type"),
                remedy="log the whole message (the SDK's final message); events are not joined",
            )
        found = exchange_of(data, ("messages",), "content")
        if found.request is None and found.response is data and not _is_answer(data):
            raise InputError(
                "a message outside a conversation",
                remedy="put the messages of a conversation into one array, or under `messages`",
            )
        if found.request is None and not isinstance(found.response, dict) and not found.failure:
            raise InputError("neither messages nor an answer", where=Where(field="messages"))
        draft = open_draft(data, found, notes)
        blocks = Blocks(draft)
        if found.request is None:
            notes.remark("answer without its request")
        else:
            asked = checked(Asked, found.request, notes, found.asked)
            _request(draft, blocks, asked, found.asked)
        if isinstance(found.response, dict):
            _answer(draft, blocks, found)
        elif isinstance(found.response, str):
            blocks.assistant(found.response, "response")
        blocks.close()
        yield draft


def _is_answer(data: Any) -> bool:
    return (
        isinstance(data, dict)
        and isinstance(data.get("content"), list)
        and (data.get("type") == "message" or "stop_reason" in data)
        and data.get("role", "assistant") == "assistant"
        and "messages" not in data
        and any(key in data for key in ("stop_reason", "usage", "model"))
    )


def _has_source(block: Any) -> bool:
    kind = word(block, "type")
    if kind == "thinking":
        return "signature" in block
    return kind in ("image", "document") and isinstance(block.get("source"), dict)


def _is_foreign(message: Any) -> bool:
    return isinstance(message, dict) and (
        word(message, "role") in _OTHER_ROLES or bool(_OTHER_KEYS & message.keys())
    )


def _tells(asked: Mapping[str, Any]) -> bool:
    tools = asked.get("tools")
    if isinstance(tools, list) and any(isinstance(t, dict) and "input_schema" in t for t in tools):
        return True
    if isinstance(asked.get("system"), (str, list)) or "anthropic_version" in asked:
        return True
    roles = {word(each, "role") for each in asked["messages"]}
    return str(asked.get("model", "")).startswith("claude-") and "system" not in roles


def _request(draft: Draft, blocks: Blocks, asked: Asked, path: str) -> None:
    if not asked.messages:
        raise InputError("no messages", where=Where(field=f"{path}messages"))
    own = asked.custom_id if asked.custom_id is not None else asked.id
    draft.id = draft.id or (None if own is None else str(own))
    draft.model = asked.model or draft.model
    annotate(draft, "metadata", own_words(asked.metadata, draft.notes))
    annotate(draft, "tags", asked.request_tags)
    for tool in asked.tools or []:
        draft.offer(tool.name, tool.description, tool.input_schema)
    draft.instruct(text_of(asked.system, draft, f"{path}system"))
    for at, message in enumerate(asked.messages):
        place = f"{path}messages.{at}.content"
        if message.role == "user":
            blocks.close()
            blocks.user(message.content, place)
        elif message.role == "assistant":
            blocks.assistant(message.content, place)
        else:
            draft.instruct(text_of(message.content, draft, place))


def _answer(draft: Draft, blocks: Blocks, found: Exchange) -> None:
    answer = checked(Answer, found.response, draft.notes, found.answered)
    draft.id = draft.id or answer.id
    draft.model = draft.model or answer.model
    annotate(draft, "stop_reason", answer.stop_reason)
    if answer.content:
        blocks.assistant(answer.content, f"{found.answered}content")
