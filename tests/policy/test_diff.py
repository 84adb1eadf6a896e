"""The semantic difference against every event of small schemas."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import Maker, policies, schemas
from naive import all_events, decide, matches

from vepa.errors import PolicyError, UnitMismatchError
from vepa.policy import Edit, Patch, Policy, Rule, Schema, apply, bundled_schema, verify
from vepa.policy.diff import diff

SCHEMA = Schema(1, {"f": list("abc"), "g": list("abc")})


def rule(name: str, decision: Any = "allow", status: Any = "active", **when: str) -> Rule:
    predicates = {field: {"in": list(values)} for field, values in when.items()}
    return Rule.build(SCHEMA, name, decision, predicates, status=status)


@pytest.mark.property
@given(st.data())
def test_changes_equal_brute_force(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    one, other = data.draw(policies(schema)), data.draw(policies(schema))
    other = Policy(schema, other.rules, one.unit)
    found = diff(one, other)
    before, after = one.to_dict(), other.to_dict()
    events = list(all_events(schema))
    expected: Counter[tuple[str, str]] = Counter()
    for event in events:
        was, now = decide(before, event)[0], decide(after, event)[0]
        if was != now:
            expected[was, now] += 1
    assert {(c.before, c.after): c.events for c in found.changes} == expected
    assert all(change.exact for change in found.changes)
    assert found.equivalent is (not expected)
    assert found.space == len(events)
    told = json.loads(json.dumps(found.to_dict()))
    for change in told["changes"]:
        seen: set[str] = set()
        for region in change["regions"]:
            assert decide(before, region["witness"])[0] == change["from"]
            assert decide(after, region["witness"])[0] == change["to"]
            inside = [event for event in events if matches(region, event)]
            assert len(inside) == region["events"]
            for event in inside:
                was, now = decide(before, event), decide(after, event)
                assert (was[0], now[0]) == (change["from"], change["to"])
                assert region["before"] in ([None] if was[0] == "abstain" else was[1])
                assert region["after"] in ([None] if now[0] == "abstain" else now[1])
                assert str(event) not in seen  # regions are disjoint
                seen.add(str(event))


@pytest.mark.property
@given(policies())
def test_a_policy_equals_itself_in_any_order_and_spelling(policy: Policy) -> None:
    found = diff(policy, policy.canonical().with_rules(reversed(policy.canonical().rules)))
    assert (found.rules, found.changes, found.equivalent) == ((), (), True)


def test_what_became_of_each_rule() -> None:
    before = Policy(
        SCHEMA,
        (
            rule("same", f="a"),
            rule("old name", f="b"),
            rule("edited", f="c"),
            rule("gone", g="a"),
            rule("promoted", g="b", status="inactive"),
        ),
    )
    after = Policy(
        SCHEMA,
        (
            rule("edited", f="c", g="c"),
            rule("new name", f="b"),
            rule("promoted", g="b"),
            rule("fresh", g="c"),
            rule("same", f="a"),
        ),
    )
    told = [
        (c.kind, c.before.id if c.before else None, c.after.id if c.after else None)
        for c in diff(before, after).rules
    ]
    assert sorted(told, key=str) == sorted(
        [
            ("removed", "gone", None),
            ("added", None, "fresh"),
            ("renamed", "old name", "new name"),
            ("changed", "edited", "edited"),
            ("status", "promoted", "promoted"),
        ],
        key=str,
    )


def test_rules_that_swap_their_names_are_renamed() -> None:
    before = Policy(SCHEMA, (rule("x", f="a"), rule("y", f="b")))
    after = Policy(SCHEMA, (rule("y", f="a"), rule("x", f="b")))
    found = diff(before, after)
    assert [change.kind for change in found.rules] == ["renamed", "renamed"]
    assert found.equivalent is True


def test_a_split_rule_decides_as_before() -> None:
    before = Policy(SCHEMA, (rule("r", f="ab"),))
    patch = Patch((Edit("split", ("r",), (rule("s", f="a"), rule("t", f="b"))),))
    found = diff(before, apply(before, patch))
    assert found.equivalent is True
    assert Counter(change.kind for change in found.rules) == {"removed": 1, "added": 2}


def test_inactive_rules_decide_nothing() -> None:
    before = Policy(SCHEMA, (rule("r", f="a"),))
    after = Policy(SCHEMA, (rule("r", f="a"), rule("s", "refuse", "inactive", f="b")))
    found = diff(before, after)
    assert found.equivalent is True
    assert [change.kind for change in found.rules] == ["added"]


def test_a_spent_budget_is_said_and_never_hides_a_difference() -> None:
    maker = Maker(bundled_schema(), 3)
    before = maker.policy(60)
    divide = next(at for at in range(17) if before.rules[0].masks[at] != before.schema.full[at])
    assert divide >= 0
    after = before.with_rules(before.rules[1:])
    short = diff(before, after, budget=1)
    assert any(not change.exact for change in short.changes)
    full = diff(before, after)
    removed = before.rules[0]
    if removed.active:
        exact = {(c.before, c.after): c for c in full.changes}
        for change in short.changes:
            assert (
                change.events <= exact[change.before, change.after].events
                if (change.events)
                else not change.exact
            )
    assert short.equivalent is not True


def test_equivalence_is_open_when_nothing_was_found_in_the_budget() -> None:
    # Twelve rules that together cover what one rule covered.
    schema = Schema(1, {"f": list("abcdefghijkl"), "g": list("abc")})
    whole = Rule.build(schema, "whole", "allow", {"g": {"in": ["a"]}})
    parts = [
        Rule.build(schema, f"p{at}", "allow", {"f": {"in": [value]}, "g": {"in": ["a"]}})
        for at, value in enumerate(schema["f"].values)
    ]
    one, other = Policy(schema, (whole,)), Policy(schema, tuple(parts))
    assert diff(one, other).equivalent is True
    assert diff(one, other, budget=5).equivalent is None


def test_policies_about_other_events_cannot_be_compared() -> None:
    with pytest.raises(PolicyError, match="different schemas"):
        diff(Policy(SCHEMA), Policy(bundled_schema()))
    with pytest.raises(UnitMismatchError):
        diff(Policy(SCHEMA), Policy(SCHEMA, (), "step"))


def test_policies_of_the_real_schema_are_compared_exactly() -> None:
    maker = Maker(bundled_schema(), 8)
    before = maker.policy(30)
    after = before.with_rules([*before.rules[3:], *maker.policy(1).rules])
    assert verify(before).ok
    if not verify(after).ok:
        after = before.with_rules(before.rules[3:])
    found = diff(before, after)
    for change in found.to_dict()["changes"]:
        for region in change["regions"]:
            assert decide(before.to_dict(), region["witness"])[0] == change["from"]
            assert decide(after.to_dict(), region["witness"])[0] == change["to"]
