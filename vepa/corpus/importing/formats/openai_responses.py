"""Requests, answers and items of the OpenAI Responses API.

- A request has `input` (a text, or a list of items), `instructions`, `tools`, and may name a
  `previous_response_id`, whose items are not in it.
- An answer (`object: response`) has `output`, a list of items, and repeats `instructions` and
  `tools`; what programs keep has the request's `input` beside it or in an object of its own.
- Items are told in `openai_responses_items`. A list of them may stand alone.
- Of a stream's events the last one (`response.completed`) holds the whole answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

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
from vepa.corpus.importing.formats.openai_responses_items import ITEM_TYPES, Items
from vepa.corpus.importing.formats.openai_responses_records import offer
from vepa.corpus.importing.report import Foreign, Notes, keys
from vepa.errors import InputError, Where

__all__ = ["OpenAIResponses"]

#: Keys of a request that few others have beside an `input`.
_TELLING = keys("instructions previous_response_id max_output_tokens include truncation reasoning")
_PARTS = keys("input_text output_text input_image input_file")
_WHOLE = ("response.completed", "response.incomplete", "response.failed")


class Body(Foreign):
    """What requests and answers have in common."""

    unused: ClassVar[frozenset[str]] = LOGGED | keys(
        "access_programs background background_options completed_at context_management "
        "conversation image include incomplete_details input_transformations max_output_tokens "
        "max_tool_calls moderation output_text parallel_tool_calls prompt_cache_diagnostics "
        "prompt_cache_key prompt_cache_options prompt_cache_retention reasoning "
        "safety_identifier service_tier store stream_options temperature text tool_choice "
        "tool_usage top_logprobs top_p truncation usage user"
    )

    id: str | int | None = None
    model: str | None = None
    instructions: str | list[dict[str, Any]] | None = None
    tools: list[dict[str, Any]] | None = None
    metadata: Any = None
    previous_response_id: str | None = None
    prompt: Any = None
    status: str | None = None
    error: Any = None


class Asked(Body):
    """The body of a request, with what a log writes into it."""

    input: str | list[dict[str, Any]]
    custom_id: str | None = None
    output: Any = None
    response: Any = None
    response_body: Any = None
    request_tags: Any = None


class Answer(Body):
    """An answer of the API."""

    output: list[dict[str, Any]]


class OpenAIResponses(Format):
    """A record has `input` or `output`, is a bare array of items, or wraps both bodies."""

    name = "openai-responses"
    title = "OpenAI Responses: items, batches, request logs"

    def recognise(self, data: Any) -> bool:
        """Items of this API's types, or a request's other keys."""
        if isinstance(data, list):
            return any(self.recognise_turn(each) for each in data[:5])
        if not isinstance(data, dict) or "messages" in data:
            return False
        if _is_event(data):
            return True
        found = exchange_of(data, ("input",), "output")
        if isinstance(found.response, dict):
            output = found.response.get("output")
            if isinstance(output, list) and all(_is_item(each) for each in output):
                return found.response.get("object") == "response" or bool(output)
        if found.request is None:
            return False
        asked = found.request["input"]
        if str(data.get("url", "")).endswith("/responses") or _TELLING & found.request.keys():
            return isinstance(asked, (str, list))
        return isinstance(asked, list) and any(self.recognise_turn(each) for each in asked[:20])

    def recognise_turn(self, data: Any) -> bool:
        """An item of a type of this API, or a message whose parts are."""
        if not isinstance(data, dict):
            return False
        if word(data, "type") in ITEM_TYPES:
            return True
        content = data.get("content")
        return (
            "role" in data
            and isinstance(content, list)
            and any(word(part, "type") in _PARTS for part in content)
        )

    def read(self, data: Any, head: Mapping[str, Any], notes: Notes) -> Iterator[Draft]:
        """One trajectory a record."""
        if isinstance(data, list):
            data = {"input": data}
        if not isinstance(data, dict):
            raise InputError("an object belongs here")
        kind = data.get("type")
        if _is_item(data):
            raise InputError(
                "an item outside a conversation", remedy="put the items into one array"
            )
        if _is_event(data):
            if kind not in _WHOLE:
                notes.remark("part of a stream left out; its last event has the whole answer")
                return
            data = {"response": data.get("response")}
        found = exchange_of(data, ("input",), "output")
        if found.request is None and not isinstance(found.response, dict) and not found.failure:
            raise InputError("neither input nor output", where=Where(field="input"))
        draft = open_draft(data, found, notes)
        asked, answer = _bodies(found, notes)
        _told_beforehand(draft, asked, answer, found)
        items = Items(draft)
        if asked is None:
            notes.remark("answer without its request")
        elif isinstance(asked.input, str):
            draft.user(asked.input)
        else:
            _add(items, asked.input, f"{found.asked}input")
        if answer is not None:
            _add(items, answer.output, f"{found.answered}output")
        elif isinstance(found.response, str):
            draft.answer(found.response)
        items.close()
        yield draft


def _is_event(data: Any) -> bool:
    kind = word(data, "type")
    return kind is not None and kind.startswith("response.")


def _is_item(data: Any) -> bool:
    if not isinstance(data, dict):
        return False
    return word(data, "type") in ITEM_TYPES or ("role" in data and "content" in data)


def _bodies(found: Exchange, notes: Notes) -> tuple[Asked | None, Answer | None]:
    asked = answer = None
    if found.request is not None:
        asked = checked(Asked, found.request, notes, found.asked)
        if asked.input == []:
            raise InputError("no items", where=Where(field=f"{found.asked}input"))
    if isinstance(found.response, dict):
        answer = checked(Answer, found.response, notes, found.answered)
    return asked, answer


def _told_beforehand(
    draft: Draft, asked: Asked | None, answer: Answer | None, found: Exchange
) -> None:
    """Instructions, tools and annotations; an answer repeats what its request said."""
    bodies = [(asked, found.asked), (answer, found.answered)]
    known = [(body, path) for body, path in bodies if body is not None]
    own: str | int | None = asked.custom_id if asked is not None else None
    for body, _ in known:
        own = own if own is not None else body.id
        draft.model = draft.model or body.model
        annotate(draft, "metadata", own_words(body.metadata, draft.notes))
        annotate(draft, "previous_response_id", body.previous_response_id)
        if body.prompt is not None:
            draft.notes.remark("prompt that is stored elsewhere left out")
        if body.status not in (None, "completed"):
            draft.meta["status"] = body.status
    draft.id = draft.id or (None if own is None else str(own))
    if asked is not None:
        annotate(draft, "tags", asked.request_tags)
    if "previous_response_id" in draft.meta:
        draft.notes.remark("turns before previous_response_id are not in the record")
    for body, path in known:
        if draft.system is None and body.instructions:
            _instruct(draft, body.instructions, f"{path}instructions")
    for body, path in known:
        if body.tools:
            for at, tool in enumerate(body.tools):
                offer(draft, tool, f"{path}tools.{at}")
            break


def _instruct(draft: Draft, told: str | list[dict[str, Any]], place: str) -> None:
    if isinstance(told, str):
        draft.instruct(told)
    else:
        _add(Items(draft), told, place)


def _add(items: Items, found: list[dict[str, Any]], place: str) -> None:
    for at, item in enumerate(found):
        items.add(item, f"{place}.{at}")
