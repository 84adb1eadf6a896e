"""What an explanation tells beside the decision (that it tells the decision: test_matching)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import policies
from naive import admitted, domains, matches

from vepa.errors import UnitMismatchError
from vepa.policy import CompiledPolicy, Event, Policy, Rule, Schema
from vepa.policy.explain import explain

SCHEMA = Schema(1, {"f": list("abc"), "g": list("abc"), "h": list("abc")})


def rule(name: str, decision: str, **when: str) -> Rule:
    return Rule.build(
        SCHEMA, name, decision, {field: {"in": list(values)} for field, values in when.items()}
    )


@pytest.mark.property
@given(policies(max_rules=8), st.data())
def test_every_rule_is_told_rightly(policy: Policy, data: st.DataObject) -> None:
    spelled = domains(policy.schema)
    event = {name: data.draw(st.sampled_from(values)) for name, values in spelled.items()}
    why = explain(
        CompiledPolicy(policy), Event.build(policy.schema, event, policy.unit), nearest=99
    )
    assert why.event == event
    assert why.policy_hash == policy.policy_hash
    rules = {rule["id"]: rule for rule in policy.to_dict()["rules"]}
    told = [rule.id for rule in (*why.fired, *why.inactive)]
    missed = [miss.rule.id for miss in why.nearest]
    assert set(told) == {name for name, rule in rules.items() if matches(rule, event)}
    assert all(rules[rule.id]["status"] == "inactive" for rule in why.inactive)
    assert set(missed) == {
        name
        for name, rule in rules.items()
        if rule["status"] == "active" and not matches(rule, event)
    }
    counts = [len(miss.failures) for miss in why.nearest]
    assert counts == sorted(counts)
    for miss in why.nearest:
        when = rules[miss.rule.id]["when"]
        fields = {failure.field for failure in miss.failures}
        for name, predicate in when.items():
            assert (event[name] in admitted(predicate, spelled[name])) is (name not in fields)
        for failure in miss.failures:
            assert failure.value == event[failure.field]
            assert failure.predicate == when[failure.field]
            assert set(failure.satisfied_by) == admitted(
                when[failure.field], spelled[failure.field]
            )
        # What would satisfy the failing predicates makes the rule fire.
        mended = event | {failure.field: failure.satisfied_by[0] for failure in miss.failures}
        assert matches(rules[miss.rule.id], mended)
    json.dumps(why.to_dict(), allow_nan=False)


def test_the_fewest_failures_come_first_and_only_so_many_are_told() -> None:
    policy = Policy(
        SCHEMA,
        (
            rule("three", "refuse", f="a", g="a", h="a"),
            rule("one", "refuse", f="b", g="a"),
            rule("two", "refuse", f="a", g="a", h="b"),
            rule("also one", "refuse", f="b", h="c"),
            rule("fires", "refuse", f="b", h="b"),
            rule("silent", "refuse", f="b").with_status("inactive"),
        ),
    )
    event = Event.build(SCHEMA, {"f": "b", "h": "b"})
    why = explain(CompiledPolicy(policy), event, nearest=3)
    assert why.verdict == "refuse"
    assert [rule.id for rule in why.fired] == ["fires"]
    assert [rule.id for rule in why.inactive] == ["silent"]
    assert [miss.rule.id for miss in why.nearest] == ["one", "also one", "two"]
    (failure,) = why.nearest[0].failures
    assert (failure.field, failure.value, failure.satisfied_by) == ("g", "unknown", ("a",))
    assert explain(CompiledPolicy(policy), event, nearest=0).nearest == ()


def test_another_unit_is_an_error() -> None:
    with pytest.raises(UnitMismatchError):
        explain(CompiledPolicy(Policy(SCHEMA)), Event.build(SCHEMA, {}, "call"))
