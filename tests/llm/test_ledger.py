"""The ledger adds up to what the servers counted, survives crashes, holds no text and no key."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from model_servers import FAKE_KEY, Cut, Data, Fail, Refuse, Say

from vepa.errors import BudgetError, InputError, ModelError, RunError, SettingError
from vepa.llm import Budget, Ledger, Message, ModelRequest, Shape, open_model

SHAPE = Shape(name="s", schema={"type": "object", "required": ["a"]})


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    return Ledger(tmp_path / "deep" / "ledger.jsonl")


def plan(seen):
    """Early on every third request fails and every fifth connection is cut: six faults in all.

    Eight attempts outlast six faults, whichever of the questions meets them.
    """
    if seen.number < 12 and seen.number % 5 == 4:
        return Cut("before")
    if seen.number < 12 and seen.number % 3 == 2:
        return Fail(500)
    return Say("x" * (seen.number + 1))


def test_it_adds_up_to_what_the_server_counted(wire, hello, ledger):
    model = wire.model(plan, ledger=ledger, max_attempts=8, concurrency=4)
    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(model.ask, [hello] * 20))
    total = ledger.totals()["all"]
    server = wire.server
    assert (total.questions, total.requests) == (20, server.requests)
    assert (total.prompt, total.completion) == (server.prompt, server.completion)
    assert server.answered == 20
    assert total.dollars == pytest.approx(sum(reply.usage.dollars for reply in replies))
    assert total.lost > 0
    assert total.unpriced == 0


def test_one_line_a_question_with_its_tags(openai, hello, ledger):
    for episode in ("e1", "e2"):
        tagged = ledger.tagged(purpose="collect").tagged(episode=episode)
        openai.model([Say("x")], ledger=tagged).ask(hello)
    openai.model([Refuse()], ledger=ledger.tagged(purpose="judge")).ask(hello)
    entries = list(ledger.entries())
    assert [entry.tags for entry in entries] == [
        {"purpose": "collect", "episode": "e1"},
        {"purpose": "collect", "episode": "e2"},
        {"purpose": "judge"},
    ]
    assert [entry.outcome for entry in entries] == ["stop", "stop", "declined"]
    assert {entry.request for entry in entries} == {hello.content_hash}
    assert {entry.model for entry in entries} == {"openai/gpt-4o-mini"}
    assert all(entry.time.endswith("Z") and entry.seconds > 0 for entry in entries)
    by = ledger.totals("purpose")
    assert (by["collect"].questions, by["judge"].questions) == (2, 1)
    assert set(ledger.totals("episode")) == {"e1", "e2", ""}
    assert set(ledger.totals("source")) == {"provider"}


def test_failures_have_their_line_too(openai, ledger):
    request = ModelRequest(messages=(Message(role="user", content="u"),), shape=SHAPE)
    model = openai.model([Data([])], ledger=ledger, structured="json")
    with pytest.raises(ModelError):
        model.ask(request)
    with pytest.raises(BudgetError):
        openai.model([Say("x")], ledger=ledger, budget=Budget(tokens=1)).ask(request)
    malformed, refused = ledger.entries()
    assert (malformed.outcome, malformed.requests) == ("malformed", 2)
    assert malformed.completion > 0
    assert (refused.outcome, refused.requests, refused.prompt) == ("budget_tokens", 0, 0)


def test_a_scripted_answer_is_marked(hello, ledger):
    class Clerk:
        def reply(self, request: ModelRequest) -> Message:
            return Message(role="assistant", content="yes")

    open_model("scripted/clerk", script=Clerk(), ledger=ledger).ask(hello)
    (entry,) = ledger.entries()
    assert (entry.model, entry.source) == ("scripted/clerk", "scripted")
    assert (entry.prompt, entry.completion, entry.dollars, entry.requests) == (0, 0, 0.0, 0)


def test_neither_text_nor_key(wire, hello, ledger):
    wire.model([Fail(429, message=FAKE_KEY), Say("secret-answer")], ledger=ledger).ask(hello)
    text = ledger.path.read_text("utf-8")
    for part in (FAKE_KEY, "canary", "clerk", "secret-answer"):
        assert part not in text


def write_some(ledger: Ledger, count: int) -> None:
    for number in range(count):
        ledger.write(model="m", source="provider", request="r", prompt=number, requests=1)


def test_half_a_last_line_is_ignored_and_then_mended(ledger):
    write_some(ledger, 3)
    whole = ledger.path.read_bytes()
    ledger.path.write_bytes(whole[:-20])
    assert [entry.prompt for entry in ledger.entries()] == [0, 1]
    write_some(Ledger(ledger.path), 1)
    assert [entry.prompt for entry in ledger.entries()] == [0, 1, 0]
    assert ledger.path.read_bytes().count(b"\n") == 3


def test_a_whole_last_line_without_its_end_is_half_a_line(ledger):
    write_some(ledger, 2)
    ledger.path.write_bytes(ledger.path.read_bytes()[:-1])
    assert len(list(ledger.entries())) == 1


def test_a_line_that_is_no_entry_is_told(ledger):
    write_some(ledger, 1)
    with open(ledger.path, "a") as stream:
        stream.write('{"x": 1}\n')
    with pytest.raises(InputError, match=r"ledger\.jsonl:2"):
        list(ledger.entries())


def test_no_ledger_no_entries(ledger):
    assert list(ledger.entries()) == []
    assert ledger.totals()["all"].questions == 0
    assert ledger.totals("model") == {}


def test_a_tag_cannot_hide_a_field(ledger):
    with pytest.raises(SettingError, match="model"):
        ledger.tagged(model="x")


def test_a_ledger_that_cannot_be_written_ends_the_run(tmp_path, hello, openai):
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunError, match="ledger"):
        openai.model([Say("x")], ledger=Ledger(tmp_path / "file" / "ledger.jsonl")).ask(hello)


def test_processes_and_threads_append_whole_lines(ledger):
    code = (
        "import sys\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from vepa.llm import Ledger\n"
        "ledger = Ledger(sys.argv[1]).tagged(who=sys.argv[2])\n"
        "def work(n):\n"
        "    ledger.write(model='m' * 3000, source='scripted', request='r', prompt=n)\n"
        "with ThreadPoolExecutor(4) as pool:\n"
        "    list(pool.map(work, range(60)))\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(ledger.path), name]) for name in "abc"
    ]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    by = ledger.totals("who")
    assert {name: total.questions for name, total in by.items()} == {"a": 60, "b": 60, "c": 60}


def test_killed_at_any_moment_what_was_told_is_kept(ledger):
    code = (
        "import sys, itertools\n"
        "from vepa.llm import Ledger\n"
        "ledger = Ledger(sys.argv[1])\n"
        "for n in itertools.count():\n"
        "    ledger.write(model='m', source='provider', request='r', prompt=n, requests=1)\n"
        "    print(n, flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(ledger.path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    told = [int(process.stdout.readline()) for _ in range(40)]
    os.kill(process.pid, 9)
    told += [int(line) for line in process.stdout.read().split()]
    process.wait(10)
    process.stdout.close()
    kept = [entry.prompt for entry in ledger.entries()]
    assert kept[: len(told)] == told
    assert len(kept) <= len(told) + 1


def test_lines_are_plain_json(ledger):
    write_some(ledger, 1)
    assert json.loads(ledger.path.read_text("utf-8"))["model"] == "m"
