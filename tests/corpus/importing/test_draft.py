"""Drafts: results find their calls, and nothing is lost where they do not."""

from __future__ import annotations

import json

import pytest
from hand_written import told

from vepa.corpus.importing import Draft, Notes
from vepa.corpus.importing.draft import as_text


@pytest.fixture
def draft():
    return Draft(Notes(), id="d")


def finished(draft):
    trajectory = draft.finish("desk/1", "openai-chat")
    return [told(step) for step in trajectory.steps], trajectory


def test_results_find_their_calls_by_id_in_any_order(draft):
    draft.call("a", {}, id="1")
    draft.call("b", {}, id="2")
    assert draft.result("two", id="2") == 1
    assert draft.result("one", id="1") == 0
    assert finished(draft)[0] == ["call a {} -> one", "call b {} -> two"]
    assert not draft.notes.remarks


def test_results_without_an_id_take_the_oldest_open_call(draft):
    for tool in ("a", "b", "a"):
        draft.call(tool, {})
    draft.result("first b", tool="b")
    draft.result("first a")
    draft.result("second a", tool="a")
    assert finished(draft)[0] == [
        "call a {} -> first a", "call b {} -> first b", "call a {} -> second a",
    ]  # fmt: skip


def test_a_result_without_its_call_is_an_observation(draft):
    draft.call("a", {}, id="1")
    draft.result("lost", id="9", tool="b")
    draft.result("one", id="1")
    draft.result("again", id="1")
    assert finished(draft)[0] == ["call a {} -> one", "[b] observation: lost", "observation: again"]
    assert draft.notes.remarks == {"result without a call": 1, "second result of a call": 1}


def test_a_call_id_that_is_used_again_means_the_later_call(draft):
    draft.call("a", {}, id="x")
    draft.call("b", {}, id="x")
    draft.result("for b", id="x")
    steps, trajectory = finished(draft)
    assert steps == ["call a {}", "call b {} -> for b"]
    assert [step.call.id for step in trajectory.steps] == ["x", "x~2"]
    assert draft.notes.remarks == {"call id used twice": 1}


def test_calls_without_an_id_get_one_that_no_other_call_has(draft):
    draft.call("a", {}, id="call-1")
    draft.call("b", {})
    draft.call("c", {}, id="")
    assert len({step.call.id for step in finished(draft)[1].steps}) == 3


@pytest.mark.parametrize(
    ("given", "known", "text"),
    [
        ({"a": 1}, {"a": 1}, None),
        ('{"a": 1}', {"a": 1}, None),
        ("", {}, None),
        (None, {}, None),
        ("ls -l", {}, "ls -l"),
        ('{"a": ', {}, '{"a": '),
        ("[1]", {}, "[1]"),
        ([1, "ü"], {}, '[1, "ü"]'),
        (7, {}, "7"),
        ('{"a": "' + "[" * 50, {}, '{"a": "' + "[" * 50),
        ("[" * 100_000, {}, "[" * 100_000),
    ],
)
def test_arguments_are_an_object_or_stay_the_text_that_was_written(draft, given, known, text):
    draft.call("a", given)
    call = finished(draft)[1].steps[0].call
    assert (call.arguments, call.text) == (known, text)


@pytest.mark.parametrize("given", ['{"a": NaN}', '{"a": Infinity}', '{"a": 1e999}'])
def test_numbers_that_are_no_json_leave_the_text(draft, given):
    draft.call("a", given)
    call = finished(draft)[1].steps[0].call
    assert (call.arguments, call.text) == ({}, given)


def test_an_error_and_what_belongs_to_a_result(draft):
    draft.call("a", {})
    draft.result("gone", ok=False, error="not_found", raw='{"e": 404}', seconds=0.5)
    result = finished(draft)[1].steps[0].result
    assert result.model_dump() == {
        "ok": False, "content": "gone", "error": "not_found", "truncated": False,
        "raw": '{"e": 404}', "seconds": 0.5,
    }  # fmt: skip


def test_thoughts_are_added_in_order(draft):
    at = draft.answer("yes", thought="one")
    draft.think(at, "two")
    draft.think(draft.user("hm"), "three")
    assert finished(draft)[0] == ["(one\ntwo) answer: yes", "(three) user: hm"]


def test_what_was_told_and_offered_beforehand(draft):
    draft.instruct("Be kind.")
    draft.instruct("")
    draft.instruct("Be short.")
    draft.offer("a", "first", {"type": "object"})
    draft.offer("a", "second")
    draft.offer("b", None, "no schema")
    draft.user("hi")
    trajectory = finished(draft)[1]
    assert trajectory.system == "Be kind.\n\nBe short."
    assert [(t.name, t.description, t.parameters) for t in trajectory.offered] == [
        ("a", "first", {"type": "object"}), ("b", None, {}),
    ]  # fmt: skip
    assert draft.notes.remarks == {"tool offered twice": 1}


def test_conversations_speakers_and_what_stands_beside(draft):
    draft.conversation = 0
    draft.user("a", speaker="Mira", written="Mira: a", seconds=1.0, cost=0.1)
    draft.conversation = 1
    draft.observe("b", speaker="shell")
    draft.label, draft.marked, draft.model, draft.meta = "refuse", 1, "m", {"k": 1}
    steps, trajectory = finished(draft)
    assert steps == ["#0 [Mira] user: a", "#1 [shell] observation: b"]
    first = trajectory.steps[0]
    assert (first.written, first.seconds, first.cost) == ("Mira: a", 1.0, 0.1)
    assert (trajectory.label, trajectory.marked, trajectory.model) == ("refuse", 1, "m")
    assert (trajectory.id, trajectory.format, trajectory.meta) == (
        "desk/1",
        "openai-chat",
        {"k": 1},
    )


def test_values_as_text():
    assert [as_text(each) for each in (None, "a", {"ü": [1]}, 0, False)] == [
        "", "a", json.dumps({"ü": [1]}, ensure_ascii=False), "0", "false",
    ]  # fmt: skip
