"""Texts as vectors over a real wire: the same care as for answers in words."""

from __future__ import annotations

import numpy as np
import pytest
from model_servers import FAKE_KEY, Cut, Fail, ModelServer, Plan, Raw, Slow, Vectors

from vepa.errors import BudgetError, InputError, ModelError, SettingError
from vepa.llm import AnswerCache, Budget, Embedder, Ledger, ModelSettings, Prices, open_embedder

SMALL = "openai/text-embedding-3-small"


def row(text: str) -> list[float]:
    return [float(len(text)), 2.0]


@pytest.fixture
def opened(server: ModelServer):
    def made(plan: Plan, name: str = SMALL, prices: Prices | None = None, **more) -> Embedder:
        server.play(plan)
        settings = ModelSettings(
            api_base=server.openai, first_wait=0.01, max_attempts=2, timeout=10.0, prices=prices
        )
        return open_embedder(name, settings=settings, **more)

    return made


def test_rows_have_length_one_and_the_order_of_the_texts(opened, server):
    found = opened([Vectors(row, backwards=True)]).embed(["a", "bbb", "a"])
    one, other = [1 / 5**0.5, 2 / 5**0.5], [3 / 13**0.5, 2 / 13**0.5]
    assert np.allclose(found, [one, other, one])
    assert found.dtype == np.float64
    assert server.seen[0].body == {"model": "text-embedding-3-small", "input": ["a", "bbb"]}


def test_many_texts_go_in_several_requests_and_one_line_of_the_ledger(opened, server, tmp_path):
    ledger, budget = Ledger(tmp_path / "l.jsonl"), Budget(dollars=1.0)
    texts = [f"text {number}" for number in range(200)]
    opened([Vectors(row)], ledger=ledger, budget=budget).embed(texts)
    assert [len(seen.body["input"]) for seen in server.seen] == [96, 96, 8]
    (entry,) = ledger.entries()
    assert (entry.requests, entry.prompt, entry.completion) == (3, server.prompt, 0)
    assert entry.dollars == pytest.approx(server.prompt * 2e-8)
    assert budget.used_dollars == pytest.approx(entry.dollars)
    assert (entry.model, entry.source, entry.outcome) == (SMALL, "provider", "stop")


def test_what_is_kept_is_not_asked_again_and_holds_no_text_and_no_key(opened, server, tmp_path):
    path, ledger = tmp_path / "kept.sqlite", Ledger(tmp_path / "l.jsonl")
    first = opened([Vectors(row)], cache=path, ledger=ledger).embed(["canary one", "canary two"])
    again = opened([Vectors(row)], cache=AnswerCache(path), ledger=ledger)
    found = again.embed(["canary two", "canary three", "canary one"])
    assert server.seen[0].body["input"] == ["canary three"]
    assert np.array_equal(found[[2, 0]], first)
    again.embed(["canary one"])
    assert [entry.source for entry in ledger.entries()] == ["provider", "provider", "cache"]
    raw = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"canary" not in raw
    assert FAKE_KEY.encode() not in raw
    opened([Vectors(row)], "openai/text-embedding-3-large", cache=path).embed(["canary one"])
    assert server.requests == 1  # another model, other vectors


@pytest.mark.parametrize(
    ("plan", "kind", "requests"),
    [
        ([Fail(401)], "refused_key", 1),
        ([Fail(400)], "bad_request", 1),
        ([Fail(400, code="content_filter")], "bad_request", 1),
        ([Fail(429, {"Retry-After": "0"})], "rate_limited", 2),
        ([Fail(503)], "overloaded", 2),
        ([Cut()], "unreachable", 2),
        ([Raw(b"nonsense")], "failed", 2),
        ([Raw(b"{}")], "malformed", 1),
        ([Vectors([[1.0, 2.0]])], "malformed", 1),
        ([Vectors([[1.0], [1.0, 2.0]])], "malformed", 1),
        ([Vectors([[0.0, 0.0], [1.0, 2.0]])], "malformed", 1),
        ([Vectors([[float("nan"), 1.0], [1.0, 2.0]])], "malformed", 1),
        ([Vectors([[], []])], "malformed", 1),
    ],
)
def test_no_usable_vectors_is_an_error_and_nothing_is_kept(
    opened, server, tmp_path, plan, kind, requests
):
    ledger, path = Ledger(tmp_path / "l.jsonl"), tmp_path / "kept.sqlite"
    with pytest.raises(ModelError) as caught:
        opened(plan, ledger=ledger, cache=path).embed(["one", "two"])
    assert (caught.value.kind, server.requests) == (kind, requests)
    assert FAKE_KEY not in str(caught.value)
    (entry,) = ledger.entries()
    assert (entry.outcome, entry.requests) == (kind, requests)
    opened([Vectors(row)], cache=path).embed(["one", "two"])
    assert server.requests == 1


def test_it_goes_on_after_a_failure_and_keeps_what_came_before(opened, server, tmp_path):
    texts = [f"text {number}" for number in range(100)]
    path = tmp_path / "kept.sqlite"
    plan = [Fail(500), Vectors(row), Fail(400)]
    with pytest.raises(ModelError):
        opened(plan, cache=path).embed(texts)
    found = opened([Vectors(row)], cache=path).embed(texts)
    assert [len(seen.body["input"]) for seen in server.seen] == [4]
    assert found.shape == (100, 2)


def test_an_answer_that_is_late_is_given_up(server):
    server.play([Slow(before=5.0)])
    settings = ModelSettings(api_base=server.openai, timeout=0.2, max_attempts=1)
    with pytest.raises(ModelError) as caught:
        open_embedder(SMALL, settings=settings).embed(["one"])
    assert caught.value.kind == "unreachable"


def test_vectors_of_another_length_later_are_an_error(opened):
    embedder = opened([Vectors([[1.0, 0.0]]), Vectors([[1.0, 0.0, 0.0]])])
    embedder.embed(["one"])
    with pytest.raises(ModelError, match="3 numbers, after some of 2") as caught:
        embedder.embed(["two"])
    assert caught.value.kind == "malformed"


def test_budgets_are_not_overshot_and_prices_have_to_be_known(opened, server):
    with pytest.raises(BudgetError):
        opened([Vectors(row)], budget=Budget(tokens=3)).embed(["far more than three tokens here"])
    assert server.requests == 0
    with pytest.raises(SettingError, match="price"):
        opened([Vectors(row)], "openai/mine", budget=Budget(dollars=1))
    own = opened(
        [Vectors(row)], "openai/mine", Prices(prompt=0, completion=0), budget=Budget(dollars=0)
    )
    assert own.embed(["one"]).shape == (1, 2)


def test_without_a_key_nothing_is_sent(opened, server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ModelError, match="OPENAI_API_KEY") as caught:
        opened([Vectors(row)]).embed(["one"])
    assert (caught.value.kind, server.requests) == ("refused_key", 0)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere/model", "no provider"),
        ("openai/gpt-4o-mini", "a model for chat"),
        ("scripted/x", "no embedder"),
        ("recorded/x", "no embedder"),
        ("", "no embedder"),
    ],
)
def test_names_that_lead_nowhere(name, said):
    with pytest.raises(SettingError, match=said):
        open_embedder(name)


def test_blank_texts_and_no_texts(opened, server):
    embedder = opened([Vectors(row)])
    with pytest.raises(InputError, match="text 2 of 2 is blank"):
        embedder.embed(["one", " \n"])
    assert embedder.embed([]).shape == (0, 0)
    assert server.requests == 0
