"""Budgets stop requests before they are sent, and nobody overshoots them together."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from model_servers import Cut, Data, Fail, Say, Slow

from vepa.errors import BudgetError, ModelError, SettingError
from vepa.llm import (
    Budget,
    Message,
    ModelRequest,
    ModelSettings,
    Prices,
    Shape,
    Usage,
    count_tokens,
    open_model,
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def ask_on(model, request: ModelRequest) -> None:
    for _ in range(100):
        model.ask(request)


def test_what_may_break_it_is_not_sent(wire, hello):
    worst = count_tokens(hello, "x") + 200
    model = wire.model([Say("x")], budget=Budget(tokens=worst - 1, name="episode"))
    with pytest.raises(BudgetError, match=rf"episode's {worst - 1} tokens") as caught:
        model.ask(hello)
    assert caught.value.budget == "tokens"
    assert wire.server.requests == 0


def test_it_stops_cleanly_when_it_is_used_up(wire, hello):
    budget = Budget(tokens=1000)
    model = wire.model([Say("x" * 40)], budget=budget)
    with pytest.raises(BudgetError):
        ask_on(model, hello)
    counted = wire.server.prompt + wire.server.completion
    assert counted == budget.used_tokens <= 1000
    assert wire.server.requests > 3


def test_the_repair_needs_its_own_place(wire):
    shape = Shape(name="s", schema={"type": "object", "required": ["a"]})
    request = ModelRequest(messages=(Message(role="user", content="x" * 400),), shape=shape)
    budget = Budget(tokens=count_tokens(request, "x") + 200)
    model = wire.model([Data({}), Data({"a": 1})], budget=budget, structured="json")
    with pytest.raises(BudgetError):
        model.ask(request)
    assert wire.server.requests == 1


def test_threads_beside_each_other_cannot_overshoot(openai, hello):
    worst = count_tokens(hello, "x") + 200
    budget = Budget(tokens=3 * worst + worst // 2)
    model = openai.model([Slow("x", before=0.5)], budget=budget, concurrency=8)

    def ask(_: int) -> str:
        try:
            model.ask(hello)
        except BudgetError:
            return "refused"
        return "answered"

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(ask, range(8)))
    assert outcomes.count("answered") == openai.server.requests == 3
    assert budget.used_tokens == openai.server.prompt + openai.server.completion


def test_an_episode_within_a_run(openai, hello):
    run = Budget(tokens=2000, name="run")
    small, large = run.child("episode", tokens=300), run.child("episode", tokens=100_000)
    first = openai.model([Say("x")], budget=small)
    first.ask(hello)
    with pytest.raises(BudgetError, match="episode's 300 tokens"):
        first.ask(hello.model_copy(update={"max_tokens": 280}))
    second = openai.model([Say("x")], budget=large)
    with pytest.raises(BudgetError, match="run's 2000 tokens"):
        second.ask(hello.model_copy(update={"max_tokens": 1990}))
    # What was refused further up has left nothing behind further down.
    assert large.used_tokens == 0
    second.ask(hello)
    assert run.used_tokens == small.used_tokens + large.used_tokens


def test_what_the_server_refused_costs_nothing_and_what_was_cut_the_worst_case(wire, hello):
    budget = Budget(tokens=100_000)
    wire.model([Fail(500), Fail(429), Say("x")], budget=budget).ask(hello)
    assert budget.used_tokens == wire.server.prompt + wire.server.completion
    cut = Budget(tokens=100_000)
    wire.model([Cut("body"), Say("x")], budget=cut).ask(hello)
    whole = wire.server.prompt + wire.server.completion
    assert cut.used_tokens == whole + count_tokens(hello, "x") + 200


def test_dollars(wire, hello):
    prices = Prices(prompt=1000, completion=2000)
    budget = Budget(dollars=1.0)
    model = wire.model([Say("x" * 80)], budget=budget, prices=prices)
    with pytest.raises(BudgetError) as caught:
        ask_on(model, hello)
    assert caught.value.budget == "dollars"
    spent = (wire.server.prompt * 1000 + wire.server.completion * 2000) / 1e6
    assert budget.used_dollars == pytest.approx(spent)
    assert 0 < spent <= 1.0


def test_dollars_need_a_price(server):
    settings = ModelSettings(api_base=server.openai)
    with pytest.raises(SettingError, match=r"price of this model(.|\n)*prices:"):
        open_model("openai/mine", settings=settings, budget=Budget(dollars=1).child("episode"))
    priced = settings.model_copy(update={"prices": Prices(prompt=0, completion=0)})
    assert open_model("openai/mine", settings=priced, budget=Budget(dollars=1)).name
    assert open_model("openai/mine", settings=settings, budget=Budget(tokens=1)).name


def test_seconds_stop_before_the_next_question(openai, hello):
    clock = Clock()
    budget = Budget(seconds=10, name="run", clock=clock)
    model = openai.model([Say("x")], budget=budget)
    model.ask(hello)
    clock.now += 9.9
    model.ask(hello)
    clock.now += 0.1
    with pytest.raises(BudgetError, match="run's 10 seconds") as caught:
        model.ask(hello)
    assert (caught.value.budget, openai.server.requests) == ("seconds", 2)


def test_seconds_end_a_wait(wire, hello):
    model = wire.model([Slow(before=30)], budget=Budget(seconds=0.6))
    with pytest.raises(BudgetError) as caught:
        model.ask(hello)
    assert (caught.value.budget, wire.server.requests) == ("seconds", 1)


def test_seconds_are_not_waited_past_in_a_retry(openai, hello):
    model = openai.model([Fail(503, {"Retry-After": "50"})], budget=Budget(seconds=20))
    with pytest.raises(ModelError) as caught:
        model.ask(hello)
    assert (caught.value.kind, openai.server.requests) == ("overloaded", 1)


def test_a_scripted_model_has_a_budget_of_time_too(hello):
    class Clerk:
        def reply(self, request: ModelRequest) -> Message:
            return Message(role="assistant", content="yes")

    clock = Clock()
    model = open_model("scripted/clerk", script=Clerk(), budget=Budget(seconds=1, clock=clock))
    model.ask(hello)
    clock.now += 2
    with pytest.raises(BudgetError):
        model.ask(hello)


def test_a_run_goes_on_with_what_it_had_spent(openai, hello):
    budget = Budget(tokens=1000, spent=Usage(prompt=600, completion=300))
    with pytest.raises(BudgetError, match="900 are taken"):
        openai.model([Say("x")], budget=budget).ask(hello)


@pytest.mark.parametrize("limit", [-1, float("nan"), float("inf")])
def test_a_budget_is_a_number(limit):
    with pytest.raises(SettingError):
        Budget(dollars=limit)


def test_holds_of_many_threads_add_up():
    budget = Budget(tokens=10_000_000)

    def work() -> None:
        for _ in range(300):
            with budget.hold(50, 0.5) as hold:
                hold.settle(7, 0.25)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (budget.used_tokens, budget.used_dollars) == (8 * 300 * 7, 8 * 300 * 0.25)
