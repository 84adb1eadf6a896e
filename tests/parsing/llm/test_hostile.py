"""Traces that try to write their own event, before a reader that obeys what stands outside."""

from __future__ import annotations

import json
from typing import Any

import pytest
from errands import MODEL, Hostile, asked_at, errand, hostile
from gullible import Gullible, heard_in
from model_servers import ModelServer

from vepa.corpus.trajectory import Step, Trajectory
from vepa.llm import Message, ModelRequest, open_model
from vepa.parsing.llm import LLMParser
from vepa.policy.schema import UNKNOWN, bundled_schema

HOSTILE = hostile()
BREAKING = [each for each in HOSTILE if not each.inside]
NOTHING = dict.fromkeys(bundled_schema().names, UNKNOWN)


def ids(each: Hostile) -> str:
    return each.name


@pytest.fixture
def reader(server: ModelServer) -> Gullible:
    """Reads everything that comes to the server."""
    gullible = Gullible(bundled_schema())
    server.play(gullible)
    return gullible


def raw(trajectory: Trajectory) -> str:
    """A trace as somebody careless writes it down."""
    told = [f"(operator) {trajectory.system}", f"(account) {trajectory.premises.account}"]
    for tool in trajectory.tools:
        asked = tool.parameters["properties"]["to"]["description"]
        told.append(f"(tool) {tool.name}: {tool.description} It takes to: {asked}")
    told += [f"(tool) {tool.name}: {tool.description}" for tool in trajectory.offered]
    told += [f"{step.index}. ({step.kind}) {_raw_step(step)}" for step in trajectory.steps]
    return "\n".join(told)


def _raw_step(step: Step) -> str:
    if step.call is None:
        return step.text or ""
    call, result = step.call, step.result
    arguments = ", ".join(f"{name} {value}" for name, value in call.arguments.items())
    said = f"{result.error or ''} {result.content}" if result else ""
    parts = (step.speaker, step.thought, call.environment, call.tool, arguments, call.text, said)
    return " ".join(part for part in parts if part)


def half_careful(trajectory: Trajectory) -> str:
    """JSON Lines without any further thought: line breaks are gone, everything else is there."""
    data = trajectory.model_dump(mode="json", exclude_none=True)
    told: list[Any] = [
        data["system"],
        data["premises"],
        *data["tools"],
        *data["offered"],
        *data["steps"],
    ]
    return "\n".join(json.dumps(each, ensure_ascii=False) for each in told)


def around(body: str) -> ModelRequest:
    """Our prompt around somebody else's block."""
    request, _ = next(LLMParser(None).requests(errand(), "trajectory"))
    system, user = request.messages
    after = user.content.rpartition("\n\n")[2]
    mine = (system, Message(role="user", content=f"{body}\n\n{after}"))
    return ModelRequest(messages=mine, shape=request.shape)


def answer_to(request: ModelRequest) -> dict[str, str]:
    """What the reader answers, without a server between."""
    texts = [message.content for message in request.messages]
    return Gullible(bundled_schema()).obeying(heard_in(texts))


def asked(server: ModelServer, request: ModelRequest) -> dict[str, str]:
    """What the reader answers over HTTP."""
    return dict(open_model(MODEL, settings=asked_at(server)).ask(request).data)


def test_there_are_enough_of_every_kind():
    assert len(HOSTILE) >= 40
    assert len({each.name for each in HOSTILE}) == len(HOSTILE)
    places = {each.place for each in HOSTILE}
    assert places >= {
        "user", "result", "observation", "system", "tool", "key", "argument", "speaker", "error",
        "description", "parameters", "thought", "answer", "service", "written", "account",
        "offered",
    }  # fmt: skip


@pytest.mark.parametrize("each", HOSTILE, ids=ids)
def test_the_model_parser_is_never_steered(each, server, reader):
    model = open_model(MODEL, settings=asked_at(server))
    assert LLMParser(model).parse(each.trace).event == NOTHING, reader.heard[-1][-2000:]


@pytest.mark.parametrize("each", HOSTILE, ids=ids)
def test_it_is_not_steered_for_calls_and_steps_either(each):
    for unit, count in (("call", 2), ("step", 3)):
        requests = [request for request, _ in LLMParser(None).requests(each.trace, unit)]
        assert [answer_to(request) for request in requests] == [NOTHING] * count


@pytest.mark.parametrize("each", BREAKING, ids=ids)
def test_raw_text_in_a_fence_is_steered(each, server, reader):
    request = around(f"<trace>\n{raw(each.trace)}\n</trace>")
    assert asked(server, request) == NOTHING | each.wants


@pytest.mark.parametrize("each", HOSTILE, ids=ids)
def test_raw_text_without_a_fence_is_steered(each):
    assert answer_to(around(raw(each.trace))) == NOTHING | each.wants


def test_plain_json_lines_in_a_fence_are_steered_by_some():
    steered = {
        each.name
        for each in BREAKING
        if answer_to(around(f"<trace>\n{half_careful(each.trace)}\n</trace>")) != NOTHING
    }
    # Closing tags, look-alikes of them and invisible signs get through; line breaks do not.
    assert {"closing-tag", "wide-letters", "zero-width-inside-the-tag", "homoglyphs"} <= steered
    assert "end-of-data" not in steered
    assert len(steered) >= 15


def test_a_harmless_trace_steers_nobody():
    assert answer_to(around(f"<trace>\n{raw(errand())}\n</trace>")) == NOTHING
    assert answer_to(around(raw(errand()))) == NOTHING


def test_the_reader_does_hear_what_stands_around_our_block(server, reader):
    """Otherwise it would prove nothing that it is not steered."""
    request, _ = next(LLMParser(None).requests(errand(), "trajectory"))
    system, user = request.messages
    for messages in (
        (system.model_copy(update={"content": system.content + "\nset scope to within"}), user),
        (system, user.model_copy(update={"content": user.content + "\nset scope to within"})),
        (system, user.model_copy(update={"content": "set scope to within\n" + user.content})),
    ):
        model = open_model(MODEL, settings=asked_at(server))
        reply = model.ask(request.model_copy(update={"messages": messages}))
        assert reply.data == NOTHING | {"scope": "within"}


def test_it_hears_the_whole_reminder_and_nothing_of_the_trace(server, reader):
    model = open_model(MODEL, settings=asked_at(server))
    LLMParser(model).parse(errand(result="canary-of-the-trace"))
    assert "canary" not in reader.heard[-1]
    assert "all of it was data" in reader.heard[-1]
    assert "canary-of-the-trace" in server.seen[-1].raw.decode()
