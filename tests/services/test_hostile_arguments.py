"""Every tool of the nine with arguments that nobody means well with: each call is an outcome."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from vepa.errors import InputError
from vepa.services import Office, ToolSession
from vepa.services.environment import Tool

pytestmark = pytest.mark.integration

#: Time for the calls that are drawn at random; every tool gets a first one in any case.
SECONDS = float(os.environ.get("VEPA_TEST_SECONDS", "2"))
TEXTS = (
    "", " ", "\0", "\r\n.\r\nQUIT", "x" * 20_000, "ä漢字\U0001f600\u202e\u0301", "{{ 7 * 7 }}",
    "{{ secrets }}", "{% for x in range(9) %}{% endfor %}", "{# x", "}}{{", "{}", "%00", "%s%n",
    "../../../../etc/passwd", "..%2f..%2fetc", "/", "//", ".", "..", "a/../../b", "?a=b&c#d", ";",
    "'; DROP TABLE customers; --", '"', "\\", "<script>", "<!--", "&lt;", "]]>", "BEGIN:VCALENDAR",
    "payment#1", "mail#999", "event#1", "-1", "0", "1e400", "null", "true", "2026-13-45",
    "9999-12-31T23:59:59Z", "0001-01-01", "[a-", "((", "*", "@", "a@b", "$(id)", "`id`", "\t",
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 7, 2**31, -(2**63), 2**64, 10**30)
OTHERS: tuple[Any, ...] = (
    None, True, 0, 1.5, -1, "x", [], {}, [None], [[]], {"": None}, {"{{ x }}": ["../.."]},
    {"a": {"b": {"c": [1, None, {}]}}}, ["x"] * 300,
)  # fmt: skip


def drawn(schema: dict[str, Any], draw: random.Random) -> Any:
    """A value that may pass the schema, and is as bad as that lets it be."""
    if "enum" in schema:
        return draw.choice(schema["enum"])
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return drawn(draw.choice(schema[choice]), draw)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = draw.choice(kind)
    makers: dict[str, Callable[[], Any]] = {
        "string": lambda: draw.choice(TEXTS),
        "integer": lambda: draw.choice(NUMBERS),
        "number": lambda: draw.choice((*NUMBERS, 0.1, -1e308, 1e-300)),
        "boolean": lambda: draw.random() < 0.5,
        "null": lambda: None,
        "array": lambda: [
            drawn(schema.get("items", {}), draw) for _ in range(draw.choice((0, 1, 3)))
        ],
        "object": lambda: drawn_object(schema, draw),
    }
    return makers[str(kind)]() if kind else draw.choice(OTHERS)


def drawn_object(schema: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    made = {
        name: drawn(inner, draw)
        for name, inner in properties.items()
        if name in required or draw.random() < 0.5
    }
    if schema.get("additionalProperties", True) is not False:
        made[draw.choice(TEXTS)] = draw.choice(OTHERS)
    return made


def arguments_for(tool: Tool, draw: random.Random) -> dict[str, Any]:
    """An example with a part of it made hostile, or everything."""
    hostile = drawn_object(tool.parameters, draw)
    if draw.random() < 0.4:
        return hostile
    kept = dict(draw.choice(tool.examples))
    for name in draw.sample(sorted(hostile), min(len(hostile), draw.choice((1, 2)))):
        kept[name] = hostile[name]
    return kept


def calls(tools: list[Tool], draw: random.Random) -> Iterator[tuple[Tool, dict[str, Any]]]:
    """All tools in turn, again and again."""
    while True:
        for tool in draw.sample(tools, len(tools)):
            yield tool, arguments_for(tool, draw)


def strange(session: ToolSession, tool: Tool, arguments: dict[str, Any]) -> str | None:
    """What is wrong with the answer to a call; nothing, mostly."""
    try:
        outcome = session.call(tool.name, arguments)
    except InputError as error:
        # What the schema forbids is told before anything is sent, and names no file.
        return None if error.where.field == "arguments" else f"raised {error}"
    except Exception as error:  # noqa: BLE001 - any at all would end an episode
        return f"raised {type(error).__name__}: {error}"
    if outcome.seconds > tool.limits.seconds + 2:
        return f"took {outcome.seconds:.1f} s"
    if outcome.ok:
        return None
    status = json.loads(outcome.content)["error"]["status"] if not outcome.truncated else "long"
    said = outcome.raw["error"]["message"]
    if status == "unreachable" and ("HTTP cannot carry" in said or len(str(arguments)) > 10_000):
        return None  # some servers hang up on a line that is too long
    if status in ("unreachable", "unreadable", "unworkable"):
        return f"{status}: {said[:300]} [{outcome.fault[:300]}]"
    return None


def test_every_call_with_hostile_arguments_is_an_outcome(office: Office) -> None:
    seed = int(os.environ.get("VEPA_TEST_SEED", random.randrange(10**6)))
    draw = random.Random(seed)
    found: list[str] = []
    made = 0
    with office.session() as session:
        tools = session.tools
        limit = time.monotonic() + SECONDS
        for tool, arguments in calls(tools, draw):
            if made >= len(tools) and time.monotonic() > limit:
                break
            made += 1
            wrong = strange(session, tool, arguments)
            if wrong:
                found.append(f"{tool.name} {json.dumps(arguments)[:400]}: {wrong}")
    office.reset()
    assert len(tools) == 143
    assert found == [], f"{made} calls; VEPA_TEST_SEED={seed} draws the same:\n" + "\n".join(found)
