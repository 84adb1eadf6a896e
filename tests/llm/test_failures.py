"""What is sent again, after how long, and what the caller is told."""

from __future__ import annotations

import gc
import socket
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise

import httpx
import pytest
from model_servers import FAKE_KEY, Cut, Fail, Raw, Say, Slow

from vepa.errors import ModelError
from vepa.llm import ModelSettings, open_model
from vepa.llm.failures import retry_after


def failing(model, request) -> ModelError:
    with pytest.raises(ModelError) as caught:
        model.ask(request)
    return caught.value


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 529])
def test_statuses_that_are_sent_again(wire, hello, status):
    reply = wire.model([Fail(status), Fail(status), Say("at last")]).ask(hello)
    assert reply.message.content == "at last"
    assert reply.usage.requests == wire.server.requests == 3
    assert (reply.usage.prompt, reply.usage.completion) == (
        wire.server.prompt,
        wire.server.completion,
    )
    assert len({seen.raw for seen in wire.server.seen}) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (429, "rate_limited"),
        (500, "failed"),
        (502, "failed"),
        (503, "overloaded"),
        (504, "failed"),
        (529, "overloaded"),
    ],
)
def test_attempts_are_bounded(wire, hello, status, kind):
    error = failing(wire.model([Fail(status)], max_attempts=2), hello)
    assert error.kind == kind
    assert wire.server.requests == 2
    assert f"HTTP {status}" in str(error)
    assert "2 requests sent" in str(error)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "bad_request"),
        (401, "refused_key"),
        (403, "refused_key"),
        (404, "bad_request"),
        (413, "bad_request"),
        (422, "bad_request"),
    ],
)
def test_statuses_that_are_never_sent_again(wire, hello, status, kind):
    message = f"no: {FAKE_KEY} canary-text-of-the-request"
    error = failing(wire.model([Fail(status, message=message)]), hello)
    assert (error.kind, wire.server.requests) == (kind, 1)
    assert FAKE_KEY not in str(error)
    assert "canary" not in str(error)
    assert error.__cause__ is None


def test_a_used_up_quota_is_not_asked_again(openai, hello):
    error = failing(openai.model([Fail(429, code="insufficient_quota")]), hello)
    assert (error.kind, openai.server.requests) == ("rate_limited", 1)
    assert "insufficient_quota" in str(error)


def test_a_refused_key_names_the_variable(wire, hello):
    error = failing(wire.model([Fail(401)]), hello)
    assert f"{wire.kind.upper()}_API_KEY" in str(error)


def test_a_parameter_that_the_model_does_not_take_is_told_and_not_dropped(server, hello):
    server.play([Say("x")])
    settings = ModelSettings(api_base=server.openai, temperature=0.3)
    error = failing(open_model("openai/o3-mini", settings=settings), hello)
    assert (error.kind, server.requests) == ("bad_request", 0)
    assert "temperature" in str(error)
    plain = ModelSettings(api_base=server.openai)
    open_model("openai/o3-mini", settings=plain).ask(hello)
    assert server.seen[0].body["max_completion_tokens"] == 4096


@pytest.mark.parametrize("empty", [False, True])
def test_no_key_at_all(wire, hello, monkeypatch, empty):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "") if empty else monkeypatch.delenv(name)
    error = failing(wire.model([Say("x")]), hello)
    assert (error.kind, wire.server.requests) == ("refused_key", 0)


def test_a_named_variable_without_a_key_never_falls_back(wire, hello, monkeypatch):
    monkeypatch.delenv("NOT_THERE_KEY", raising=False)
    error = failing(wire.model([Say("x")], key_variable="NOT_THERE_KEY"), hello)
    assert (error.kind, wire.server.requests) == ("refused_key", 0)
    assert "NOT_THERE_KEY" in str(error)


def test_a_filter_that_answers_with_an_error_is_a_refusal(openai, hello):
    reply = openai.model([Fail(400, code="content_policy_violation")]).ask(hello)
    assert (reply.finish, reply.message.content) == ("declined", "")


@pytest.mark.parametrize("where", ["before", "body", "quietly"])
def test_cut_connections(wire, hello, where):
    reply = wire.model([Cut(where), Say("whole")]).ask(hello)
    assert reply.message.content == "whole"
    assert reply.usage.requests == wire.server.requests == 2
    assert reply.usage.completion == wire.server.completion


def test_a_connection_that_is_always_cut(wire, hello):
    error = failing(wire.model([Cut("body")], max_attempts=2), hello)
    assert (error.kind, wire.server.requests) == ("unreachable", 2)


def test_a_body_that_is_no_answer(wire, hello):
    reply = wire.model([Raw(b"<html>canary</html>"), Say("whole")]).ask(hello)
    assert reply.message.content == "whole"


