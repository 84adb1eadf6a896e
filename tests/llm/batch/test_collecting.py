"""Many requests through both vendors' batch APIs: collected, checked, counted, retried."""

from __future__ import annotations

import json

import pytest
from batch_clients import WORD, asked, gather, opened
from batch_servers import text_of

from vepa.llm import Budget, Ledger


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
    for wire in ("openai", "anthropic"):
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
