"""How files and logs wrap what was asked of a model and what it answered.

- The body of a request, alone or with the answer beside it: under `response`, or as its own keys.
- A line of a log: `request` and `response`, or `request_body` and `response_body`; each is the body
  itself, an object with a `body`, or the text of either.
- Batch files of OpenAI: lines of the input have `custom_id`, `method`, `url` and `body`, lines of
  the output `custom_id`, `response` (with `status_code`, `request_id`, `body`) and `error`.
- Batch files of Anthropic: lines of the input have `custom_id` and `params`, lines of the output
  `custom_id` and `result` (a `type`, and a `message` or an `error`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vepa.corpus.importing.draft import Draft
from vepa.corpus.importing.format import checked
from vepa.corpus.importing.record import whole_text
from vepa.corpus.importing.report import Foreign, Notes, keys
from vepa.errors import InputError, Where

__all__ = ["LOGGED", "Exchange", "annotate", "exchange_of", "open_draft", "own_words"]

_ASKED = ("request", "body", "params", "request_body")
_ANSWERED = ("response", "response_body", "result")
#: What the logs of proxies say beside the two bodies.
LOGGED = keys(
    "api_base autorouter_baseline_observation autorouter_savings autorouter_savings_estimate "
    "cache_hit cache_key call_type completionStartTime completion_tokens cost_breakdown "
    "cost_finalized created created_at custom_llm_provider duration endTime end_user "
    "error_information guardrail_information headers hidden_params latency litellm_call_id method "
    "model_group model_id model_map_information object prompt_tokens provider request_id "
    "request_model_access_groups requester_ip_address response_cost "
    "response_cost_failure_debug_info response_time saved_cache_cost session_id startTime status "
    "standard_built_in_tools_params status_code status_fields stream timestamp total_tokens "
    "trace_id url user_agent version zero_cost_diagnostic"
)


class _Wrapper(Foreign):
    """What stands around the two bodies."""

    unused: ClassVar[frozenset[str]] = LOGGED

    id: str | int | None = None
    custom_id: str | None = None
    model: str | None = None
    metadata: Any = None
    request_tags: Any = None
    error: Any = None
    error_str: str | None = None
    request: Any = None
    body: Any = None
    params: Any = None
    request_body: Any = None
    response: Any = None
    response_body: Any = None
    result: Any = None


#: Around a body that stands alone.
_BARE = _Wrapper()


@dataclass(frozen=True, slots=True)
class Exchange:
    """The two bodies of a record.

    Attributes
    ----------
    request, response
        The bodies, where there are any; a response may be a text.
    asked, answered
        Where they stand in the record, with a dot at the end.
    failure
        Why there is no answer, with its field; None when nothing says so.
    """

    request: Mapping[str, Any] | None
    asked: str
    response: Any
    answered: str
    failure: tuple[str, str] | None


def exchange_of(data: Mapping[str, Any], asks: Iterable[str], answers: str) -> Exchange:
    """The two bodies of a record.

    Parameters
    ----------
    data
        The record.
    asks
        Keys of which the body of a request has one (`messages`).
    answers
        A key that the body of an answer has (`choices`).
    """
    request, asked = _request(data, frozenset(asks))
    for key in _ANSWERED:
        wrapped = _object(data.get(key))
        if wrapped is None:
            continue
        if key == "result" and "type" not in wrapped:
            continue
        for inner in ("body", "message"):
            if isinstance(body := _object(wrapped.get(inner)), dict):
                failure = _failure(body, f"{key}.{inner}") or _failure(wrapped, key)
                return Exchange(request, asked, body, f"{key}.{inner}.", failure)
        failure = _failure(wrapped, key) or _failure(data, "")
        return Exchange(request, asked, None if failure else wrapped, f"{key}.", failure)
    failure = _failure(data, "")
    beside = data if request is None else request
    if answers in beside:
        both = {key: beside[key] for key in (answers, "model") if key in beside}
        own = beside if request is None else both
        return Exchange(request, asked, own, asked, failure)
    words = data.get("response")
    text = words if isinstance(words, str) and words else None
    return Exchange(request, asked, text, "response.", failure)


def _request(
    data: Mapping[str, Any], marks: frozenset[str]
) -> tuple[Mapping[str, Any] | None, str]:
    if marks & data.keys():
        return data, ""
    for key in _ASKED:
        body, path = _object(data.get(key)), f"{key}."
        if body is not None and not marks & body.keys():
            body, path = _object(body.get("body")), f"{key}.body."
        if body is not None and marks & body.keys():
            return body, path
    return None, ""


def _object(value: Any) -> dict[str, Any] | None:
    """An object, or the text of one."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(whole_text(value))
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _failure(part: Mapping[str, Any], path: str) -> tuple[str, str] | None:
    kind = part.get("type")
    if kind in ("errored", "canceled", "expired"):
        why = f": {_words(part['error'])}" if part.get("error") else ""
        return f"{path}.type", f"{kind}{why}"
    for key in ("error", "error_str"):
        if part.get(key):
            return f"{path}.{key}".strip("."), _words(part[key])
    status = part.get("status_code")
    if isinstance(status, int) and status >= 400:
        return f"{path}.status_code".strip("."), f"status {status}"
    return None


def _words(error: Any) -> str:
    while isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    if isinstance(error, dict):
        error = error.get("message") or error.get("code") or error.get("type") or error
    return error if isinstance(error, str) else json.dumps(error)


def open_draft(data: Mapping[str, Any], found: Exchange, notes: Notes) -> Draft:
    """A draft with the record's id and annotations, its wrapper checked.

    Raises
    ------
    InputError
        When the record says that the request failed, and does not hold the request.
    """
    if found.request is None and found.failure is not None:
        field, words = found.failure
        raise InputError(f"the request failed: {words}", where=Where(field=field))
    if found.failure is not None:
        notes.remark("request that failed, without an answer")
    bare = found.request is data or found.response is data
    wrapper = _BARE if bare else checked(_Wrapper, data, notes)
    own = wrapper.custom_id if wrapper.custom_id is not None else wrapper.id
    draft = Draft(notes, id=None if own is None else str(own))
    draft.model = wrapper.model
    annotate(draft, "metadata", own_words(wrapper.metadata, notes))
    annotate(draft, "tags", wrapper.request_tags)
    return draft


def annotate(draft: Draft, name: str, value: Any) -> None:
    """Keep an annotation, unless there is none."""
    if value not in (None, "", [], {}):
        draft.meta[name] = value


def own_words(metadata: Any, notes: Notes) -> dict[str, Any]:
    """What a user wrote into a request's metadata; what a proxy adds of itself is left out.

    Proxies add whole mappings of their own, so what is no word and no number is only counted.
    """
    if not isinstance(metadata, dict):
        if metadata not in (None, "", []):
            notes.key("metadata")
        return {}
    found = {}
    for name, value in metadata.items():
        if isinstance(value, (str, int, float)):
            if not name.startswith("user_api_key"):
                found[name] = value
        elif value not in (None, [], {}) and not name.startswith("user_api_key"):
            notes.key(f"metadata.{name}")
    return found
