from __future__ import annotations

import numpy as np
import pytest
from evolving import WORLD, archive_of, drawn, rows, rule

from vepa.evolution import Archive
from vepa.policy import Evidence, Policy, Provenance, authority
from vepa.policy.bitsets import unpack

RED, BLUE = {"colour": "red"}, {"colour": "blue"}


def counts(evidence: Evidence) -> tuple[int, int]:
    return evidence.support, evidence.contradictions


def test_failures_are_wrong_answers_and_abstentions_by_what_feedback_said():
    table = rows([(RED, "allow"), (RED, "refuse"), (RED, "allow"), (BLUE, "refuse")])
    found = Archive(WORLD)
    found.add(table, np.array([0, 0, -1, 1], dtype=np.int8), 1)
    assert found.failed.tolist() == [False, True, True, False]
    assert unpack(found.failures, 4).tolist() == found.failed.tolist()
    flipped = Archive(WORLD)
    flipped.add(table.with_labels(1 - table.labels), np.array([0, 0, -1, 1], dtype=np.int8), 1)
    assert flipped.failed.tolist() == [True, False, True, True]


def test_everything_is_kept_in_order_of_arrival():
    found = Archive(WORLD)
    first, second = rows([(RED, "allow")], "a"), rows([(BLUE, "refuse"), (RED, "refuse")], "b")
    found.add(first, np.array([0], dtype=np.int8), 1)
    assert found.index.size == 1
    found.add(second, np.array([-1, 1], dtype=np.int8), 3)
    assert found.table.ids == ("a0", "b0", "b1")
    assert found.rounds.tolist() == [1, 3, 3]
    assert found.failed.tolist() == [False, True, False]
    assert len(found) == found.index.size == 3
    assert (found.allow, found.refuse) == (0b001, 0b110)


def test_labels_of_events_without_feedback_are_dropped():
    found = Archive(WORLD)
    shown, hidden = rows([(RED, "allow")]), rows([(BLUE, "refuse"), (RED, "allow")], "h")
    found.add(shown, np.array([0], dtype=np.int8), 1, hidden)
    assert found.context.labels.tolist() == [-1, -1]
    assert np.array_equal(found.context.codes, hidden.codes)
    assert len(found) == 1
    assert hidden.labels.tolist() == [1, 0]  # the caller's table is left alone
    evidence = found.evidence(rule("r", "refuse", colour=["blue"]), authority("paper"))
    assert counts(evidence) == (0, 0)


@pytest.mark.parametrize(
    ("mode", "born", "expected"),
    [
        ("paper", 2, (4, 2)),
        ("paper", None, (4, 2)),
        ("prospective", None, (4, 2)),
        ("prospective", 0, (4, 2)),
        ("prospective", 1, (3, 1)),
        ("prospective", 2, (2, 0)),
        ("prospective", 3, (0, 0)),
    ],
)
def test_evidence_counts_what_the_mode_lets_count(mode, born, expected):
    found = Archive(WORLD)
    for number, labels in ((1, "ar"), (2, "ar"), (3, "aa")):
        part = [(RED, {"a": "allow", "r": "refuse"}[label]) for label in labels]
        found.add(rows([*part, (BLUE, "refuse")]), np.full(3, -1, dtype=np.int8), number)
    made = rule("r", "allow", born, colour=["red"])
    assert counts(found.evidence(made, authority(mode))) == expected


@pytest.mark.parametrize("mode", ["paper", "prospective"])
def test_adding_up_round_by_round_equals_counting_anew(mode):
    gate = authority(mode)
    known = rule("r", "refuse", 2, colour=["red", "green"])
    found = Archive(WORLD)
    supports = against = 0
    for number in range(1, 6):
        part = drawn(30, lambda e: "refuse" if e["shape"] == "rod" else "allow", seed=number)
        found.add(part, np.full(30, -1, dtype=np.int8), number)
        if mode == "paper" or number > 2:
            covered = np.isin(part.codes[:, 0], [1, 2])
            supports += int((part.labels[covered] == 1).sum())
            against += int((part.labels[covered] == 0).sum())
        assert counts(found.evidence(known, gate)) == (supports, against)
    assert supports
    assert against


@pytest.mark.parametrize("mode", ["paper", "prospective"])
def test_evidence_goes_by_what_a_rule_does_not_by_its_name(mode):
    found = archive_of(drawn(60, lambda e: "allow"), round=4)
    one = rule("before", "allow", 2, colour=["red"])
    other = rule("after", "allow", 2, colour=["red"])
    gate = authority(mode)
    assert counts(found.evidence(one, gate)) == counts(found.evidence(other, gate)) != (0, 0)


def test_a_policy_is_judged_rule_by_rule():
    found = archive_of(drawn(90, lambda e: "refuse" if e["colour"] == "red" else "allow"))
    policy = Policy(
        WORLD,
        (
            rule("right", "refuse", 1, colour=["red"]),
            rule("wrong", "refuse", 1, colour=["blue"]),
            rule("rare", "allow", 1, colour=["unknown"]),
        ),
    )
    judged = found.judged(policy, authority("paper"))
    assert [known.status for known in judged.rules] == ["active", "inactive", "inactive"]
    supports = int((found.table.codes[:, 0] == 1).sum())
    assert counts(judged.rules[0].evidence) == (supports, 0)
    assert counts(judged.rules[2].evidence) == (0, 0)
    assert judged.rules[0].provenance == Provenance(1, "add")
    late = found.judged(policy, authority("prospective"))
    assert [known.status for known in late.rules] == ["inactive"] * 3


def test_an_empty_archive_has_no_examples():
    found = Archive(WORLD)
    assert (len(found), found.allow, found.refuse, found.failures) == (0, 0, 0, 0)
    made = rule("r", "allow", colour=["red"])
    assert counts(found.evidence(made, authority("paper"))) == (0, 0)
