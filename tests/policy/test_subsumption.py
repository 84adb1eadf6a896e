"""Subsumed and equivalent rules, against every event of small schemas."""

from __future__ import annotations

import pytest
from hypothesis import given
from making import Maker, policies
from naive import all_events, matches

from vepa.policy import Policy, Rule, Schema, bundled_schema
from vepa.policy.subsumption import subsumption

SCHEMA = Schema(1, {"f": list("abcdef"), "g": list("abc")})


def rule(name: str, f: str, g: str = "abc", status: str = "active") -> Rule:
    when = {"f": {"in": list(f)}}
    if g != "abc":
        when["g"] = {"in": list(g)}
    return Rule.build(SCHEMA, name, "allow", when, status=status)


@pytest.mark.property
@given(policies(max_rules=8))
def test_reports_equal_brute_force(policy: Policy) -> None:
    found = list(subsumption(policy))
    events = list(all_events(policy.schema))
    rules = policy.to_dict()["rules"]
    covers = {
        rule["id"]: frozenset(at for at, event in enumerate(events) if matches(rule, event))
        for rule in rules
    }
    alike: dict[tuple[str, frozenset[int]], list[str]] = {}
    for one in rules:
        alike.setdefault((one["decision"], covers[one["id"]]), []).append(one["id"])
    assert {item.rules for item in found if item.code == "equivalent"} == {
        tuple(group) for group in alike.values() if len(group) > 1
    }
    expected = set()
    for (decision, cover), group in alike.items():
        others = [
            covers[one["id"]]
            for one in rules
            if one["decision"] == decision and one["id"] not in group
        ]
        if cover <= frozenset().union(*others):
            expected.update(group)
    reported = [item for item in found if item.code == "subsumed"]
    assert {item.rules[0] for item in reported} == expected
    assert len(reported) == len(expected)
    for item in reported:
        rule, *by = item.rules
        assert rule not in by
        assert covers[rule] <= frozenset().union(*(covers[other] for other in by))
    assert not [item for item in found if item.code == "budget_exhausted"]
    assert not any(item.rejects for item in found)


def test_one_rule_a_union_and_equivalent_rules_are_told_apart() -> None:
    policy = Policy(
        SCHEMA,
        (
            rule("wide", "abc"),
            rule("left", "de", "ab"),
            rule("right", "de", "c"),
            rule("within", "ab"),
            rule("across", "cd", "a"),
            rule("inside", "d", "bc"),
            rule("beyond", "d"),  # `unknown` of g is left over
            rule("twin", "abc"),
        ),
    )
    found = {(item.code, item.rules) for item in subsumption(policy)}
    assert found == {
        ("equivalent", ("wide", "twin")),
        ("subsumed", ("within", "wide")),
        ("subsumed", ("across", "wide", "left")),
        ("subsumed", ("inside", "beyond")),
    }
    without = policy.with_rules(rule for rule in policy.rules if rule.id != "beyond")
    assert ("subsumed", ("inside", "left", "right")) in {
        (item.code, item.rules) for item in subsumption(without)
    }


def test_an_active_rule_is_not_to_be_deleted_for_an_inactive_one() -> None:
    policy = Policy(SCHEMA, (rule("wide", "abc", status="inactive"), rule("narrow", "a")))
    (item,) = subsumption(policy)
    assert item.rules == ("narrow", "wide")
    assert "keep it while inactive: 'wide'" in str(item.remedy)


def test_a_spent_budget_is_said_and_names_what_stays_open() -> None:
    rules = [rule(f"r{at}", "abcdef"[at], g) for at in range(6) for g in ("ab",)]
    rules += [rule(f"s{at}", "abcdef"[at], "bc") for at in range(6)]
    rules.append(rule("whole", "abcdef", "b"))
    policy = Policy(SCHEMA, tuple(rules))
    (full,) = [item for item in subsumption(policy) if item.code == "subsumed"]
    assert full.rules[0] == "whole"
    found = list(subsumption(policy, budget=3))
    assert [(item.code, item.rules) for item in found] == [("budget_exhausted", ("whole",))]
    assert [item.code for item in subsumption(policy, per_rule=3)] == ["budget_exhausted"]


def test_a_large_random_policy_is_reported_within_the_budget() -> None:
    policy = Maker(bundled_schema(), 5).policy(400)
    found = list(subsumption(policy, budget=2_000))
    assert all(len(item.rules) >= 1 for item in found)
    # A rule drawn from inside another one must be found however many rules there are.
    first = policy.rules[0]
    inner = list(first.masks)
    at = next(at for at, full in enumerate(policy.schema.full) if inner[at] == full)
    inner[at] = 1
    more = policy.with_rules(
        [*policy.rules, Rule.from_masks(policy.schema, "inner", first.decision, inner)]
    )
    assert "inner" in {item.rules[0] for item in subsumption(more, budget=2_000)}
