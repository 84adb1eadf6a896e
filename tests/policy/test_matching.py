"""Compiled matching against the naive interpreter, one by one and in batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import Maker, policies
from naive import all_events, decide

from vepa.errors import EventError, UnitMismatchError
from vepa.policy import (
    ABSTAIN,
    ALLOW,
    REFUSE,
    CompiledPolicy,
    Event,
    Policy,
    Rule,
    Schema,
    bundled_schema,
    verify,
)
from vepa.policy.explain import explain
from vepa.policy.matching import _CHUNK

SCHEMA = bundled_schema()
CODE = {"allow": ALLOW, "refuse": REFUSE, "abstain": ABSTAIN}


def columns(schema: Schema, events: list[dict[str, str]]) -> np.ndarray:
    """Codes by the words of the schema, without the encoder under test."""
    rows = [
        [field.values.index(event.get(field.name, "unknown")) for field in schema.fields]
        for event in events
    ]
    return np.array(rows, dtype=np.int8).reshape(len(events), len(schema)).T.copy()


def agree(policy: Policy, events: list[dict[str, str]]) -> None:
    written = policy.to_dict()
    for all_rules in (False, True):
        compiled = CompiledPolicy(policy, all_rules=all_rules)
        expected = [decide(written, event, all_rules=all_rules) for event in events]
        batch = compiled.decide_columns(columns(policy.schema, events))
        assert batch.dtype == np.int8
        assert batch.tolist() == [CODE[verdict] for verdict, _ in expected]
        for event, (verdict, rules) in zip(events, expected, strict=True):
            answer = compiled.decide(Event.build(policy.schema, event, policy.unit))
            assert answer == (verdict, tuple(rules), policy.policy_hash)
            why = explain(compiled, Event.build(policy.schema, event, policy.unit))
            assert (why.verdict, [rule.id for rule in why.fired]) == (verdict, rules)


@pytest.mark.property
@given(policies(max_rules=8))
def test_small_policies_on_every_event(policy: Policy) -> None:
    agree(policy, list(all_events(policy.schema)))


@pytest.mark.property
@settings(max_examples=30)
@given(
    st.integers(0, 2**32),
    st.sampled_from([0, 1, 2, 63, 64, 65, 127, 128, 129, 200]),
    st.sampled_from([("allow", "refuse"), ("allow",), ("refuse",)]),
)
def test_policies_of_the_real_schema(seed: int, size: int, sides: tuple[str, ...]) -> None:
    maker = Maker(SCHEMA, seed)
    policy = maker.policy(size, sides=sides)
    assert verify(policy).ok
    events = [maker.event() for _ in range(40)]
    # Events inside rules, or hardly any rule would ever fire.
    for rule in policy.rules[:40]:
        event = maker.event()
        for at, field in enumerate(SCHEMA.fields):
            if not rule.masks[at] >> field.codes[event[field.name]] & 1:
                event[field.name] = maker.random.choice(field.spell(rule.masks[at]))
        events.append(event)
    agree(policy, events)


def test_a_rule_with_a_predicate_on_every_field() -> None:
    maker = Maker(SCHEMA, 4)
    rule = maker.rule("refuse", len(SCHEMA))
    assert len(rule.when) == len(SCHEMA)
    inside = {
        field.name: field.spell(mask)[0]
        for field, mask in zip(SCHEMA.fields, rule.masks, strict=True)
    }
    outside = []
    for field, mask in zip(SCHEMA.fields, rule.masks, strict=True):
        outside.append({**inside, field.name: field.spell(field.full & ~mask)[0]})
    policy = Policy(SCHEMA, (rule,))
    agree(policy, [inside, *outside])
    assert CompiledPolicy(policy).decide_fields(inside).verdict == "refuse"


@pytest.mark.parametrize("size", [0, 1, _CHUNK - 1, _CHUNK, _CHUNK + 1, 2 * _CHUNK + 3])
def test_batches_around_the_borders_of_a_chunk(size: int) -> None:
    maker = Maker(SCHEMA, size)
    policy = maker.policy(70)
    rng = np.random.default_rng(size)
    codes = np.stack([rng.integers(0, len(field.values), size) for field in SCHEMA.fields]).astype(
        np.int8
    )
    compiled = CompiledPolicy(policy)
    batch = compiled.decide_columns(codes)
    single = [CODE[compiled.decide(Event(tuple(row), SCHEMA)).verdict] for row in codes.T.tolist()]
    assert batch.tolist() == single
    # Columns of any layout, and one array a field.
    assert (compiled.decide_columns(np.asfortranarray(codes)) == batch).all()
    assert (compiled.decide_columns(list(codes)) == batch).all()


def test_a_batch_leaves_its_columns_alone_and_may_be_read_only() -> None:
    policy = Maker(SCHEMA, 9).policy(20)
    codes = np.zeros((len(SCHEMA), 10), dtype=np.int8)
    codes.setflags(write=False)
    assert CompiledPolicy(policy).decide_columns(codes).shape == (10,)


def test_decisions_do_not_depend_on_the_order_of_rules_or_of_calls() -> None:
    maker = Maker(SCHEMA, 11)
    policy = maker.policy(50)
    turned = policy.with_rules(reversed(policy.rules))
    events = [Event.build(SCHEMA, maker.event()) for _ in range(300)]
    one, other = CompiledPolicy(policy), CompiledPolicy(turned)
    there = [one.decide(event) for event in events]
    back = [other.decide(event) for event in reversed(events)][::-1]
    assert [answer.verdict for answer in there] == [answer.verdict for answer in back]
    assert [set(answer.rules) for answer in there] == [set(answer.rules) for answer in back]
    assert {answer.policy_hash for answer in there + back} == {policy.policy_hash}


def test_an_event_of_another_unit_or_schema_is_an_error() -> None:
    compiled = CompiledPolicy(Policy(SCHEMA, (), "step"))
    with pytest.raises(UnitMismatchError, match="made for events of unit 'step'"):
        compiled.decide(Event.build(SCHEMA, {}))
    other = Schema(1, {"f": ["a"]})
    with pytest.raises(EventError, match="another schema"):
        compiled.decide(Event.build(other, {}, "step"))
    with pytest.raises(EventError, match="no field 'nothing'"):
        compiled.decide_fields({"nothing": "a"}, "step")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda good: good[:-1], "16 columns for 17 fields"),
        (lambda good: good.astype(np.int16), "int16"),
        (lambda good: good.astype(np.float64), "float64"),
        (lambda good: [*good[:-1], good[-1][:-1]], "is expected"),
        (lambda good: [*good[:-1], np.full(5, 127, dtype=np.int8)], "outside the domain"),
        (lambda good: [*good[:-1], np.full(5, -1, dtype=np.int8)], "outside the domain"),
        (lambda good: [*good[:-1], good[-1].reshape(5, 1)], "is expected"),
    ],
)
def test_bad_columns_are_errors(change: Callable[[Any], Any], message: str) -> None:
    compiled = CompiledPolicy(Maker(SCHEMA, 1).policy(5))
    good = np.zeros((len(SCHEMA), 5), dtype=np.int8)
    assert compiled.decide_columns(good).shape == (5,)
    with pytest.raises(EventError, match=message):
        compiled.decide_columns(change(good))


def test_bad_columns_are_errors_for_an_empty_policy_too() -> None:
    with pytest.raises(EventError):
        CompiledPolicy(Policy(SCHEMA)).decide_columns(np.full((17, 5), 99, dtype=np.int8))


def test_inactive_rules_decide_only_when_told() -> None:
    rule = Rule.build(SCHEMA, "r", "refuse", {"injection": {"in": ["followed"]}})
    policy = Policy(SCHEMA, (rule.with_status("inactive"),))
    event = {"injection": "followed"}
    assert CompiledPolicy(policy).decide_fields(event).verdict == "abstain"
    assert CompiledPolicy(policy, all_rules=True).decide_fields(event).rules == ("r",)
