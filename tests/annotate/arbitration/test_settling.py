"""What stands in the end: agreed, settled by an arbiter or a person, open, not judged by both."""

from __future__ import annotations

import pytest
from disputed import ALLOW, REFUSE, item, label
from errands import errand

from vepa.annotate.asking import Failure
from vepa.annotate.items import items_of
from vepa.annotate.settling import differences, opinions_of, settle, weakest


def failure(step, annotator):
    return Failure(
        trajectory=step.trajectory,
        step=step.step,
        item=step.hash,
        annotator=annotator,
        kind="declined",
        reason="the model declined",
    )


def settled(judged, verdict=None):
    """What stands about the one content, given a verdict: who, judgement, origin."""
    if verdict is None:
        return settle(opinions_of(judged).values(), {})
    who, judgement, origin = verdict
    given = label(item(0), who, judgement, origin=origin, at="2026-01-01T00:00:00Z", note="n")
    return settle(opinions_of(judged).values(), {given.item: given})


def both(one, other):
    step = item(0)
    return [label(step, "a", one), label(step, "b", other)]


PRIMARY = REFUSE.model_copy(
    update={"triggers": ["choosing_malicious_tool", "incorrect_tool_parameters"]}
)


@pytest.mark.parametrize(
    ("other", "found"),
    [
        (REFUSE, []),
        (REFUSE.model_copy(update={"severity": "high", "confidence": 0.1}), []),
        (REFUSE.model_copy(update={"decision": "allow"}), ["decision"]),
        (PRIMARY, ["triggers"]),
        (ALLOW, ["decision", "triggers"]),
    ],
)
def test_readers_agree_on_the_decision_and_the_set_of_triggers(other, found):
    assert differences(REFUSE, other) == found
    assert opinions_of(both(REFUSE, other))[item(0).hash].reasons == tuple(found)


def test_the_order_of_triggers_is_no_dispute_and_is_told():
    turned = PRIMARY.model_copy(update={"triggers": PRIMARY.triggers[::-1], "severity": "high"})
    (stands,) = settled(both(PRIMARY, turned)).settled
    assert (stands.how, stands.differs) == ("agreed", ["primary", "severity"])


def test_of_two_who_agree_the_more_sure_one_is_quoted_and_the_first_on_a_tie():
    surer = ALLOW.model_copy(update={"confidence": 0.9, "rationale": "Surely."})
    (stands,) = settled(both(ALLOW, surer)).settled
    assert (stands.judgement, stands.by) == (surer, ["b", "a"])
    (tied,) = settled(both(ALLOW, ALLOW.model_copy(update={"rationale": "Other words."}))).settled
    assert (tied.judgement, tied.by) == (ALLOW, ["a", "b"])


def test_a_person_goes_before_everybody_and_an_arbiter_only_where_readers_differ():
    person, arbiter = ("ada", REFUSE, "person"), ("c", REFUSE, "recorded")
    assert settled(both(ALLOW, ALLOW), person).settled[0].how == "person"
    assert settled(both(ALLOW, ALLOW), arbiter).settled[0].how == "agreed"
    stands = settled(both(ALLOW, REFUSE), arbiter).settled[0]
    assert (stands.how, stands.origin, stands.by) == ("arbiter", "recorded", ["c"])
    assert (stands.judgement, stands.at, stands.note) == (REFUSE, "2026-01-01T00:00:00Z", "n")


def test_a_failure_is_a_dispute_and_one_reader_is_not_enough():
    step = item(0)
    failed = settled([label(step, "a", ALLOW), failure(step, "b")])
    assert [each.reasons for each in failed.open] == [("failure",)]
    assert settled([failure(step, "a"), failure(step, "b")]).open[0].reasons == ("failure",)
    alone = settled([label(step, "a", ALLOW)])
    assert (len(alone.unjudged), alone.open, alone.settled) == (1, [], [])
    # A reader that failed at first and judged later, as in a second run, has judged.
    assert settled([failure(step, "b"), *both(ALLOW, ALLOW)]).settled[0].how == "agreed"


@pytest.mark.parametrize(
    ("origins", "worst"),
    [
        (("model", "person"), "model"),
        (("model", "recorded"), "recorded"),
        (("recorded", "scripted"), "scripted"),
        (("person", "person"), "person"),
    ],
)
def test_what_rests_on_several_is_worth_as_much_as_the_weakest(origins, worst):
    assert weakest(origins) == weakest(origins[::-1]) == worst
    step = item(0)
    judged = [
        label(step, name, ALLOW, origin=origin) for name, origin in zip("ab", origins, strict=True)
    ]
    assert settled(judged).settled[0].origin == worst


def test_every_step_of_a_content_gets_its_label_in_the_order_of_the_corpus():
    steps = [step for name in ("two", "one") for step in items_of(errand(name))]
    judged = [label(step, name, ALLOW) for name in ("a", "b") for step in steps]
    settlement = settle(opinions_of(judged).values(), {})
    places = [(each.trajectory, each.step) for each in settlement.settled]
    assert places == [(step.trajectory, step.step) for step in steps]
