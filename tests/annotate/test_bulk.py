"""Annotation in bulk: the same bytes, the same reading, one repair, and nothing asked twice."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from batch_servers import BatchServer, text_of
from errands import errand
from model_servers import Data, ModelServer, Say

from vepa.annotate.asking import Annotator
from vepa.annotate.bulk import BulkAnnotation
from vepa.annotate.dual import DualAnnotation
from vepa.annotate.forecast import forecast
from vepa.annotate.items import items_of
from vepa.annotate.panel import Panel, load_panel
from vepa.annotate.reaching import check_bulk, open_bulk
from vepa.errors import BudgetError, ModelError, SettingError
from vepa.llm import Budget, Ledger, ModelSettings, open_model
from vepa.project import Project

PANEL, RULES = load_panel(Project())
MODELS = {"openai": "openai/gpt-4o-mini", "anthropic": "anthropic/claude-sonnet-4-5"}
GOOD = {
    "evidence": [],
    "rationale": "An ordinary step.",
    "triggers": [],
    "decision": "allow",
    "risk_source": "none",
    "harm": "none",
    "severity": "none",
    "confidence": 0.75,
    "event": [{"field": "action_kind", "value": "read"}],
}
MADE_UP = GOOD | {"evidence": [{"step": 0, "quote": "words that nobody wrote"}]}
CORPUS = [errand("one"), errand("two"), errand("three", user="Answer the mail of Ada.")]


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary-a")


@pytest.fixture
def batches():
    with BatchServer() as running:
        running.answer = lambda body: json.dumps(GOOD)
        yield running


def panel_at(batches, **more):
    """The shipped panel's two vendors, at a loopback server."""
    seats = [
        {
            "name": name,
            "vendor": wire,
            "model": MODELS[wire],
            "settings": {
                "api_base": batches.base(wire),
                "first_wait": 0.001,
                "longest_wait": 0.005,
                "max_attempts": 3,
            },
        }
        for name, wire in (("a", "openai"), ("b", "anthropic"))
    ]
    return Panel.model_validate({"panel": 1, "annotators": seats} | more)


def annotated(batches, folder, corpus=CORPUS, *, wait=True, panel=None, budget=None):
    """One run; the outcome, and what is still on its way."""
    ledger = Ledger(folder / "ledger.jsonl")
    panel = panel or panel_at(batches)
    reached = open_bulk(panel, RULES, folder, budget=budget, ledger=ledger, patience=20)
    readers = [reach.reader for reach in reached]
    with DualAnnotation(readers, folder, corpus) as annotation:
        bulk = BulkAnnotation(annotation, reached, budget)
        return annotation.write(bulk.run(wait=wait)), bulk.on_the_way


def test_every_step_has_two_labels_and_each_content_was_paid_for_once(batches, tmp_path):
    outcome, left = annotated(batches, tmp_path)
    distinct = {item.hash for each in CORPUS for item in items_of(each)}
    assert len(outcome.labels) == 2 * outcome.steps
    assert outcome.asked == 2 * len(distinct) == sum(batches.paid.values())
    assert set(batches.paid.values()) == {1}
    assert left == {"a": 0, "b": 0}
    assert {(label.annotator, label.model, label.origin) for label in outcome.labels} == {
        ("a", "served-openai", "model"),
        ("b", "served-anthropic", "model"),
    }
    again, _ = annotated(batches, tmp_path)
    assert (again.asked, list(again.labels)) == (0, list(outcome.labels))
    assert batches.calls.count("create") == 2
    by_outcome = Ledger(tmp_path / "ledger.jsonl").totals("outcome")
    assert {name: total.questions for name, total in by_outcome.items()} == {"stop": outcome.asked}


def test_both_vendors_work_at_the_same_time_and_a_run_need_not_wait(batches, tmp_path):
    batches.takes = 3600
    outcome, left = annotated(batches, tmp_path, wait=False)
    assert [made.wire for made in batches.batches] == ["openai", "anthropic"]
    assert left == {"a": outcome.items, "b": outcome.items}
    assert not outcome.labels
    batches.takes = 0
    outcome, left = annotated(batches, tmp_path, wait=False)
    while sum(left.values()):
        outcome, left = annotated(batches, tmp_path, wait=False)
    assert len(outcome.labels) == 2 * outcome.steps
    assert batches.calls.count("create") == 2


