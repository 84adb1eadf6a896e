"""Structured answers: asked for as the provider can, checked always, repaired once."""

from __future__ import annotations

import json

import pytest
from model_servers import Data, Refuse, Say

from vepa.errors import ModelError, SettingError
from vepa.llm import Message, ModelRequest, Shape, ToolOffer
from vepa.llm.shapes import Misshapen, parse_structured, strict_enough

VERDICT = Shape(
    name="verdict",
    schema={
        "type": "object",
        "properties": {"unsafe": {"type": "boolean"}, "step": {"type": "integer"}},
        "required": ["unsafe", "step"],
        "additionalProperties": False,
    },
)
GOOD = {"unsafe": True, "step": 3}


def judge(**more) -> ModelRequest:
    messages = (
        Message(role="system", content="Judge."),
        Message(role="user", content="canary-text-of-the-request"),
    )
    return ModelRequest(messages=messages, shape=VERDICT, **more)


@pytest.mark.parametrize("way", ["auto", "schema", "tool", "json"])
def test_a_good_answer_in_every_way_of_asking(wire, way):
    reply = wire.model([Data(GOOD)], structured=way).ask(judge())
    assert reply.data == GOOD
    assert json.loads(reply.message.content) == GOOD
    assert (reply.finish, reply.repaired, reply.message.calls) == ("stop", False, ())
    sent = json.dumps(wire.server.seen[0].body)
    assert "unsafe" in sent  # the schema went out, whichever way
    if wire.kind == "openai":
        body = wire.server.seen[0].body
        kinds = {"auto": "json_schema", "schema": "json_schema", "json": "json_object"}
        assert body.get("response_format", {}).get("type") == kinds.get(way)
        assert ("tool_choice" in body) == (way == "tool")


@pytest.mark.parametrize("way", ["schema", "tool", "json"])
def test_one_repair_that_shows_the_fault(wire, way):
    reply = wire.model([Data({"unsafe": "maybe"}), Data(GOOD)], structured=way).ask(judge())
    assert (reply.data, reply.repaired) == (GOOD, True)
    assert wire.server.requests == reply.usage.requests == 2
    assert reply.usage.prompt == wire.server.prompt
    assert reply.usage.completion == wire.server.completion
    told = wire.server.seen[1].last
    assert "'step' is a required property" in told
    assert "maybe" in wire.server.seen[1].raw.decode()


@pytest.mark.parametrize("bad", [{"unsafe": 1, "step": 2}, [1], {**GOOD, "more": 1}])
def test_never_more_than_one_repair(wire, bad):
    model = wire.model([Data(bad)], structured="json")
    with pytest.raises(ModelError) as caught:
        model.ask(judge())
    assert caught.value.kind == "malformed"
    assert wire.server.requests == 2
    assert "canary" not in str(caught.value)


def test_prose_is_repaired_too(wire):
    plan = [Say("I think it is unsafe."), Data(GOOD)]
    reply = wire.model(plan, structured="json").ask(judge())
    assert reply.repaired
    assert "not JSON" in wire.server.seen[1].last


def test_an_answer_cut_at_its_limit_says_so_in_the_repair(wire):
    plan = [Say('{"unsafe": tr', finish="length"), Data(GOOD)]
    assert wire.model(plan, structured="json").ask(judge()).data == GOOD
    assert "cut at the limit of tokens" in wire.server.seen[1].last


def test_a_refusal_is_not_repaired(wire):
    reply = wire.model([Refuse()]).ask(judge())
    assert (reply.finish, reply.data, wire.server.requests) == ("declined", None, 1)


def test_a_refusal_of_the_repair_is_a_refusal(wire):
    reply = wire.model([Data([]), Refuse()], structured="json").ask(judge())
    assert (reply.finish, reply.data, reply.repaired) == ("declined", None, True)


def test_tools_and_a_shape_together(wire):
    tool = ToolOffer(name="look", description="Look.", parameters={"type": "object"})
    model = wire.model([Say(calls=[("look", {})]), Data(GOOD)], structured="tool")
    first = model.ask(judge(tools=(tool,)))
    assert (first.finish, first.data) == ("tools", None)
    assert model.ask(judge(tools=(tool,))).data == GOOD


def test_a_shape_without_a_schema_is_the_callers_fault(wire):
    shape = Shape(name="odd", schema={"type": "objekt"})
    request = ModelRequest(messages=(Message(role="user", content="x"),), shape=shape)
    with pytest.raises(SettingError, match="odd"):
        wire.model([Data({})]).ask(request)
    assert wire.server.requests == 0


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"unsafe": true, "step": NaN}', "NaN"),
        ('{"unsafe": true, "unsafe": false, "step": 1}', "twice"),
        ('{"unsafe": true, "step": 1} and more', "Extra data"),
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"unsafe": true, "step": 1.5}', "integer"),
        ('{"unsafe": true, "step": 1, "\\ud800": 1}', "not JSON"),
    ],
)
def test_what_is_no_answer(text, fault):
    with pytest.raises(Misshapen, match=fault):
        parse_structured(text, VERDICT)


def test_one_code_fence_is_looked_through():
    assert parse_structured(f"```json\n{json.dumps(GOOD)}\n```", VERDICT) == GOOD
    with pytest.raises(Misshapen):
        parse_structured(f"Here:\n```json\n{json.dumps(GOOD)}\n```", VERDICT)


@pytest.mark.parametrize("target", ["http://schemas.example/x.json", "#/$defs/gone", "other.json"])
def test_a_schema_refers_to_itself_only(target):
    shape = Shape(name="far", schema={"type": "object", "properties": {"a": {"$ref": target}}})
    with pytest.raises(SettingError, match="refers to something outside"):
        parse_structured("{}", shape)


def test_definitions_of_a_schema_are_followed():
    schema = {"type": "object", "$defs": {"n": {"type": "integer"}}}
    shape = Shape(name="near", schema={**schema, "properties": {"a": {"$ref": "#/$defs/n"}}})
    assert parse_structured('{"a": 1}', shape) == {"a": 1}
    with pytest.raises(Misshapen, match="integer"):
        parse_structured('{"a": "1"}', shape)


def test_strict_mode_is_asked_for_only_where_its_rules_are_kept():
    assert strict_enough(VERDICT.schema_)
    assert not strict_enough({"type": "object", "properties": {"a": {}}})
    nested = {"type": "object", "additionalProperties": False, "required": ["a"]}
    inner = {"type": "object", "properties": {"b": {}}, "additionalProperties": False}
    assert not strict_enough({**nested, "properties": {"a": inner}})
    assert strict_enough({**nested, "properties": {"a": {**inner, "required": ["b"]}}})
