"""Calls of a model, each with the history before it, become one course of events."""

from __future__ import annotations

import random

import pytest
from hand_written import told

from vepa.corpus.importing.draft import Draft
from vepa.corpus.importing.joining import Joined
from vepa.corpus.importing.messages import Asked, Given, Said
from vepa.corpus.importing.report import Notes

U, A = (lambda text: Said("user", text)), (lambda text: Said("assistant", text))


def _steps(*calls):
    """Steps of chats (two lists) and runs of tools (a call and what it gave)."""
    joined = Joined(Notes())
    for call in calls:
        if isinstance(call[0], Asked):
            joined.tool(*call)
        else:
            joined.chat(*call[:2], **(call[2] if len(call) > 2 else {}))
    draft = Draft(joined.notes)
    joined.write(draft)
    trajectory = draft.finish("x", "test")
    return [told(step) for step in trajectory.steps], dict(joined.notes.remarks), trajectory


def test_each_call_adds_only_what_is_new_in_it():
    one = [U("1")]
    two = [*one, A("a"), U("2")]
    steps, remarks, _ = _steps((one, [A("a")]), (two, [A("b")]), ([*two, A("b"), U("2")], [A("b")]))
    assert steps == ["user: 1", "answer: a", "user: 2", "answer: b", "user: 2", "answer: b"]
    assert remarks == {}


@pytest.mark.parametrize("history", [[A("a"), U("2")], [Said("system", "s"), U("2")], [U("2")]])
def test_a_history_that_was_cut_doubles_nothing(history):
    steps, _, _ = _steps(([U("1")], [A("a")]), ([U("1"), A("a"), U("2")], [A("b")]),
                         ([*history, A("b"), U("3")], [A("c")]))  # fmt: skip
    assert steps == ["user: 1", "answer: a", "user: 2", "answer: b", "user: 3", "answer: c"]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("window", "words"), [(None, "ab"), (7, "abcdefgh"), (12, "abcd")])
def test_any_talk_is_told_once_whatever_is_said_again(window, words, seed):
    chance = random.Random(seed)
    talk, calls = [], []
    for _ in range(25):
        talk += [U(chance.choice(words)) for _ in range(chance.randrange(1, 3))]
        answer = A(chance.choice(words))
        shown = talk[-window:] if window else list(talk)
        if chance.random() < 0.2:
            calls.append((shown, []))  # it failed, and was sent again
        calls.append((shown, [answer]))
        talk.append(answer)
    kinds = {"user": "user", "assistant": "answer"}
    assert _steps(*calls)[0] == [f"{kinds[each.role]}: {each.text}" for each in talk]


def test_what_the_history_holds_and_no_call_said_is_told_too():
    steps, _, _ = _steps(([U("1")], []), ([U("1"), A("unseen"), U("2")], [A("b")]))
    assert steps == ["user: 1", "answer: unseen", "user: 2", "answer: b"]


def test_the_same_call_sent_twice_is_told_once_and_another_answer_to_it_is_not_lost():
    assert _steps(([U("1")], [A("a")]), ([U("1")], [A("a")]))[0] == ["user: 1", "answer: a"]
    later = ([U("1")], [A("a")]), ([U("1"), A("a"), U("2")], [A("b")]), ([U("1")], [A("a")])
    steps, remarks, _ = _steps(*later)
    assert steps == ["user: 1", "answer: a", "user: 2", "answer: b"]
    assert remarks == {"call of a model that says nothing new": 1}
    twice = _steps(([U("1")], [A("a")]), ([U("1")], [A("other")]))[0]
    assert twice == ["user: 1", "answer: a", "answer: other"]


def test_an_answer_that_is_the_whole_history_again():
    steps, _, _ = _steps(([U("1")], [U("1"), A("a"), A("b")]))
    assert steps == ["user: 1", "answer: a", "answer: b"]


def test_spelling_of_arguments_ids_and_thoughts_do_not_make_a_message_new():
    first = Said("assistant", "", "I think.", (Asked("f", '{"b": 1, "a": 2}', "id-1"),))
    again = Said("assistant", "", None, (Asked("f", {"a": 2, "b": 1}),))
    steps, _, _ = _steps(([U("1")], [first]), ([U("1"), again], [A("done")]))
    assert steps == ["user: 1", '(I think.) call f {"b": 1, "a": 2}', "answer: done"]


def test_the_model_saw_what_its_message_says_and_the_run_is_the_raw_answer():
    call = Said("assistant", calls=(Asked("f", {}, "k"),))
    shown = Said("user", results=(Given("short", "k"),))
    run = (Asked("f", {}, "k"), Given("long answer", "k", seconds=2.0))
    _, remarks, trajectory = _steps(
        ([U("1")], [call]), run, ([U("1"), call, shown], [A("end")])
    )  # fmt: skip
    result = trajectory.steps[1].result
    assert (result.content, result.raw, result.seconds, result.ok) == (
        "short", "long answer", 2.0, True,
    )  # fmt: skip
    assert remarks == {}


def test_the_model_s_time_is_told_of_the_first_step_of_its_answer():
    calls = Said("assistant", calls=(Asked("f", {}), Asked("g", {})))
    _, _, trajectory = _steps(
        ([U("1")], [], {"seconds": 9.0}), ([U("1"), U("2")], [calls], {"seconds": 3.0})
    )
    assert [step.seconds for step in trajectory.steps] == [None, None, 3.0, None]


def test_runs_without_ids_find_their_calls_by_what_they_were_called_with():
    calls = Said("assistant", calls=(Asked("f", {"n": 1}), Asked("f", {"n": 2})))
    steps, _, _ = _steps(
        ([U("go")], [calls]),
        (Asked("f", {"n": 2}), Given("two")),
        (Asked("f", {"n": 1}), Given("one")),
        (Asked("f", {"n": 3}), Given("three")),
    )
    assert steps == [
        "user: go",
        'call f {"n": 1} -> one',
        'call f {"n": 2} -> two',
        'call f {"n": 3} -> three',
    ]


def test_a_result_of_no_call_and_a_second_one_are_remarked_and_kept():
    call = Said("assistant", calls=(Asked("f", {}, "k"),))
    one, two = (Said("user", results=(Given(text, "k", "f"),)) for text in ("1", "2"))
    lost = Said("user", results=(Given("3", "nobody", "g"),))
    steps, remarks, _ = _steps(([call, one, two, lost], []))
    assert steps == ["call f {} -> 1", "[f] observation: 2", "[g] observation: 3"]
    assert remarks == {"second result of a call": 1, "result without a call": 1}


def test_speakers_are_told_where_there_are_several():
    alone, _, _ = _steps(([U("1")], [A("a")], {"agent": "solo"}))
    assert alone == ["user: 1", "answer: a"]
    both, _, trajectory = _steps(
        ([Said("system", "lead"), U("1")], [A("write")], {"agent": "boss"}),
        ([Said("system", "write"), U("of the sea")], [A("blue")],
         {"agent": "poet", "asked_by": "boss"}),
    )  # fmt: skip
    assert both == [
        "user: 1",
        "[boss] answer: write",
        "[boss] answer: of the sea",
        "[poet] answer: blue",
    ]
    assert trajectory.system == "boss:\nlead\n\npoet:\nwrite"