def test_a_run_that_does_not_wait_still_gets_past_a_busy_vendor(batches, tmp_path):
    batches.takes = 3600
    batches.fails = {"create": [429], "upload": [503]}
    outcome, left = annotated(batches, tmp_path, wait=False)
    assert set(left.values()) == {outcome.items}
    with pytest.raises(BudgetError):
        annotated(batches, tmp_path / "poor", wait=False, budget=Budget(tokens=100))


def test_one_repair_of_form_or_of_content_then_a_recorded_failure(batches, tmp_path):
    """Steps 1, 3, 4 of an errand: content repaired, form repaired, never usable."""

    def fate(body, before):
        return "garbled" if "step 3," in first_told(body) and len(spoken(body)) == 1 else "ok"

    def answer(body):
        repaired = len(spoken(body)) > 1
        bad = ("step 1," in first_told(body) and not repaired) or "step 4," in first_told(body)
        return json.dumps(MADE_UP if bad else GOOD)

    batches.fate, batches.answer = fate, answer
    outcome, _ = annotated(batches, tmp_path, CORPUS[:1])
    assert [(f.annotator, f.step, f.kind) for f in outcome.failures] == [
        ("a", 4, "unusable"),
        ("b", 4, "unusable"),
    ]
    assert "evidence.0.quote" in outcome.failures[0].reason
    assert {label.step for label in outcome.labels} == {1, 3}
    assert Counter(len(made.requests) for made in batches.batches) == {3: 4}
    again, _ = annotated(batches, tmp_path, CORPUS[:1])
    assert again.asked == 0


def test_what_no_vendor_can_answer_is_a_recorded_failure(batches, tmp_path):
    fates = {1: "declined", 3: "invalid", 4: "errored"}
    batches.fate = lambda body, before: fates[
        next(n for n in fates if f"step {n}," in text_of(body))
    ]
    outcome, _ = annotated(batches, tmp_path, CORPUS[:1])
    kinds = {(f.annotator, f.step): f.kind for f in outcome.failures}
    assert kinds == {
        (seat, step): kind
        for seat in "ab"
        for step, kind in ((1, "declined"), (3, "bad_request"), (4, "failed"))
    }


def spoken(body):
    """What was said, without the system's part: (who, text)."""
    found = []
    for message in body["messages"]:
        content = message["content"]
        if not isinstance(content, str):
            content = "".join(part["text"] for part in content)
        if message["role"] != "system":
            found.append((message["role"], content))
    return found


def told(body):
    """The system's part."""
    if "system" not in body:
        return body["messages"][0]["content"]
    system = body["system"]
    return system if isinstance(system, str) else "".join(part["text"] for part in system)


def first_told(body):
    return spoken(body)[0][1]


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
@pytest.mark.parametrize("first", ["content", "form"])
def test_a_model_receives_the_same_in_bulk_as_one_by_one(batches, tmp_path, wire, first):
    seat = next(seat for seat in panel_at(batches).annotators if seat.vendor == wire)
    with ModelServer() as server:
        bad = Data(MADE_UP) if first == "content" else Say('{"word": ')
        server.play([bad, Data(GOOD)])
        settings = ModelSettings(api_base=getattr(server, wire))
        model = open_model(MODELS[wire], settings=settings)
        item = next(items_of(CORPUS[0]))
        Annotator(seat, model, RULES, PANEL.trace_tokens).judge(item)
        one_by_one = [seen.body for seen in server.seen]
    batches.fate = lambda body, before: (
        "garbled" if first == "form" and len(spoken(body)) == 1 else "ok"
    )
    batches.answer = lambda body: json.dumps(
        MADE_UP if first == "content" and len(spoken(body)) == 1 else GOOD
    )
    only = CORPUS[0].model_copy(update={"steps": CORPUS[0].steps[:2]})
    annotated(batches, tmp_path, [only])
    bulk = [body for made in batches.batches if made.wire == wire for _, body in made.requests]
    assert len(bulk) == len(one_by_one) == 2
    for single, many in zip(one_by_one, bulk, strict=True):
        assert told(many) == told(single)
        assert [who for who, _ in spoken(many)] == [who for who, _ in spoken(single)]
        assert spoken(many)[0] == spoken(single)[0]
        assert spoken(many)[2:] == spoken(single)[2:]
    assert bulk[0]["model"] == one_by_one[0]["model"]
    form = {"openai": "response_format", "anthropic": "output_config"}[wire]
    assert json.dumps(bulk[0][form]).count("unconfirmed_or_over_privileged_action") == 1


