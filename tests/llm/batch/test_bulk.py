"""Many requests through both vendors' batch APIs: collected, retried, counted, never paid twice."""

from __future__ import annotations

import json
import time

import pytest
from batch_clients import FAST, KEY, WORD, asked, client, gather
from batch_servers import BatchServer, text_of

from vepa.errors import BudgetError, ModelError, SettingError
from vepa.llm import Budget, Ledger, ModelSettings, Prices
from vepa.llm.batch import open_batch_model
from vepa.llm.batch.vendors import Limits

WIRES = ["openai", "anthropic"]


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


@pytest.fixture
def server():
    with BatchServer() as running:
        yield running


@pytest.fixture(params=WIRES)
def wire(request):
    return request.param


def opened(server, wire, folder, limits=None, **more):
    return client(wire, server.base(wire), folder, limits, **more)


def test_answers_come_back_checked_and_are_counted_once(server, wire, tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    budget = Budget(tokens=100_000)
    with opened(server, wire, tmp_path, ledger=ledger, budget=budget) as model:
        found = gather(model, range(20))
    assert all(each.reply.data == {"word": "yes"} for each in found.values())
    one = found[0].reply
    assert (one.source, one.model, one.finish) == ("provider", f"served-{wire}", "stop")
    assert (one.usage.prompt, one.usage.completion) == (100, 10)
    assert len(server.batches) == 1
    assert set(server.paid.values()) == {1}
    assert len(server.paid) == 20
    assert budget.used_tokens == 20 * 110
    entries = list(ledger.entries())
    assert {e.request for e in entries} == {asked(n).content_hash for n in range(20)}
    assert len(entries) == 20
    half = {"openai": (7.5e-8, 3e-7), "anthropic": (1.5e-6, 7.5e-6)}[wire]
    assert entries[0].dollars == pytest.approx(100 * half[0] + 10 * half[1])


def test_a_later_process_pays_for_nothing_again(server, wire, tmp_path):
    with opened(server, wire, tmp_path) as model:
        first = gather(model, range(5))
    with opened(server, wire, tmp_path) as model:
        again = gather(model, range(8))
    assert {n: again[n].reply for n in range(5)} == {n: first[n].reply for n in range(5)}
    assert set(server.paid.values()) == {1}
    assert [len(made.requests) for made in server.batches] == [5, 3]


def test_what_is_submitted_is_collected_by_a_later_process(server, wire, tmp_path):
    server.takes = 0.1
    with opened(server, wire, tmp_path) as model:
        assert not model.step({model.key_of(asked(1)): lambda: asked(1)})
        assert [(each.count, each.id) for each in model.on_the_way()] == [(1, "batch_0")]
    with opened(server, wire, tmp_path) as model:
        assert gather(model, [1])[1].reply.data == {"word": "yes"}
    assert server.calls.count("create") == 1


def test_failed_requests_are_asked_again_and_given_up_after_so_many_times(server, wire, tmp_path):
    fates = {
        "request 1": "errored",
        "request 2": "expired",
        "request 3": "invalid",
        "request 5": "canceled",
    }

    def fate(body, before):
        named = text_of(body)
        if named == "request 4":
            return "errored"
        return fates.get(named, "ok") if not before else "ok"

    server.fate = fate
    with opened(server, wire, tmp_path) as model:
        found = gather(model, range(6))
    assert {n for n, each in found.items() if each.error is not None} == {3, 4}
    assert found[3].error.kind == "bad_request"
    assert "3 times" in str(found[4].error)
    assert [len(made.requests) for made in server.batches] == [6, 4, 1]
    assert set(server.paid.values()) == {1}
    assert len(server.paid) == 4
    with opened(server, wire, tmp_path) as model:  # given up is given up, in a later run as well
        assert gather(model, [3, 4])[4].error.kind == "failed"
    assert len(server.batches) == 3


def test_an_answer_without_its_shape_is_handed_on_for_the_repair(server, wire, tmp_path):
    server.fate = lambda body, before: "garbled" if text_of(body) == "request 1" else "ok"
    with opened(server, wire, tmp_path) as model:
        found = gather(model, [0, 1])
    assert found[0].fault is None
    assert "not JSON" in found[1].fault
    assert found[1].reply.message.content == '{"word": '
    assert found[1].reply.data is None


def test_a_declined_request_is_an_answer(server, wire, tmp_path):
    server.fate = lambda body, before: "declined"
    with opened(server, wire, tmp_path) as model:
        assert gather(model, [0])[0].reply.finish == "declined"


def test_a_line_that_nobody_can_read_is_given_up_because_it_may_be_paid(server, wire, tmp_path):
    server.fate = lambda body, before: "broken" if text_of(body) == "request 1" else "ok"
    with opened(server, wire, tmp_path) as model:
        found = gather(model, [0, 1])
    assert found[1].error.kind == "malformed"
    assert found[0].reply is not None
    assert set(server.paid.values()) == {1}
    assert len(server.batches) == 1


def test_busy_polls_and_cut_downloads_only_cost_time(server, wire, tmp_path):
    server.fails = {"standing": [429, 500], "results": [529, 500]}
    server.cuts = 2
    with opened(server, wire, tmp_path) as model:
        found = gather(model, range(30))
    assert all(each.reply is not None for each in found.values())
    assert server.calls.count("create") == 1
    assert server.calls.count("results") == 5


def test_a_lost_answer_of_the_paid_call_is_looked_for_and_found(server, wire, tmp_path):
    server.drops = {"create": 1}
    server.shows_after = 0.05
    with opened(server, wire, tmp_path) as model:
        found = gather(model, range(10))
    assert all(each.reply is not None for each in found.values())
    assert server.calls.count("create") == 1
    assert set(server.paid.values()) == {1}


def test_a_call_that_was_not_taken_is_sent_again_only_after_the_doubt(server, wire, tmp_path):
    server.fails = {"create": [500]}
    began = time.monotonic()
    with opened(server, wire, tmp_path) as model:
        gather(model, range(3))
    assert time.monotonic() - began >= FAST.doubt
    assert server.calls.count("create") == 2
    assert server.calls.count("list") >= 2
    assert set(server.paid.values()) == {1}


def test_openai_s_file_is_deleted_before_anything_is_sent_again(server, tmp_path):
    """A call that is still on its way when the doubt ends comes to nothing."""
    server.drops = {"create": 1}
    server.shows_after = 3600
    server.takes = 0.3
    with opened(server, "openai", tmp_path) as model:
        gather(model, range(3))
    assert server.calls.count("delete") == 1
    assert all(server.worked(made) for made in server.batches)
    assert [made.end for made in server.batches] == ["failed", "completed"]
    assert set(server.paid.values()) == {1}


def test_a_batch_that_might_be_ours_holds_everything_up_until_it_shows_whose_it_is(
    server, tmp_path
):
    server.drops = {"create": 1}
    server.takes = 2 * FAST.doubt
    with opened(server, "anthropic", tmp_path) as model:
        wanted = {model.key_of(asked(n)): (lambda n=n: asked(n)) for n in range(3)}
        model.step(wanted)
        other = [(f"theirs-{n}", {"messages": [{"content": "x"}]}) for n in range(3)]
        server.make("anthropic", other)
        gather(model, range(3))
    assert server.calls.count("create") == 1
    assert len(server.paid) == 4
    assert max(server.paid.values()) == 3, "only the other's three equal requests"


def test_two_batches_in_doubt_do_not_take_each_other_for_a_stranger(server, tmp_path):
    server.drops = {"create": 2}
    with opened(server, "anthropic", tmp_path, limits=Limits(2, 10**6)) as model:
        gather(model, range(4))
    assert server.calls.count("create") == 2
    assert set(server.paid.values()) == {1}


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


def test_a_batch_that_the_vendor_forgot_is_not_sent_again_behind_anyone_s_back(
    server, wire, tmp_path
):
    server.takes = 60
    with opened(server, wire, tmp_path) as model:
        model.step({model.key_of(asked(1)): lambda: asked(1)})
    server.batches.clear()
    with opened(server, wire, tmp_path) as model, pytest.raises(ModelError, match="batch_0"):
        gather(model, [1])
    assert server.calls.count("create") == 1


def test_one_process_at_a_time(server, wire, tmp_path):
    with (
        opened(server, wire, tmp_path),
        pytest.raises(SettingError, match="another process"),
        opened(server, wire, tmp_path),
    ):
        pass


def test_tools_are_not_asked_in_bulk_and_other_vendors_are_named(server, tmp_path):
    from vepa.llm import ToolOffer

    offer = ToolOffer(name="t", description="t", parameters={"type": "object"})
    with opened(server, "openai", tmp_path) as model, pytest.raises(SettingError, match="tools"):
        model.key_of(asked(1).model_copy(update={"tools": (offer,)}))
    with pytest.raises(SettingError, match="anthropic/NAME"):
        open_batch_model("gemini/gemini-2.5-pro", tmp_path / "b")


def test_the_ledger_has_one_line_each_when_collecting_was_cut_off(
    server, wire, tmp_path, monkeypatch
):
    """Killed between the ledger and the journal: the answers are fetched again, not told again."""
    from vepa.llm.batch.journal import BatchJournal

    ledger = Ledger(tmp_path / "ledger.jsonl")
    with monkeypatch.context() as cut:
        cut.setattr(BatchJournal, "collect", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with (
            opened(server, wire, tmp_path, ledger=ledger) as model,
            pytest.raises(KeyboardInterrupt),
        ):
            gather(model, range(4))
    with opened(server, wire, tmp_path, ledger=ledger) as model:
        gather(model, range(4))
    assert len(list(ledger.entries())) == 4
    assert server.calls.count("create") == 1


def test_structured_answers_are_asked_for_as_each_vendor_takes_them(server, tmp_path):
    for wire in WIRES:
        for mode in ("auto", "schema", "tool", "json"):
            with opened(server, wire, tmp_path / wire / mode, structured=mode) as model:
                model.step({model.key_of(asked(1)): lambda: asked(1)})
    bodies = server.bodies()
    forms = [sorted(set(body) & {"response_format", "output_config", "tools", "tool_choice"})
             for body in bodies]  # fmt: skip
    tool = ["tool_choice", "tools"]
    assert forms == [
        ["response_format"], ["response_format"], tool, ["response_format"],
        ["output_config"], ["output_config"], tool, [],
    ]  # fmt: skip
    assert bodies[0]["response_format"]["json_schema"]["schema"] == WORD.schema_
    assert bodies[4]["output_config"]["format"] == {"type": "json_schema", "schema": WORD.schema_}
    assert bodies[6]["tools"][0]["input_schema"] == WORD.schema_
    assert bodies[6]["tool_choice"] == {"type": "tool", "name": "word"}
    assert "JSON schema" in bodies[7]["system"]
    assert {json.dumps(body).count("request 1") for body in bodies} == {1}


def test_a_model_without_a_batch_price_costs_half(tmp_path):
    from vepa.llm import estimate
    from vepa.llm.prices import _price_map

    plain = next(
        name
        for name, entry in _price_map().items()
        if entry.get("input_cost_per_token", 0) > 0
        and entry.get("output_cost_per_token", 0) > 0
        and "input_cost_per_token_batches" not in entry
    )
    assert estimate(plain, 100, 10, batch=True) == pytest.approx(estimate(plain, 100, 10) / 2)
    assert estimate("openai/nobody-knows", 1, 1, batch=True) is None
