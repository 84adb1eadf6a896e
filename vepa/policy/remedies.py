"""What to do about a policy file that does not have the shape of one."""

from __future__ import annotations

import json
from typing import Any

from vepa.policy.schema import nearest

__all__ = ["GENERAL", "remedy_of"]

#: The remedy where no better one is known.
GENERAL = "a policy file holds `policy: 1` and `rules: [{id, decision, when}]`"

_TOP = ("policy", "schema", "unit", "rules")
_RULE = ("id", "decision", "when", "rationale", "provenance", "evidence", "status", "held")
_MISSING = {
    "policy": "add `policy: 1`, the number of the file format",
    "rules": "add `rules: [{id, decision, when}]`",
    "id": "add `id: NAME`; a rule holds id, decision, when",
    "decision": "add `decision: allow` or `decision: refuse`; a rule holds id, decision, when",
    "when": "add `when: {field: {in: [value]}}`; a rule holds id, decision, when",
}
#: Keys by which people ask for the opposite of `in`.
_NEGATIONS = frozenset({"not", "ne", "neq", "!=", "not_equals", "not_equal", "notin", "not in"})
_QUOTE = "quote a word that YAML reads as a number, yes or no"


def remedy_of(item: Any) -> str:
    """The remedy for a complaint of pydantic's about a policy file."""
    path, kind = tuple(item["loc"]), item["type"]
    last = path[-1] if path else None
    if kind == "literal_error" and last != "policy":
        return f"use {item['ctx']['expected'].replace(chr(39), '')}"
    if kind == "string_type" and isinstance(item["input"], (bool, int, float, type(None))):
        return _QUOTE
    if kind == "missing":
        return _MISSING.get(str(last), GENERAL)
    if len(path) >= 4 and path[0] == "rules" and path[2] == "when":
        return _predicate(item, kind, path)
    if kind == "extra_forbidden" and len(path) in (1, 3):
        return nearest(str(last), _TOP if len(path) == 1 else _RULE, "keys")
    return GENERAL


def _predicate(item: Any, kind: str, path: tuple[str | int, ...]) -> str:
    """The remedy inside `when`: a predicate is one operator with its values."""
    name = str(path[-1])
    if kind == "extra_forbidden":
        return f"write {{{'not_in' if name in _NEGATIONS else 'in'}: {_values(item['input'])}}}"
    if kind == "model_type":
        return f"write {{in: {_values(item['input'])}}}"
    if kind == "list_type":
        return f"write {{{name}: {_values(item['input'])}}}"
    return "a predicate is {in: [value, ...]} or {not_in: [value, ...]}"


def _values(given: Any) -> str:
    """What was given as a list of values, where it can be one."""
    values = given if isinstance(given, list) else [given]
    if not values or not all(isinstance(value, (str, int, float)) for value in values):
        return "[value, ...]"
    shown = [value if isinstance(value, str) else json.dumps(value) for value in values]
    text = ", ".join(shown)
    return f"[{text}]" if len(text) <= 100 else "[value, ...]"
