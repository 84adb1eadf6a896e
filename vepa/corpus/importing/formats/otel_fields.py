"""Messages that are spread over attributes, one a field, as older instrumentations write them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from vepa.corpus.importing.draft import as_text
from vepa.corpus.importing.formats.langchain_messages import is_message, message_of
from vepa.corpus.importing.messages import Said
from vepa.corpus.importing.record import whole_text
from vepa.corpus.importing.report import Notes
from vepa.errors import InputError, Where

__all__ = ["flat_message", "inference_message", "loose", "numbered", "parsed", "plain", "tree"]


def numbered(
    given: Mapping[str, Any], prefix: str, role: str, read: Any, notes: Notes
) -> Iterator[Said]:
    """The messages under `prefix.NUMBER`; `read` makes one of its fields one of a chat API.

    Raises
    ------
    InputError
        With the place of a message that is none.
    """
    for number, each in tree(given, prefix).items():
        where = f"attributes.{prefix}.{number}"
        if not isinstance(each, dict):
            raise InputError("the fields of a message belong here", where=Where(field=where))
        said = message_of({"role": role, **read(each)}, where, notes)
        if said is not None:
            yield said


def tree(given: Mapping[str, Any], prefix: str) -> dict[int, Any]:
    """What stands under `prefix.NUMBER`, in the order of the numbers, its names nested."""
    found: dict[int, Any] = {}
    for name, value in given.items():
        if not name.startswith(f"{prefix}."):
            continue
        number, _, rest = name[len(prefix) + 1 :].partition(".")
        if not number.isdigit():
            continue
        if not rest:
            found.setdefault(int(number), value)
            continue
        at = found.setdefault(int(number), {})
        *path, last = rest.split(".")
        for step in path:
            at = at.setdefault(step, {}) if isinstance(at, dict) else {}
        if isinstance(at, dict):
            at[last] = value
    return dict(sorted(found.items()))


def _in_order(data: Any) -> list[Any]:
    """The values of a mapping of numbers."""
    if not isinstance(data, dict):
        return []
    return [
        data[name] for name in sorted(data, key=lambda name: int(name) if name.isdigit() else 0)
    ]


def flat_message(data: Mapping[str, Any]) -> dict[str, Any]:
    """A message of OpenLLMetry; lists of blocks are JSON texts there."""
    found: dict[str, Any] = {
        name: data[name] for name in ("role", "content", "tool_call_id", "name") if data.get(name)
    }
    blocks = found.get("content")
    if isinstance(blocks, str) and blocks.startswith("[{"):
        read = loose(blocks)
        if isinstance(read, list) and all(
            isinstance(each, dict) and "type" in each for each in read
        ):
            found["content"] = read
    calls = _in_order(data.get("tool_calls"))
    if calls:
        found["tool_calls"] = [_called(each, each) for each in calls if isinstance(each, dict)]
    return found


def _dict(data: Any, name: str) -> dict[str, Any]:
    found = data.get(name) if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}


def _called(data: Mapping[str, Any], function: Mapping[str, Any]) -> dict[str, Any]:
    inner = {"name": function.get("name"), "arguments": function.get("arguments")}
    return {"id": data.get("id"), "function": inner}


def inference_message(data: Mapping[str, Any]) -> dict[str, Any]:
    """A message of OpenInference."""
    message = data.get("message")
    if not isinstance(message, dict):
        return {}
    found: dict[str, Any] = {
        name: message[name]
        for name in ("role", "content", "tool_call_id", "name")
        if message.get(name)
    }
    if "contents" in message:
        blocks = [_dict(each, "message_content") for each in _in_order(message["contents"])]
        found["content"] = [{"type": "text", **block} for block in blocks]
    calls = [_dict(each, "tool_call") for each in _in_order(message.get("tool_calls"))]
    if calls:
        found["tool_calls"] = [_called(each, _dict(each, "function")) for each in calls]
    return found


def plain(given: Mapping[str, Any], notes: Notes) -> tuple[list[Said], list[Said]]:
    """Input and output as one text each, or as the JSON text of messages."""
    asked = given.get(
        "input.value", given.get("gen_ai.prompt", given.get("traceloop.entity.input"))
    )
    answered = given.get(
        "output.value", given.get("gen_ai.completion", given.get("traceloop.entity.output"))
    )
    return _texts(asked, "user", notes), _texts(answered, "assistant", notes)


def _texts(given: Any, role: Any, notes: Notes) -> list[Said]:
    if not given:
        return []
    read = loose(given)
    if isinstance(read, list) and read and all(map(is_message, read)):
        found = (message_of(each, "attributes", notes) for each in read)
        return [said for said in found if said is not None]
    return [Said(role, as_text(given))]


def parsed(value: Any, place: str) -> Any:
    """A structured attribute; on spans it is a JSON text.

    Raises
    ------
    InputError
        When it is no JSON: mostly it was cut.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(whole_text(value))
    except (ValueError, RecursionError):
        raise InputError(
            "malformed JSON in this attribute",
            where=Where(field=place),
            remedy="where its end is missing, raise OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT",
        ) from None


def loose(value: Any) -> Any:
    """A JSON text read; what is none stays as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(whole_text(value))
    except (ValueError, RecursionError):
        return value
