"""What the text of an agent's action says: a tool with arguments, or words to the user.

The benchmarks kept what other programs printed, so an action is a text in one of many spellings.
Nothing is ever evaluated: Python dictionaries are read as literals, JSON as JSON.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json

from vepa.files import plainly_json

__all__ = ["ACT", "FINAL", "Act", "read_action"]

#: The tool of an act that is written in words (`click <Settings>`): its text is in `Call.text`.
ACT = "act"
#: Before the words that end an episode.
FINAL = "Final Answer: "

_NAME = r"[A-Za-z_][\w./-]*"
#: `Name{…}`, `Name: {…}`, `Name Input: {…}`, `Name⏎Action Input: {…}`.
_WITH_OBJECT = re.compile(rf"({_NAME})(?:\s+(?:Action )?Input:\s*|:\s*)?(\{{.*)", re.DOTALL)
_CALLED = re.compile(rf"({_NAME})(\(.*\))\s*", re.DOTALL)
_COMMAND = re.compile(r'\{?\s*"command":\s*(\{.*)', re.DOTALL)
_FENCED = re.compile(r"```(\w+)\n(.*?)\n?```\s*", re.DOTALL)
#: Of an agent that works a screen; only where nothing answers the text.
_ON_SCREEN = re.compile(
    r"(?:click|open|tap|type|select|search|delete|scroll)\s+[<'\"]|<", re.IGNORECASE
)
_CHOICES = "Available actions:"
_ENDED = ("response",)
#: What JSON calls otherwise than Python.
_JSON_WORDS = ("true", "false", "null")


@dataclass(frozen=True, slots=True)
class Act:
    """What an action says.

    Attributes
    ----------
    tool
        Name of the tool; None for words.
    arguments
        Of a call.
    text
        The words; of a call what stands for arguments that are no mapping.
    """

    tool: str | None
    arguments: dict[str, Any] = field(default_factory=dict)
    text: str | None = None


def read_action(action: str, *, answered: bool, heard: str = "") -> Act:
    """What an action says.

    Parameters
    ----------
    action
        The text.
    answered
        Whether the environment answers it: words that are answered are an act.
    heard
        What the environment said last; where it offered choices, one of them is an act.
    """
    text = action.strip()
    for found in _read(text):
        if found.tool == "Complete" and tuple(found.arguments) == _ENDED:
            words = found.arguments["response"]
            if isinstance(words, str):
                return Act(None, text=words)
        return found
    if action.startswith(FINAL):
        return Act(None, text=action[len(FINAL) :])
    offered = _CHOICES in heard and text in heard.rpartition(_CHOICES)[2]
    if text and (answered or offered or _ON_SCREEN.match(text)):
        return Act(ACT, text=action)
    return Act(None, text=action)


def _read(text: str) -> Iterator[Act]:
    """The call that a text spells, at most one."""
    if text.startswith("{") and (found := _named(_object(text))):
        yield found
    elif match := _COMMAND.fullmatch(text):  # the end of a longer answer of AutoGPT
        if found := _named(_object(match[1])):
            yield found
    elif match := _WITH_OBJECT.fullmatch(text):
        given = _object(match[2])
        yield Act(match[1], {}, match[2]) if given is None else Act(match[1], given)
    elif match := _CALLED.fullmatch(text):
        given = _keywords(match[2])
        yield Act(match[1], {}, match[2]) if given is None else Act(match[1], given)
    elif (match := _FENCED.fullmatch(text)) and match[2].strip():
        yield Act(match[1], {}, match[2])


def _named(data: dict[str, Any] | None) -> Act | None:
    """An object that names its tool."""
    if data is None or not isinstance(data.get("name"), str) or not data["name"]:
        return None
    if set(data) == {"name"}:
        return Act(data["name"])
    for key in ("arguments", "args", "parameters"):
        if set(data) == {"name", key}:
            given = _object(data[key]) if isinstance(data[key], str) else data[key]
            return Act(data["name"], given) if isinstance(given, dict) else None
    return None


def _object(text: str) -> dict[str, Any] | None:
    """A JSON object, or a Python dictionary of JSON values; braces too many at its end are none."""
    plain = _plain_literal(text)
    if plain is not None:
        return plain
    try:
        data, end = _DECODER.raw_decode(text)
        if text[end:].strip(" \t\r\n}"):
            return None
    except (ValueError, RecursionError):
        data = _literal(text)
    return data if isinstance(data, dict) and _is_json(data) else None


def _plain_literal(text: str) -> dict[str, Any] | None:
    """A Python dictionary that is JSON but for its quotes, ten times as fast as `_literal`.

    Without escapes and double quotes every single quote begins or ends a string. None says nothing.
    """
    if "'" not in text or '"' in text or "\\" in text or any(map(text.__contains__, _JSON_WORDS)):
        return None
    try:
        data = from_json(text.replace("'", '"'), allow_inf_nan=False)
    except (ValueError, TypeError):  # the latter of half a character
        return None
    return data if isinstance(data, dict) and plainly_json(data) else None


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(_parsed(text))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _parsed(text: str) -> ast.expr:
    with warnings.catch_warnings():  # of odd escapes in strings that somebody else wrote
        warnings.simplefilter("ignore")
        return ast.parse(text, mode="eval").body


def _keywords(text: str) -> dict[str, Any] | None:
    """Arguments `(k='v', n=1)`; None where they are no literals by name."""
    try:
        call = _parsed(f"_{text}")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Name):
        return None
    found: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            return None
        try:
            found[keyword.arg] = ast.literal_eval(keyword.value)
        except (ValueError, TypeError, MemoryError, RecursionError):
            return None
    return found if _is_json(found) else None


def _is_json(data: dict[str, Any]) -> bool:
    """Whether JSON gives it back: no tuples, no bytes, no numbers as keys, no infinity."""
    if plainly_json(data):
        return True
    try:
        again: bool = json.loads(json.dumps(data, allow_nan=False)) == data
    except (ValueError, TypeError, RecursionError):
        return False
    return again


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


#: One for all actions: to make one takes longer than to read most.
_DECODER = json.JSONDecoder(strict=False, parse_constant=_refused)
