"""Sizes, queues, budgets, keys, and what a vendor refuses."""

from __future__ import annotations

import time

import pytest
from batch_clients import KEY, asked, gather, opened

from vepa.errors import BudgetError, ModelError, SettingError
from vepa.llm import Budget, Ledger, ModelSettings, Prices
from vepa.llm.batch import open_batch_model
from vepa.llm.batch.vendors import Limits


@pytest.mark.parametrize(
    ("limits", "sizes"),
    [(Limits(4, 10**6), [4, 4, 2]), (Limits(100, 1500), None)],
    ids=["requests", "bytes"],
)
def test_more_than_one_batch_holds_is_split(server, wire, tmp_path, limits, sizes):
    with opened(server, wire, tmp_path, limits=limits) as model:
        gather(model, range(10))
    found = [len(made.requests) for made in server.batches]
    assert sum(found) == 10
    assert found == sizes if sizes else len(found) > 2
    if wire == "openai":
        assert all(len(file) <= limits.bytes for file in server.files.values())
    assert set(server.paid.values()) == {1}


def test_a_queue_without_room_gets_smaller_batches(server, tmp_path):
    server.room = 3
    with opened(server, "openai", tmp_path) as model:
        gather(model, range(10))
    assert max(len(made.requests) for made in server.batches if made.lines) <= 3
    assert set(server.paid.values()) == {1}


@pytest.mark.parametrize("end", ["expired", "cancelled"])
def test_a_batch_that_ends_early_leaves_its_requests_to_the_next(server, tmp_path, end):
    """Whatever has no line in any file was not worked on."""
    server.end = end
    worked, server._work = server._work, lambda *_: None
    real = server.worked

    def first_is_empty(made):
        if made is server.batches[0]:
            made.lines = []
            return True
        made.end, server._work = "completed", worked
        return real(made)

    server.worked = first_is_empty
    with opened(server, "openai", tmp_path) as model:
        found = gather(model, range(3))
    assert all(each.reply is not None for each in found.values())
    assert server.calls.count("create") == 2


def test_a_batch_refused_as_a_whole_is_told_and_costs_nothing(server, tmp_path):
    server.room = 0
    budget = Budget(tokens=10_000)
    with (
        opened(server, "openai", tmp_path, budget=budget) as model,
        pytest.raises(ModelError, match="token_limit_exceeded"),
    ):
        gather(model, [1])
    assert budget.used_tokens == 0
    assert not server.paid


def test_a_budget_lets_as_many_out_as_fit_in_their_worst_case(server, wire, tmp_path):
    blocked, until = None, time.monotonic() + 20
    with opened(server, wire, tmp_path, budget=Budget(tokens=1500)) as model:
        wanted = {model.key_of(asked(n)): (lambda n=n: asked(n)) for n in range(20)}
        while blocked is None and time.monotonic() < until:
            model.step(wanted)
            blocked = None if model.on_the_way() else model.blocked
            time.sleep(model.idle())
    assert isinstance(blocked, BudgetError)
    worst = 200 + 100
    sizes = [len(made.requests) for made in server.batches]
    assert len(sizes) > 1, "what came back cheaper than feared made room for more"
    assert sizes[0] * worst <= 1500 * 1.2
    assert sum(sizes) * 110 <= 1500


def test_dollars_need_a_price_and_stated_prices_count_as_they_stand(server, tmp_path):
    settings = ModelSettings(api_base=server.openai)
    with pytest.raises(SettingError, match="price"):
        open_batch_model(
            "openai/nobody-knows", tmp_path / "b", settings=settings, budget=Budget(dollars=1)
        )
    budget = Budget(dollars=1)
    prices = Prices(prompt=1000, completion=2000)
    with opened(server, "openai", tmp_path, budget=budget, prices=prices) as model:
        gather(model, [1])
    assert budget.used_dollars == pytest.approx(0.1 + 0.02)


def test_no_key_is_told_before_anything_is_sent(server, wire, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(ModelError) as error:
        opened(server, wire, tmp_path)
    assert error.value.kind == "refused_key"
    assert f"{wire.upper()}_API_KEY" in str(error.value)
    assert not server.calls


def test_a_named_variable_holds_the_key_and_no_file_does(server, wire, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_KEY", "canary-of-the-lab")
    server.fails = {"standing": [500]}
    ledger = Ledger(tmp_path / "ledger.jsonl")
    with opened(server, wire, tmp_path, key_variable="LAB_KEY", ledger=ledger) as model:
        gather(model, range(3))
    assert {each.removeprefix("Bearer ") for each in server.keys} == {"canary-of-the-lab"}
    for file in tmp_path.rglob("*"):
        assert b"canary" not in file.read_bytes(), file


@pytest.mark.parametrize(("status", "kind"), [(401, "refused_key"), (400, "bad_request")])
def test_what_the_vendor_refuses_ends_it_and_costs_nothing(server, wire, tmp_path, status, kind):
    server.fails = {"create": [status]}
    budget = Budget(tokens=10_000)
    with (
        opened(server, wire, tmp_path, budget=budget) as model,
        pytest.raises(ModelError) as error,
    ):
        gather(model, [1])
    assert error.value.kind == kind
    assert KEY not in str(error.value)
    assert (budget.used_tokens, server.calls.count("create")) == (0, 1)


def test_a_vendor_that_keeps_failing_ends_it_after_so_many_times(server, wire, tmp_path):
    server.fails = {"create": [429] * 9}
    with opened(server, wire, tmp_path) as model, pytest.raises(ModelError) as error:
        gather(model, [1])
    assert error.value.kind == "rate_limited"
    assert server.calls.count("create") == 3


def test_tools_are_not_asked_in_bulk_and_other_vendors_are_named(server, tmp_path):
    from vepa.llm import ToolOffer

    offer = ToolOffer(name="t", description="t", parameters={"type": "object"})
    with opened(server, "openai", tmp_path) as model, pytest.raises(SettingError, match="tools"):
        model.key_of(asked(1).model_copy(update={"tools": (offer,)}))
    with pytest.raises(SettingError, match="anthropic/NAME"):
        open_batch_model("gemini/gemini-2.5-pro", tmp_path / "b")