def test_a_panel_without_a_batch_api_is_refused_before_anything_happens(batches, tmp_path):
    seats = [seat.model_dump() for seat in panel_at(batches).annotators]
    for other, word in (
        ({"model": "gemini/gemini-2.5-pro", "vendor": "google"}, "gemini"),
        ({"model": "recorded/pass-a", "otherwise": "openai/gpt-4o-mini"}, "missing in"),
    ):
        panel = Panel.model_validate({"panel": 1, "annotators": [seats[0] | other, seats[1]]})
        with pytest.raises(SettingError, match=word):
            check_bulk(panel)
    check_bulk(load_panel(Project(), "panel.demo.yaml")[0])
    assert not list(tmp_path.iterdir())


def test_a_script_beside_a_vendor_just_reads(batches, tmp_path):
    seats = [seat.model_dump() for seat in panel_at(batches).annotators]
    script = {"name": "s", "vendor": "house", "model": "scripted/annotator-a"}
    panel = Panel.model_validate({"panel": 1, "annotators": [script, seats[1]]})
    outcome, _ = annotated(batches, tmp_path, panel=panel)
    assert outcome.figures()["origins"] == {
        "model": outcome.steps,
        "scripted": outcome.steps,
    }


def test_no_key_no_batch(batches, tmp_path, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(ModelError) as error:
        annotated(batches, tmp_path)
    assert error.value.kind == "refused_key"
    assert not batches.calls


def test_a_budget_for_two_keeps_what_it_paid_for(batches, tmp_path):
    budget = Budget(tokens=45_000)
    batches.usage = (5_000, 100)
    with pytest.raises(BudgetError):
        annotated(batches, tmp_path, [errand(str(n), user=f"Mail {n}.") for n in range(30)],
                  budget=budget)  # fmt: skip
    assert budget.used_tokens <= 45_000
    assert batches.paid
    lines = sum(len((tmp_path / "judged" / f"{s}.jsonl").read_text().splitlines()) for s in "ab")
    assert lines == sum(batches.paid.values()), "every answer that was paid for is kept"


# -- what it would cost ---------------------------------------------------------------------------


def test_a_forecast_counts_and_prices_what_is_left(batches, tmp_path, monkeypatch):
    panel = panel_at(batches, budget={"dollars": 1.0})
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.delenv("OPENAI_API_KEY")
    plain = forecast(panel, RULES, tmp_path / "none", CORPUS)
    half = forecast(panel, RULES, tmp_path / "none", CORPUS, bulk=True)
    assert not (tmp_path / "none").exists()
    assert [seat.to_ask for seat in plain.seats] == [plain.items] * 2
    assert half.dollars == pytest.approx(plain.dollars / 2)
    assert plain.seats[0].dollars < plain.seats[0].at_most
    assert plain.enough
    poor = panel_at(batches, budget={"tokens": 10})
    assert forecast(poor, RULES, tmp_path / "none", CORPUS).enough is False


def test_a_forecast_leaves_out_what_is_judged_and_what_is_on_its_way(batches, tmp_path):
    batches.takes = 3600
    annotated(batches, tmp_path, CORPUS[:1], wait=False)
    panel = panel_at(batches)
    told = forecast(panel, RULES, tmp_path, CORPUS, bulk=True)
    assert [(seat.judged, seat.on_the_way) for seat in told.seats] == [(0, 3), (0, 3)]
    batches.takes = 0
    annotated(batches, tmp_path, CORPUS[:1])
    told = forecast(panel, RULES, tmp_path, CORPUS, bulk=True)
    assert [(seat.judged, seat.on_the_way) for seat in told.seats] == [(3, 0), (3, 0)]
    assert [seat.to_ask for seat in told.seats] == [told.items - 3] * 2


def test_an_unknown_price_is_told_as_that(batches, tmp_path):
    seats = [seat.model_dump() for seat in panel_at(batches).annotators]
    arbiter = {"name": "c", "vendor": "x", "model": "openai/nobody-knows"}
    panel = Panel.model_validate(
        {"panel": 1, "annotators": seats, "arbiter": arbiter, "budget": {"dollars": 5}}
    )
    corpus = [errand(str(n), user=f"Mail {n}.") for n in range(20)]
    told = forecast(panel, RULES, tmp_path, corpus)
    assert told.seats[2].to_ask == round(told.items * 0.065)
    assert (told.seats[2].dollars, told.dollars, told.enough) == (None, None, None)
