"""What a model says comes back the same over both wire formats, streamed or not."""

from __future__ import annotations

import json

import pytest
from model_servers import Data, ModelServer, Refuse, Say, Slow

from vepa.llm import Message, ModelRequest, ToolCall, ToolOffer

SEND = ToolOffer(
    name="mail_send",
    description="Send a mail.",
    parameters={"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
)
READ = ToolOffer(name="mail_list", description="List.", parameters={"type": "object"})


def with_tools(*messages: Message) -> ModelRequest:
    return ModelRequest(
        messages=messages or (Message(role="user", content="go"),), tools=(SEND, READ)
    )


def test_a_text_with_the_tokens_that_the_server_counted(wire, hello):
    reply = wire.model([Say("Good day, ä 🦉.")]).ask(hello)
    assert (reply.message.role, reply.message.content) == ("assistant", "Good day, ä 🦉.")
    assert (reply.finish, reply.source, reply.data) == ("stop", "provider", None)
    assert (reply.usage.prompt, reply.usage.completion) == (
        wire.server.prompt,
        wire.server.completion,
    )
    assert reply.usage.requests == wire.server.requests == 1
    assert reply.usage.dollars is not None
    assert reply.usage.dollars > 0
    assert 0 < reply.seconds < 60
    assert reply.model in ("gpt-4o-mini", "claude-sonnet-4-5")


def test_what_goes_out(wire, hello, keys):
    wire.model([Say("x")], temperature=0.25, max_tokens=77).ask(hello)
    seen = wire.server.seen[0]
    assert seen.wire == wire.kind
    assert seen.body["temperature"] == 0.25
    assert seen.body["max_tokens"] == 77
    assert seen.last == "canary-text-of-the-request"
    assert "tools" not in seen.body
    bearer = seen.headers.get("authorization", "").removeprefix("Bearer ")
    assert keys in (seen.headers.get("x-api-key"), bearer)


def test_the_request_goes_before_the_settings(wire, hello):
    request = hello.model_copy(update={"temperature": 1.0, "max_tokens": 9})
    wire.model([Say("x")], temperature=0.25, max_tokens=77).ask(request)
    assert (wire.server.seen[0].body["temperature"], wire.server.seen[0].body["max_tokens"]) == (
        1.0,
        9,
    )


def test_a_seed_is_sent_where_the_provider_has_one(wire, hello):
    wire.model([Say("x")]).ask(hello.model_copy(update={"seed": 41}))
    assert wire.server.seen[0].body.get("seed") == (41 if wire.kind == "openai" else None)


def test_parallel_calls(wire):
    plan = [Say("I do both.", calls=[("mail_send", {"to": "a@b.test"}), ("mail_list", {})])]
    reply = wire.model(plan).ask(with_tools())
    assert reply.finish == "tools"
    assert reply.message.content == "I do both."
    assert [(call.name, json.loads(call.arguments)) for call in reply.message.calls] == [
        ("mail_send", {"to": "a@b.test"}),
        ("mail_list", {}),
    ]
    assert len({call.id for call in reply.message.calls}) == 2
    names = [
        tool.get("name") or tool["function"]["name"] for tool in wire.server.seen[0].body["tools"]
    ]
    assert names == ["mail_send", "mail_list"]


def test_a_tool_that_was_not_offered_is_handed_on(wire):
    reply = wire.model([Say(calls=[("mail_burn", {"all": True})])]).ask(with_tools())
    assert [call.name for call in reply.message.calls] == ["mail_burn"]


@pytest.mark.parametrize("text", ['{"to": "a@b.te', "[1]", "not json", ""])
def test_malformed_arguments_are_handed_on_as_text(wire, text):
    reply = wire.model([Say(calls=[("mail_send", text)])]).ask(with_tools())
    given = reply.message.calls[0].arguments
    if (wire.kind, wire.stream) == ("anthropic", False):  # this format carries data, not text
        assert json.loads(given) == text
        return
    # litellm gives {} for a stream of no arguments at all, which is what a tool without any gets.
    assert given == text or (text == "" and given in ("", "{}"))


def test_a_history_of_calls_and_answers(wire):
    history = (
        Message(role="system", content="s"),
        Message(role="user", content="u"),
        Message(
            role="assistant",
            calls=(
                ToolCall(id="c1", name="mail_send", arguments='{"to":"a@b.test"}'),
                ToolCall(id="c2", name="mail_send", arguments='{"to": cut'),
            ),
        ),
        Message(role="tool", content="sent", answers="c1"),
        Message(role="tool", content="bad arguments", answers="c2"),
    )
    assert wire.model([Say("done")]).ask(with_tools(*history)).message.content == "done"
    sent = json.dumps(wire.server.seen[0].body)
    for part in ("c1", "c2", "sent", "bad arguments"):
        assert f'"{part}"' in sent
    # What was malformed goes back as what it was, inside an object that providers accept.
    assert "malformed_arguments" in sent
    assert "cut" in sent


def test_an_endless_loop_of_calls_is_answered_again_and_again(wire):
    model = wire.model([Say(calls=[("mail_list", {})])])
    said = [Message(role="user", content="u")]
    for _ in range(4):
        reply = model.ask(with_tools(*said))
        said += [
            reply.message,
            Message(role="tool", content="[]", answers=reply.message.calls[0].id),
        ]
    assert reply.finish == "tools"
    assert wire.server.requests == 4


@pytest.mark.parametrize("filtered", [False, True])
def test_refusals(wire, hello, filtered):
    reply = wire.model([Refuse("I will not.", filtered=filtered)]).ask(hello)
    assert (reply.finish, reply.message.content) == ("declined", "I will not.")
    assert wire.server.requests == 1


def test_a_cut_at_the_limit_of_tokens(wire, hello):
    reply = wire.model([Say("half a sen", finish="length")]).ask(hello)
    assert (reply.finish, reply.message.content) == ("length", "half a sen")


def test_the_same_request_is_the_same_bytes(wire, hello):
    model = wire.model([Say("x")])
    for _ in range(3):
        model.ask(hello)
    assert len({seen.raw for seen in wire.server.seen}) == 1


def test_what_it_is_about_is_not_sent(wire, hello):
    from vepa.llm import Item

    item = Item(hash="h" * 64, template="judge", version="1.0")
    wire.model([Say("x")]).ask(hello.model_copy(update={"item": item}))
    assert b"hhhh" not in wire.server.seen[0].raw
    assert b"judge" not in wire.server.seen[0].raw


def test_many_threads_share_a_model(wire):
    from concurrent.futures import ThreadPoolExecutor

    model = wire.model(lambda seen: Slow(f"echo {seen.last}", before=0.1), concurrency=4)
    requests = [ModelRequest(messages=(Message(role="user", content=f"n{n}"),)) for n in range(24)]
    with ThreadPoolExecutor(12) as pool:
        replies = list(pool.map(model.ask, requests))
    assert [reply.message.content for reply in replies] == [f"echo n{n}" for n in range(24)]
    assert sum(reply.usage.completion for reply in replies) == wire.server.completion
    assert 1 < wire.server.most_at_once <= 4


def test_a_key_from_another_variable(openai, hello, monkeypatch):
    monkeypatch.setenv("MY_OWN_KEY", "sk-other")
    openai.model([Say("x")], key_variable="MY_OWN_KEY").ask(hello)
    assert openai.server.seen[0].headers["authorization"] == "Bearer sk-other"


def test_servers_that_are_not_the_ones_of_the_big_two(server: ModelServer, hello, monkeypatch):
    """Any model on a server of one's own is reached by `openai/NAME` and an address."""
    from vepa.llm import ModelSettings, open_model

    server.play([Data({"a": 1})])
    settings = ModelSettings(api_base=server.openai)
    reply = open_model("openai/smollm2-on-my-desk", settings=settings).ask(hello)
    assert reply.message.content == '{"a": 1}'
    assert reply.usage.dollars is None
