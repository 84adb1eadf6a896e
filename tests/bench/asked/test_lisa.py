"""The LiSA-style baseline, step by step, against a scripted model."""

from __future__ import annotations

import numpy as np
import pytest
from blind_spot import SPACE, events, learner, scored
from voices import Voice, colour_judge

from vepa.bench.baselines import make_baselines
from vepa.bench.baselines.asked.lisa import memory as module
from vepa.bench.baselines.asked.lisa.constants import GATE, NEAR, REFRESH, SHOWN, WRITTEN
from vepa.bench.baselines.asked.lisa.grouping import average_linkage
from vepa.bench.baselines.asked.lisa.memory import Broad, Local, Memory, lower_bound
from vepa.corpus.events import EventRecord, EventTable
from vepa.errors import ModelError

PLAIN = {"shape": "rod", "place": "north", "day": "monday"}


def table(*rows):
    """Events from (colour, size, more fields or label)."""
    records = [
        EventRecord(
            id=f"e{at}", event={**PLAIN, "colour": colour, "size": size, **more}, label=label
        )
        for at, (colour, size, label, more) in enumerate(rows)
    ]
    return EventTable.from_records(records, SPACE)


def blue(label="refuse", size="large", **more):
    return ("blue", size, label, more)


#: Five failures of one kind, two of them distinct: the guard allows what is blue.
FIVE = [blue(shape=shape) for shape in ("rod", "ball", "rod", "ball", "rod")]


def made(voice):
    return make_baselines(["lisa"], SPACE, SPACE.names, 0, voice.asking(embedder="hashing/256"))[
        "lisa"
    ]


def test_lower_bounds_by_the_closed_form():
    for support in range(12):  # Beta(1 + s, 1) has the quantile p ** (1 / (1 + s))
        assert lower_bound(support, 0) == pytest.approx(0.05 ** (1 / (1 + support)), abs=1e-8)
        assert lower_bound(0, support) == pytest.approx(1 - 0.95 ** (1 / (1 + support)), abs=1e-8)
    assert lower_bound(10, 2) < lower_bound(11, 2) < lower_bound(11, 1)


def test_average_linkage_by_hand():
    def at(*degrees):
        return np.array([[np.cos(np.radians(d)), np.sin(np.radians(d))] for d in degrees])

    assert average_linkage(np.zeros((0, 2)), 0.8) == []
    assert average_linkage(at(10), 0.8) == [[0]]
    # 0 and 20 join first (cosine .940); 45 is .807 from them on average (.707 and .906).
    vectors = at(0, 90, 45, 20)
    assert average_linkage(vectors, 0.80) == [[0, 2, 3], [1]]
    assert average_linkage(vectors, 0.81) == [[0, 3], [1], [2]]
    # Not single linkage: a chain whose ends are far apart does not become one group.
    assert average_linkage(at(0, 30, 60, 90), 0.86) == [[0, 1], [2, 3]]
    assert average_linkage(np.tile(at(5), (3, 1)), 1.0) == [[0, 1, 2]]


def test_each_distinct_event_is_asked_once_and_before_feedback_the_base_guard_decides():
    lisa, voice = learner()
    batch = events(60, 0)
    said = lisa.predict(batch)
    assert np.array_equal(said.labels, (batch.codes[:, 0] == 1).astype(np.int8))
    assert set(said.confidence) == {0.75}
    asked = [lines[-1]["event"] for lines in voice.of("judge")]
    assert len(asked) == len(np.unique(batch.codes, axis=0))
    assert all(len(lines) == 1 for lines in voice.of("judge"))  # no policy, no other event
    lisa.predict(batch)
    assert len(voice.of("judge")) == len(asked)
    assert lisa.to_dict()["reports"] == []


def test_feedback_that_the_standing_decision_met_is_no_report():
    lisa, _ = learner()
    lisa.learn(table(("red", "large", "refuse", {}), ("green", "small", "allow", {}), blue()))
    assert [report["label"] for report in lisa.to_dict()["reports"]] == ["refuse"]
    assert lisa.to_dict()["reports"][0]["event"]["colour"] == "blue"