def test_nobody_listens(hello):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        settings = ModelSettings(
            api_base=f"http://127.0.0.1:{port}/v1", max_attempts=2, first_wait=0.01
        )
        error = failing(open_model("openai/gpt-4o-mini", settings=settings), hello)
    assert error.kind == "unreachable"
    assert "api_base" in str(error)


def test_retry_after_in_seconds_is_kept(wire, hello):
    wire.model([Fail(429, {"Retry-After": "1"}), Say("x")]).ask(hello)
    first, second = (seen.at for seen in wire.server.seen)
    assert second - first >= 1.0


def test_retry_after_as_a_date_is_kept(wire, hello):
    plan = lambda seen: (  # noqa: E731 - the date has to be new when it is sent
        Say("x")
        if seen.number
        else Fail(529, {"Retry-After": format_datetime(in_two_seconds(), usegmt=True)})
    )
    wire.model(plan).ask(hello)
    first, second = (seen.at for seen in wire.server.seen)
    assert 0.9 <= second - first < 10


def in_two_seconds() -> datetime:
    return datetime.now(UTC) + timedelta(seconds=2)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"Retry-After": "Thu, 01 Jan 1970 00:01:40 GMT"}, 90.0),
        ({"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "nan"}, None),
        ({}, None),
    ],
)
def test_reading_retry_after(headers, seconds):
    assert retry_after(headers, now=10.0) == seconds


def test_a_wait_past_the_deadline_is_not_begun(wire, hello):
    model = wire.model([Fail(429, {"Retry-After": "3600"})], deadline=20)
    began = time.monotonic()
    error = failing(model, hello)
    assert time.monotonic() - began < 15
    assert (error.kind, wire.server.requests) == ("rate_limited", 1)
    assert "3600 s" in str(error)


def test_what_one_is_told_holds_for_all_who_share_the_provider(openai, hello):
    """A second model of the same provider waits out the pause that the first was told."""
    first = openai.model([Fail(429, {"Retry-After": "1"}), Say("x")], max_attempts=1)
    second = openai.model([Fail(429, {"Retry-After": "1"}), Say("x")])
    failing(first, hello)
    began = openai.server.seen[0].at
    second.ask(hello)
    assert openai.server.seen[1].at - began >= 1.0


def test_waits_grow_and_differ(monkeypatch):
    from vepa.llm.failures import AttemptError
    from vepa.llm.retries import _wait

    settings = ModelSettings(first_wait=1.0, longest_wait=8.0)
    waits = [[_wait(AttemptError("failed"), n, settings) for _ in range(50)] for n in range(1, 7)]
    for (low, high), found in zip(
        [(0.5, 1), (1, 2), (2, 4), (4, 8), (4, 8), (4, 8)], waits, strict=True
    ):
        assert all(low <= wait <= high for wait in found)
        assert len(set(found)) > 40
    assert all(max(one) <= max(other) + 4 for one, other in pairwise(waits))


@pytest.mark.parametrize("slow", [Slow(before=30), Slow("x" * 400, each=0.5)])
def test_a_slow_answer_is_given_up(wire, hello, slow):
    # What is loaded at the first request would take the first attempt's time.
    wire.model([Say("x")]).ask(hello)
    model = wire.model([slow], timeout=0.7, max_attempts=2)
    began = time.monotonic()
    error = failing(model, hello)
    assert 1.3 <= time.monotonic() - began < 10
    assert error.kind == "unreachable"
    # On a busy machine the server may read a request only after nobody waits for its answer.
    until = time.monotonic() + 10
    while wire.server.requests < 2 and time.monotonic() < until:
        time.sleep(0.01)
    assert wire.server.requests == 2


def test_the_deadline_holds_over_all_attempts(wire, hello):
    model = wire.model([Slow(before=30)], timeout=30, deadline=1, max_attempts=9)
    began = time.monotonic()
    assert failing(model, hello).kind == "unreachable"
    assert time.monotonic() - began < 8


def test_no_stream_is_left_to_the_garbage_collector(wire, hello, monkeypatch):
    """Closed there, it may stop every later request (`vepa.llm.streams.let_go`)."""
    made: list[httpx.Response] = []
    send = httpx.Client.send

    def noted(self, request, **options):
        made.append(send(self, request, **options))
        return made[-1]

    monkeypatch.setattr(httpx.Client, "send", noted)
    gc.disable()
    try:
        wire.model([Say("x")]).ask(hello)
        failing(wire.model([Slow("late" * 20, each=0.2)], max_attempts=1, timeout=0.5), hello)
        until = time.monotonic() + 20  # nobody waits for it; its thread ends at the next piece
        while not all(response.is_closed for response in made) and time.monotonic() < until:
            time.sleep(0.05)
    finally:
        gc.enable()
    assert len(made) > wire.stream
    assert all(response.is_closed for response in made)
