"""The cache gives whole, good answers back at no cost, and nothing else."""

from __future__ import annotations

import sqlite3
import subprocess
import sys

import pytest
from model_servers import FAKE_KEY, Data, Fail, Refuse, Say

from vepa.errors import InputError, ModelError
from vepa.llm import AnswerCache, Ledger, Message, ModelRequest, Shape, ToolOffer, Usage

TOOL = ToolOffer(name="look", description="Look.", parameters={"type": "object"})
SHAPE = Shape(name="s", schema={"type": "object", "required": ["a"]})


@pytest.fixture
def cache(tmp_path):
    cache = AnswerCache(tmp_path / "deep" / "answers.sqlite")
    yield cache
    cache.close()


def test_a_hit_costs_nothing_and_is_marked(wire, hello, cache, tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    plan = [Say("first", calls=[("look", {"a": "é"})]), Say("second")]
    model = wire.model(plan, cache=cache, ledger=ledger)
    request = hello.model_copy(update={"tools": (TOOL,)})
    first, second = model.ask(request), model.ask(request)
    assert (first.source, second.source) == ("provider", "cache")
    assert (second.message, second.finish, second.model) == (
        first.message,
        first.finish,
        first.model,
    )
    assert second.usage == Usage()
    assert wire.server.requests == 1
    by = ledger.totals("source")
    assert (by["provider"].requests, by["cache"].requests, by["cache"].dollars) == (1, 0, 0.0)


def test_structured_answers_keep_their_data(wire, cache):
    request = ModelRequest(messages=(Message(role="user", content="u"),), shape=SHAPE)
    model = wire.model([Data([]), Data({"a": [1, None, "ü"]})], cache=cache, structured="json")
    first, second = model.ask(request), model.ask(request)
    assert second.data == first.data == {"a": [1, None, "ü"]}
    assert second.repaired


def test_only_whole_good_answers_are_kept(wire, hello, cache):
    model = wire.model(
        [Refuse(), Say("half", finish="length"), Fail(400), Say(""), Say("good")], cache=cache
    )
    assert [model.ask(hello).finish for _ in range(2)] == ["declined", "length"]
    with pytest.raises(ModelError):
        model.ask(hello)
    assert [model.ask(hello).source for _ in range(3)] == ["provider", "provider", "cache"]


@pytest.mark.parametrize(
    "change", [{"temperature": 0.5}, {"max_tokens": 7}, {"seed": 3}, {"tools": (TOOL,)}]
)
def test_another_request_is_another_answer(openai, hello, cache, change):
    model = openai.model([Say("x")], cache=cache)
    model.ask(hello)
    assert model.ask(hello.model_copy(update=change)).source == "provider"


@pytest.mark.parametrize("change", [{"temperature": 0.5}, {"max_tokens": 7}])
def test_other_settings_are_another_answer(openai, hello, cache, change):
    openai.model([Say("x")], cache=cache).ask(hello)
    assert openai.model([Say("x")], cache=cache, **change).ask(hello).source == "provider"


def test_settings_of_the_way_there_change_nothing(openai, hello, cache):
    openai.model([Say("x")], cache=cache).ask(hello)
    assert openai.model([Say("x")], cache=cache, timeout=9, concurrency=2).ask(hello).source == (
        "cache"
    )


def test_what_it_is_about_changes_nothing(openai, hello, cache):
    from vepa.llm import Item

    model = openai.model([Say("x")], cache=cache)
    model.ask(hello)
    item = Item(hash="h" * 64, template="judge", version="1.0")
    assert model.ask(hello.model_copy(update={"item": item})).source == "cache"


def test_no_key_and_no_request_in_the_file(wire, hello, cache):
    wire.model([Say("the answer")], cache=cache).ask(hello)
    cache.close()
    raw = b"".join(path.read_bytes() for path in cache.path.parent.iterdir())
    assert b"the answer" in raw
    assert FAKE_KEY.encode() not in raw
    assert b"canary" not in raw


def test_processes_share_it(cache, hello):
    code = (
        "import sys\n"
        "from vepa.llm import AnswerCache, Message, ModelReply\n"
        "cache = AnswerCache(sys.argv[1])\n"
        "for n in range(80):\n"
        "    said = Message(role='assistant', content=f'answer {n}')\n"
        "    cache.put(f'key {n}', ModelReply(said, 'stop', 'm', 'provider'))\n"
        "    assert cache.get(f'key {n}').message == said\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(cache.path)]) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    found = cache.get("key 79")
    assert found is not None
    assert found.message.content == "answer 79"


@pytest.mark.parametrize("content", [b"no database at all" * 100, None])
def test_a_file_that_is_no_such_cache(tmp_path, content):
    path = tmp_path / "x.sqlite"
    if content is None:
        with sqlite3.connect(path) as other:
            other.execute("PRAGMA user_version = 77")
        other.close()
    else:
        path.write_bytes(content)
    with pytest.raises(InputError, match="remove the file") as caught:
        AnswerCache(path).get("k")
    assert str(path) in str(caught.value)
