from __future__ import annotations

import pytest

from vepa.bench.report.round_log import round_log
from vepa.policy import Policy, Rule
from vepa.policy.patches import Edit, Patch

CLASH = {"code": "more_conflicts", "message": "two rules clash"}


@pytest.fixture
def log(build):
    """Make the log of one round with five attempts on the empty policy; the fourth is rejected."""
    parent = Policy(build.schema, (), "trajectory")

    def attempt(number, base, name, colour, score):
        rule = Rule.build(build.schema, name, "refuse", {"colour": {"in": [colour]}})
        return {
            "number": number,
            "base": base,
            "patch": Patch((Edit("add", (), (rule,)),)).to_dict(),
            "verified": score is not None,
            "feedback": [] if score is not None else [CLASH],
            "score": scored(score) if score is not None else None,
        }

    def scored(objective, repair=0.5):
        return {"repair": repair, "preservation": 1.0, "macro_f1": 0.5, "objective": objective}

    def make(picked, front, accepted=(), parent_score=0.1):
        attempts = [
            attempt(1, 0, "a", "red", 0.4),
            attempt(2, 1, "b", "blue", 0.6),
            attempt(3, 0, "c", "red", 0.4),
            attempt(4, 1, "d", "green", None),
            attempt(5, 0, "e", "green", 0.6),
        ]
        by_number = {0: parent_score, **{item["number"]: item["score"] for item in attempts}}
        by_number = {
            at: scored(score) if isinstance(score, float) else score
            for at, score in by_number.items()
        }
        record = {
            "attempts": attempts,
            "accepted": [attempts[at - 1]["patch"] for at in accepted],
            "front": [{"candidate": at, **by_number[at]} for at in front],
            "picked": picked,
            "parent_score": by_number[0],
            "score": by_number[picked],
            "notes": [],
        }
        (entry,) = round_log([parent, parent], [record])
        return entry

    return make


def reasons(entry):
    return [row["reason"] for row in (entry["standing"], *entry["attempts"])]


def test_every_patch_gets_its_reason(log):
    entry = log(2, [2, 5], accepted=[1, 2])
    assert reasons(entry) == [
        "dominated",
        "dominated; patch 2 was built on it",
        "picked",
        "repeats patch 1",
        "rejected: more conflicts",
        "on the front, same J, loses the tie",
    ]
    assert [row["accepted"] for row in entry["attempts"]] == [True, True, False, False, False]
    assert (entry["tried"], entry["rejected"], entry["accepted"]) == (5, 1, 2)


def test_the_standing_policy_is_a_candidate_too(log):
    assert reasons(log(2, [0, 2]))[0] == "on the front, lower J"
    kept = log(0, [1, 2], parent_score=0.9)
    assert reasons(kept)[:3] == [
        "picked: nothing had a higher J",
        "on the front, lower J",
        "on the front, lower J",
    ]
    assert kept["standing"]["score"]["objective"] == 0.9
    assert kept["standing"]["front"] is False
