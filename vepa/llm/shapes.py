"""Structured answers: read strictly, checked against their schema, never mended here."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from vepa.errors import MissingExtraError, ModelError, SettingError, Where
from vepa.files import canonical_json
from vepa.llm.messages import Shape

__all__ = ["Misshapen", "check_schema", "parse_structured", "read_structured", "strict_enough"]

_FENCED = re.compile(r"\s*```(?:json)?[ \t]*\n(.*)\n[ \t]*```\s*", re.DOTALL)
#: A fault is shown to the model in its one repair; a huge one would drown the request.
_FAULT_LIMIT = 400
_ANSWER_LIMIT = 4 * 1024 * 1024


class Misshapen(ValueError):  # noqa: N818 - what an answer is, not what went wrong here
    """An answer that does not have its shape; the text says where and why, for the model."""


def check_schema(shape: Shape) -> None:
    """Refuse a shape whose schema is no schema.

    Raises
    ------
    SettingError
        When it is malformed, or not one of an object.
    """
    _validator(canonical_json(shape.schema_), shape.name)


def parse_structured(text: str, shape: Shape) -> Any:
    """The data of a structured answer.

    A single code fence around the whole answer is looked through; nothing else is.

    Raises
    ------
    Misshapen
        When it is no JSON, or does not fit the schema.
    """
    if len(text) > _ANSWER_LIMIT:
        raise Misshapen("the answer is too long")
    fenced = _FENCED.fullmatch(text)
    try:
        data = json.loads(
            fenced.group(1) if fenced else text,
            parse_constant=_no_constant,
            object_pairs_hook=_distinct,
        )
        json.dumps(data, ensure_ascii=False).encode()
    except Misshapen:
        raise
    except json.JSONDecodeError as fault:
        where = f"line {fault.lineno}, column {fault.colno}"
        raise Misshapen(f"the answer is not JSON: {fault.msg} ({where})") from None
    except (ValueError, RecursionError):
        raise Misshapen("the answer is not JSON that can be read") from None
    validator = _validator(canonical_json(shape.schema_), shape.name)
    faults = sorted(validator.iter_errors(data), key=lambda fault: list(map(str, fault.path)))
    if faults:
        shown = "; ".join(f"{fault.json_path}: {_short(fault.message)}" for fault in faults[:5])
        raise Misshapen(f"the answer does not fit the schema: {shown}")
    return data


def read_structured(text: str, shape: Shape, model: str) -> Any:
    """Like `parse_structured`, for answers that get no repair.

    Raises
    ------
    ModelError
        `malformed`. It does not quote the answer.
    """
    try:
        return parse_structured(text, shape)
    except Misshapen:
        raise ModelError(
            f"{model}: the structured answer does not fit the shape {shape.name!r}", "malformed"
        ) from None


def strict_enough(schema: Any) -> bool:
    """Whether a schema keeps the rules of OpenAI's strict mode: closed objects, all required."""
    if isinstance(schema, list):
        return all(strict_enough(part) for part in schema)
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" or "properties" in schema:
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False:
            return False
        if set(schema.get("required", ())) != set(properties):
            return False
        schema = {**schema, "properties": list(properties.values())}
    return all(strict_enough(part) for part in schema.values())


@lru_cache(maxsize=256)
def _validator(schema: str, name: str) -> Any:
    try:
        from jsonschema import Draft202012Validator, SchemaError
        from referencing import Registry
    except ImportError:
        raise MissingExtraError("jsonschema", "pipeline") from None
    data = json.loads(schema)
    try:
        Draft202012Validator.check_schema(data)
    except SchemaError as fault:
        raise SettingError(
            f"the shape {name!r} has no JSON schema: {fault.json_path}: {_short(fault.message)}",
            where=Where(field="shape.schema"),
            remedy="correct the schema; draft 2020-12 is read",
        ) from None
    if not _refers_to_itself(data):
        raise SettingError(
            f"the schema of the shape {name!r} refers to something outside of it",
            where=Where(field="shape.schema"),
            remedy="put it under `$defs`; nothing is fetched",
        )
    registry: Any = Registry()
    return Draft202012Validator(data, registry=registry)


def _refers_to_itself(schema: Any, root: Any = None) -> bool:
    """Whether every reference leads to a place in the same schema."""
    root = schema if root is None else root
    if isinstance(schema, list):
        return all(_refers_to_itself(part, root) for part in schema)
    if not isinstance(schema, dict):
        return True
    target = schema.get("$ref")
    if isinstance(target, str):
        at: Any = root
        if target != "#" and not target.startswith("#/"):
            return False
        for step in target.split("/")[1:]:
            if not isinstance(at, dict) or step not in at:
                return False
            at = at[step]
    return all(_refers_to_itself(part, root) for part in schema.values())


def _short(text: str) -> str:
    return text if len(text) <= _FAULT_LIMIT else text[: _FAULT_LIMIT - 1] + "…"


def _no_constant(name: str) -> None:
    raise Misshapen(f"the answer is not JSON: {name} is no number of JSON")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise Misshapen("the answer is not usable JSON: a key stands twice in one object")
    return data
