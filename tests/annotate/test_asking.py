"""One reader: what it receives, its one repair, and what becomes of everything else it says."""

from __future__ import annotations

import re

import pytest
from errands import MODEL, asked_at, errand, hostile
from gullible import heard_in
from model_servers import Data, Fail, Refuse, Say

from vepa.annotate.asking import Annotator, Failure
from vepa.annotate.items import items_of
from vepa.annotate.panel import load_panel
from vepa.corpus.labels import Label
from vepa.corpus.trajectory import Trajectory
from vepa.errors import BudgetError, ModelError
from vepa.llm import Budget, Manifest, Recording, open_model
from vepa.project import Project

PANEL, RULES = load_panel(Project())
ITEMS = list(items_of(errand()))
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


def reader(server, **more):
    model = open_model(MODEL, settings=asked_at(server), **more)
    return Annotator(PANEL.annotators[0], model, RULES, PANEL.trace_tokens)


def requests_of(trajectory):
    blind = Annotator(PANEL.annotators[0], None, RULES, PANEL.trace_tokens)
    return [blind.request(item) for item in items_of(trajectory)]


# -- what a reader receives -----------------------------------------------------------------------


def test_nothing_about_where_a_step_comes_from_changes_a_byte():
    plain = [request.bytes for request in requests_of(errand())]
    beside = {
        "id": "secret-refuse",
        "task": "leaks-salaries",
        "persona": "petra",
        "model": "scripted/gullible",
        "seed": 7,
        "label": "refuse",
        "marked": 1,
        "format": "atbench",
        "meta": {"intended": "unauthorized_information_disclosure"},
    }
    other = Trajectory.model_validate(errand().model_dump() | beside)
    assert [request.bytes for request in requests_of(other)] == plain


def test_both_annotators_and_a_script_receive_the_same_bytes():
    seats = [*PANEL.annotators, *load_panel(Project(), "panel.demo.yaml")[0].annotators]
    readers = [Annotator(seat, None, RULES, PANEL.trace_tokens) for seat in seats]
    assert len({each.request(ITEMS[-1]).bytes for each in readers}) == 1


@pytest.mark.parametrize("each", hostile(), ids=lambda each: each.name)
def test_nothing_of_a_hostile_trajectory_stands_outside_of_the_data(each):
    def heard(trajectory):
        told = []
        for request in requests_of(trajectory):
            text = heard_in([message.content for message in request.messages])
            told.append(re.sub(r"[0-9a-f]{16}", "TAG", text))
        return told

    assert heard(each.trace) == heard(errand())


# -- what it says ---------------------------------------------------------------------------------


def test_a_good_answer_is_a_label_with_its_provenance(server):
    server.play([Data(GOOD)])
    label = reader(server).judge(ITEMS[0])
    assert isinstance(label, Label)
    assert (label.annotator, label.origin) == ("a", "model")
    assert (label.taxonomy, label.template) == ("agentdog-14/1.0", "annotate/1.0")
    assert (label.item, label.step) == (ITEMS[0].hash, ITEMS[0].step)
    assert label.judgement.event == {"action_kind": "read"}


def test_a_quote_that_nobody_wrote_gets_one_repair(server):
    server.play([Data(MADE_UP), Data(GOOD)])
    assert isinstance(reader(server).judge(ITEMS[0]), Label)
    assert len(server.seen) == 2
    assert "does not hold the quoted words" in server.seen[1].last
    assert "words that nobody wrote" not in server.seen[1].last


def test_a_second_bad_answer_is_a_recorded_failure(server):
    server.play([Data(MADE_UP), Data(MADE_UP), Data(GOOD)])
    failure = reader(server).judge(ITEMS[0])
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.annotator, failure.item) == ("unusable", "a", ITEMS[0].hash)
    assert "evidence.0.quote" in failure.reason
    assert len(server.seen) == 2


def test_form_and_content_share_the_one_repair(server):
    server.play([Say("I would rather talk."), Data(MADE_UP), Data(GOOD)])
    failure = reader(server).judge(ITEMS[0])
    assert isinstance(failure, Failure)
    assert len(server.seen) == 2


@pytest.mark.parametrize(
    ("plan", "kind"),
    [([Refuse()], "declined"), ([Say("No."), Say("No.")], "malformed"), ([Fail(400)], None)],
    ids=["declined", "malformed", "bad request"],
)
def test_what_is_no_answer_is_a_recorded_failure(server, plan, kind):
    server.play(plan)
    failure = reader(server).judge(ITEMS[0])
    assert isinstance(failure, Failure)
    assert kind in (None, failure.kind)


def test_a_refused_key_ends_it(server):
    server.play([Fail(401)])
    with pytest.raises(ModelError) as error:
        reader(server).judge(ITEMS[0])
    assert error.value.kind == "refused_key"


def test_a_used_up_budget_keeps_what_is_done(server):
    server.play([Data(GOOD)])
    one = reader(server, budget=Budget(tokens=20_000))
    found = []
    with pytest.raises(BudgetError):
        found.extend(judged for _, judged in one.judge_many(ITEMS * 40, workers=1))
    assert found
    assert all(isinstance(each, Label) for each in found)


def test_many_come_in_order_and_failures_stand_among_them(server):
    server.play(lambda seen: Data(GOOD if "step 1," in seen.last else MADE_UP))
    done = []
    results = list(reader(server).judge_many(ITEMS, workers=3, keep=done.append))
    assert [item for item, _ in results] == ITEMS
    assert [isinstance(judged, Label) for _, judged in results] == [
        item.step == 1 for item in ITEMS
    ]
    assert {each.item for each in done} == {item.hash for item in ITEMS}


def test_a_recorded_judgement_is_marked_as_that(tmp_path):
    from vepa.annotate.shape import item_of
    from vepa.files import canonical_json
    from vepa.llm import Message

    manifest = Manifest(
        model="some model", date="2026-11-30", made="by hand, for this test", licence="CC0-1.0"
    )
    recording = Recording.create(tmp_path / "pass-x", manifest)
    plain = Annotator(PANEL.annotators[0], None, RULES, PANEL.trace_tokens)
    message = Message(role="assistant", content=canonical_json(GOOD))
    recording.add(item_of(ITEMS[0], plain.prompt), message)
    model = open_model("recorded/pass-x", recorded=tmp_path)
    one = Annotator(PANEL.annotators[0], model, RULES, PANEL.trace_tokens)
    label, missing = one.judge(ITEMS[0]), one.judge(ITEMS[1])
    assert (label.origin, label.model) == ("recorded", "some model")
    assert isinstance(missing, Failure)
    assert missing.kind == "not_recorded"