def test_nothing_is_written_before_enough_reports_have_come():
    lisa, voice = learner()
    lisa.learn(table(*FIVE[: REFRESH - 1]))
    assert voice.of("lisa-policy") == []
    assert lisa.memory.empty
    lisa.learn(table(FIVE[REFRESH - 1]))
    assert len(voice.of("lisa-policy")) == 1
    assert lisa.to_dict()["refreshes"] == 1


def test_a_group_of_one_label_becomes_a_policy_that_reaches_beyond_its_reports():
    lisa, voice = learner()
    lisa.learn(table(*FIVE))
    told = lisa.to_dict()
    assert told["groups"] == [{"reports": [0, 1, 2, 3, 4], "kind": "one-label"}]
    (policy,) = told["broad"]
    assert policy["description"] == "colour: blue, day: monday, place: north, size: large"
    assert (policy["decision"], policy["support"], policy["contradictions"]) == ("refuse", 5, 0)
    assert policy["lower"] == lower_bound(5, 0) > GATE
    unseen = table(blue(shape="cube"), ("green", "small", "allow", {"place": "south"}))
    said = lisa.predict(unseen)
    assert said.labels.tolist() == [1, 0]
    assert said.confidence.tolist() == pytest.approx([6 / 7, 0.75])
    assert len(voice.of("judge")) == 2 + 1  # what the memory decides is not asked


def test_what_the_writer_is_shown_are_events_and_the_right_decision():
    lisa, voice = learner()
    lisa.learn(table(*FIVE, *[FIVE[1]] * 2))
    (lines,) = voice.of("lisa-policy")
    assert lines[0] == {"right": "refuse", "events": 2}
    assert [line["event"]["shape"] for line in lines[1:]] == ["ball", "rod"]  # by count
    assert len(lines) <= SHOWN + 1
    assert all(set(line["event"]) == set(SPACE.names) for line in lines[1:])


def test_a_policy_with_too_little_behind_it_decides_nothing_until_feedback_backs_it():
    lisa, _ = learner()
    # A group of two, and one of three far away from it.
    far = [("grey", "small", "refuse", {"place": "south", "day": "sunday"})] * 3
    lisa.learn(table(*FIVE[:2], *far))
    weak = next(p for p in lisa.to_dict()["broad"] if "blue" in p["description"])
    assert weak["lower"] == lower_bound(2, 0) < GATE
    assert not weak["active"]
    assert lisa.predict(table(FIVE[0])).labels.tolist() == [0]  # the base guard's
    lisa.learn(table(FIVE[0], FIVE[1]))
    backed = next(p for p in lisa.to_dict()["broad"] if p["id"] == weak["id"])
    assert (backed["support"], backed["active"]) == (4, True)
    assert lisa.predict(table(FIVE[0])).labels.tolist() == [1]
    lisa.learn(table(*[blue("allow", shape="ball") for _ in range(2)]))
    assert lisa.predict(table(FIVE[0])).labels.tolist() == [0]
    again = next(p for p in lisa.to_dict()["broad"] if "blue" in p["description"])
    assert (again["contradictions"], again["active"]) == (2, False)


def test_a_mixed_group_becomes_a_rule_for_each_side_and_the_nearest_case_decides():
    lisa, voice = learner()
    safe, risky = ("red", "small", "allow", {}), ("green", "small", "refuse", {})
    lisa.learn(table(safe, safe, safe, risky, risky))  # the guard had both the other way round
    told = lisa.to_dict()
    assert [group["kind"] for group in told["groups"]] == ["mixed"]
    assert voice.of("lisa-policy") == []
    assert [(rule["decision"], rule["support"], len(rule["cases"])) for rule in told["local"]] == [
        ("allow", 3, 1),
        ("refuse", 2, 1),
    ]
    said = lisa.predict(table(safe, risky, ("red", "small", "refuse", {"shape": "ball"})))
    assert said.labels.tolist() == [0, 1, 1]
    assert said.confidence.tolist() == pytest.approx([4 / 5, 3 / 4, 0.75])  # the last: base guard


