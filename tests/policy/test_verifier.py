"""The verifier against every event of small random schemas, and its findings one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import Maker, loose_rules, schemas
from naive import all_events, domains, fault, matches

from vepa.policy import Policy, Rule, bundled_schema, verify, witness
from vepa.policy.verifier import MAX_ID, MAX_LISTED, MAX_RATIONALE, MAX_RULES

SCHEMA = bundled_schema()


def rule(id: str, decision: Any, **when: Any) -> Rule:
    return Rule.build(SCHEMA, id, decision, when)


@pytest.mark.property
@given(st.data())
def test_verdict_and_conflicts_equal_brute_force(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    count = data.draw(st.integers(0, 5))
    # Ids repeat now and then.
    ids = data.draw(st.lists(st.sampled_from("rstuvw"), min_size=count, max_size=count))
    policy = Policy(schema, tuple(data.draw(loose_rules(schema, name)) for name in ids))
    found = verify(policy)
    written = policy.to_dict()
    events = list(all_events(schema))
    clashing = {
        (one["id"], other["id"])
        for one in written["rules"]
        if one["decision"] == "allow"
        for other in written["rules"]
        if other["decision"] == "refuse"
        and any(matches(one, event) and matches(other, event) for event in events)
    }
    reported = [item for item in found.feedback if item.code == "conflict"]
    assert {item.rules for item in reported} == clashing
    assert found.ok is (not found.feedback)
    assert found.ok is (fault(written, domains(schema)) is None)
    if len(set(ids)) == len(ids):
        by_id = {rule["id"]: rule for rule in written["rules"]}
        for item in reported:
            assert item.witness is not None
            assert all(matches(by_id[name], item.witness) for name in item.rules)
            assert "unknown" not in item.witness.values()


@pytest.mark.property
@given(st.data())
def test_malformed_rules_are_found_as_brute_force_finds_them(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    policy = Policy(schema, (data.draw(loose_rules(schema, "r")),))
    (written,) = policy.to_dict()["rules"]
    codes = {item.code for item in verify(policy).feedback}
    hits = sum(matches(written, event) for event in all_events(schema))
    assert ("unsatisfiable_predicate" in codes) is (hits == 0)
    assert ("empty_conjunction" in codes) is (not written["when"])
    one_by_one = [
        all(matches({"when": {name: predicate}}, event) for event in all_events(schema))
        for name, predicate in written["when"].items()
    ]
    assert ("vacuous_predicate" in codes) is any(one_by_one)


@pytest.mark.property
@given(st.data())
def test_a_witness_is_matched_by_all_and_exists_when_some_event_is(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    rules = [data.draw(loose_rules(schema, name)) for name in "rst"[: data.draw(st.integers(1, 3))]]
    event = witness(schema, *(rule.masks for rule in rules))
    written = [rule.to_dict() for rule in rules]
    if event is None:
        assert not any(
            all(matches(rule, other) for rule in written) for other in all_events(schema)
        )
    else:
        assert all(matches(rule, event) for rule in written)


def test_a_conflict_names_both_rules_a_witness_and_the_fields_to_part_them_on() -> None:
    found = verify(
        Policy(
            SCHEMA,
            (
                rule("no", "refuse", injection={"in": ["followed"]}),
                rule("yes", "allow", recipient={"not_in": ["public"]}),
            ),
        )
    )
    assert found.policy is None
    (item,) = found.feedback
    assert (item.code, item.rules) == ("conflict", ("yes", "no"))
    assert item.witness == {"injection": "followed"}
    assert "injection" in str(item.remedy)
    assert "recipient" in str(item.remedy)


def test_inactive_rules_conflict_too() -> None:
    one = rule("a", "allow", injection={"in": ["none"]})
    other = rule("b", "refuse", injection={"in": ["none"]}).with_status("inactive")
    assert not verify(Policy(SCHEMA, (one, other))).ok


def test_one_common_value_is_a_conflict_and_none_is_not() -> None:
    one = rule("a", "allow", scope={"in": ["within", "exceeded"]}, injection={"in": ["none"]})
    other = rule("b", "refuse", scope={"in": ["exceeded"]})
    apart = rule("c", "refuse", scope={"not_in": ["exceeded", "within"]})
    assert [item.code for item in verify(Policy(SCHEMA, (one, other))).feedback] == ["conflict"]
    assert verify(Policy(SCHEMA, (one, apart))).ok


def test_many_conflicts_are_counted_and_some_are_listed() -> None:
    maker = Maker(SCHEMA, 1)
    size = 20
    rules = [
        Rule.from_masks(SCHEMA, f"{side}{at}", side, maker.rule(fields=1).masks)
        for side in ("allow", "refuse")
        for at in range(size)
    ]
    policy = Policy(SCHEMA, tuple(rules))
    found = verify(policy).feedback
    spelled = policy.to_dict()["rules"]
    events = [(one, other) for one in spelled[:size] for other in spelled[size:]]
    expected = sum(
        all(
            mask & rival
            for mask, rival in zip(
                rules[spelled.index(one)].masks, rules[spelled.index(other)].masks, strict=True
            )
        )
        for one, other in events
    )
    listed = [item for item in found if item.code == "conflict"]
    (rest,) = [item for item in found if item.code == "more_conflicts"]
    assert len(listed) == MAX_LISTED < expected
    assert rest.message.startswith(f"{expected - MAX_LISTED} more")
    assert rest.rejects


def test_sizes_are_bounded() -> None:
    fine = rule("a" * MAX_ID, "allow", injection={"in": ["none"]})
    assert verify(Policy(SCHEMA, (fine,))).ok
    long_id = rule("a" * (MAX_ID + 1), "allow", injection={"in": ["none"]})
    empty_id = rule("", "allow", injection={"in": ["none"]})
    chatty = Rule.build(
        SCHEMA, "c", "allow", {"injection": {"in": ["none"]}}, rationale="x" * (MAX_RATIONALE + 1)
    )
    for wrong in (long_id, empty_id, chatty):
        assert [item.code for item in verify(Policy(SCHEMA, (wrong,))).feedback] == ["too_large"]
    crowd = [rule(f"r{at}", "allow", injection={"in": ["none"]}) for at in range(MAX_RULES + 1)]
    assert "too_large" in {item.code for item in verify(Policy(SCHEMA, tuple(crowd))).feedback}


def test_an_empty_policy_is_well_formed() -> None:
    assert verify(Policy(SCHEMA)).ok