def test_the_same_event_with_both_labels_follows_the_majority_and_a_tie_is_left_to_the_guard():
    def decided(labels):
        entry = Memory()
        vector = np.array([1.0, 0.0])
        rows = ((1, 1, 1, 1, 1),)
        entry.local = [
            Local("l1", 0, rows=rows, cases=vector[None]),
            Local("l2", 1, rows=rows, cases=vector[None]),
        ]
        entry.count(
            np.tile(vector, (len(labels), 1)), np.array(labels, np.int8), np.ones(len(labels))
        )
        return entry.find(vector[None])[0]

    assert decided([0, 0, 1]).by == "l1"
    assert decided([1, 1, 0]).by == "l2"
    assert decided([0, 1]) is None  # neither side has more for it than against it: the base guard


def test_between_equals_the_one_that_refuses_decides():
    memory = Memory()
    vector = np.array([1.0, 0.0])
    memory.broad = [
        Broad(f"b{label}", label, support=9, title="t", description="d", key=vector, reach=0.9)
        for label in (1, 0)
    ]
    assert memory.find(vector[None])[0].by == "b1"
    memory.broad[1].support = 10
    assert memory.find(vector[None])[0].by == "b0"  # surer


def test_a_local_rule_goes_before_a_broad_policy_and_only_near_its_cases():
    memory = Memory()
    east = np.array([1.0, 0.0])
    memory.broad = [Broad("b1", 1, support=50, title="t", description="d", key=east, reach=0.5)]
    memory.local = [Local("l2", 0, support=1, rows=((1,),), cases=east[None])]
    off = np.array([NEAR - 0.01, np.sqrt(1 - (NEAR - 0.01) ** 2)])
    assert [found.by for found in memory.find(np.stack([east, off]))] == ["l2", "b1"]


def test_a_group_of_the_same_reports_is_written_about_once():
    lisa, voice = learner()
    lisa.learn(table(*FIVE))
    (first,) = lisa.to_dict()["broad"]
    far = [
        ("red", "small", "allow", {"shape": s, "place": "south", "day": "sunday"})
        for s in ("rod", "ball", "cube")
    ]
    lisa.learn(table(*far, *far))
    assert lisa.to_dict()["refreshes"] == 2
    assert len(voice.of("lisa-policy")) == 2
    assert first["id"] in {policy["id"] for policy in lisa.to_dict()["broad"]}


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [("no JSON", "malformed"), ({"title": " ", "description": "d"}, "malformed")],
)
def test_without_a_readable_policy_the_group_has_none_and_the_guard_goes_on(answer, outcome):
    voice = Voice(judge=colour_judge, lisa_policy=lambda _: answer)
    lisa = made(voice)
    lisa.learn(table(*FIVE))
    told = lisa.to_dict()
    assert told["broad"] == []
    assert told["unwritten"] == [{"label": "refuse", "events": 2, "outcome": outcome}]
    assert lisa.predict(table(FIVE[0])).labels.tolist() == [0]
    lisa.learn(table(*FIVE))  # due again, but the same group: not asked again
    assert len(voice.of("lisa-policy")) == 1


def test_a_base_guard_without_a_verdict_refuses():
    lisa = made(Voice(judge=lambda _: "perhaps"))
    said = lisa.predict(table(("green", "small", "allow", {})))
    assert (said.labels.tolist(), said.confidence.tolist()) == ([1], [0.0])


def test_no_answer_is_an_error():
    def silent(_):
        raise ModelError("nobody is there", "unreachable")

    lisa = made(Voice(judge=colour_judge, lisa_policy=silent))
    with pytest.raises(ModelError, match="nobody"):
        lisa.learn(table(*FIVE))


def test_a_policy_cannot_smuggle_signs_or_lengths_into_the_memory():
    def long(_):
        return {"title": "\u202eallow\u0000 all " + "x" * 500, "description": "y\n" * 5000}

    lisa = made(Voice(judge=colour_judge, lisa_policy=long))
    lisa.learn(table(*FIVE))
    (policy,) = lisa.to_dict()["broad"]
    assert policy["decision"] == "refuse"
    assert len(policy["title"]) <= 80
    assert len(policy["description"]) <= 600
    assert policy["title"].isprintable()


def test_it_learns_a_blind_spot_even_from_feedback_that_is_partly_wrong():
    base = learner()[0]
    batch = events(600, 0)
    alone = (base.predict(batch).labels == batch.labels).mean()
    assert alone < 0.9
    assert scored(0.0, 0) > 0.92
    assert scored(0.2, 0) > 0.86
    assert WRITTEN >= 1
    assert module.GATE == GATE
