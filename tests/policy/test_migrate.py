"""Migration to another schema: decisions on old events stay, proven over every event."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import policies, schemas
from naive import all_events, decide, domains, fault

from vepa.errors import PolicyError, SchemaError
from vepa.policy import Evidence, Policy, Rule, Schema, verify
from vepa.policy.migrate import migrate
from vepa.policy.translation import MappingFile, Translation, load_mapping

OLD = Schema(1, {"f": list("abc"), "g": list("ab")})


def rule(name: str, decision: Any = "allow", **when: Any) -> Rule:
    known = {key: when.pop(key) for key in ("status", "evidence") if key in when}
    return Rule.build(OLD, name, decision, when, **known)


@st.composite
def changes(draw: Any, old: Schema) -> tuple[Schema, MappingFile]:
    """A later schema with a mapping: fields and values kept, renamed, removed, merged, added."""
    fields: dict[str, list[str]] = {}
    told_fields: dict[str, str | None] = {}
    told_values: dict[str, dict[str, str | None]] = {}
    for field in old.fields:
        fate = draw(st.sampled_from(["keep", "keep", "keep", "rename", "remove"]))
        if fate == "remove":
            told_fields[field.name] = None
            continue
        name = field.name
        if fate == "rename":
            name = told_fields[field.name] = f"{field.name}_new"
        values: list[str] = []
        for value in field.values[1:]:
            way = draw(st.sampled_from(["keep", "keep", "keep", "rename", "remove", "merge"]))
            if way == "keep":
                values.append(value)
            else:
                to = {"rename": f"{value}_new", "remove": None, "merge": "merged"}[way]
                told_values.setdefault(field.name, {})[value] = to
                if to is not None:
                    values.append(to)
        values += draw(st.sampled_from([[], ["extra"], ["extra", "more"]]))
        fields[name] = list(dict.fromkeys(values)) or ["extra"]
    if draw(st.booleans()) or not fields:
        fields["added"] = ["x", "y"]
    order = draw(st.permutations(sorted(fields)))
    new = Schema(2, {name: fields[name] for name in order})
    return new, MappingFile(fields=told_fields, values=told_values)


@pytest.mark.property
@given(st.data())
def test_decisions_on_old_events_do_not_change(data: st.DataObject) -> None:
    old = data.draw(schemas())
    policy = data.draw(policies(old))
    new, mapping = data.draw(changes(old))
    translation = Translation.build(old, new, mapping)
    before = policy.to_dict()
    told = [(event, translation.event(event)) for event in all_events(old)]
    # Whether any policy over the new schema could decide as this one does.
    answers: dict[str, set[tuple[str, tuple[str, ...]]]] = {}
    for event, now in told:
        verdict, rules = decide(before, event, all_rules=True)
        answers.setdefault(str(sorted(now.items())), set()).add((verdict, tuple(rules)))
    possible = all(len(found) == 1 for found in answers.values())
    refused: PolicyError | None = None
    try:
        result = migrate(policy, new, mapping)
    except PolicyError as error:
        refused = error
    if refused is not None:
        assert "would change" in refused.message
        assert refused.remedy
        assert not possible or _blurred(policy, translation)
        lossy = migrate(policy, new, mapping, lossy=True)
        assert lossy.losses
        after = lossy.policy.to_dict()
        assert fault(after, domains(new)) is None
        for event, now in told:
            verdict, rules = decide(after, now, all_rules=True)
            was, old_rules = decide(before, event, all_rules=True)
            assert verdict in (was, "abstain")
            assert set(rules) <= set(old_rules)
        return
    after = result.policy.to_dict()
    assert fault(after, domains(new)) is None
    assert result.losses == ()
    for event, now in told:
        for all_rules in (False, True):
            assert decide(after, now, all_rules=all_rules) == decide(
                before, event, all_rules=all_rules
            )
    kept = {rule.id: rule for rule in policy.rules}
    for moved in result.policy.rules:
        one = kept[moved.id]
        assert (
            moved.decision,
            moved.status,
            moved.evidence,
            moved.provenance,
            moved.rationale,
        ) == (
            one.decision,
            one.status,
            one.evidence,
            one.provenance,
            one.rationale,
        )


def _blurred(policy: Policy, translation: Translation) -> bool:
    """Whether some rule, taken alone, tells apart what becomes alike."""
    for one in policy.to_dict()["rules"]:
        alone = {"rules": [one]}
        seen: dict[str, str] = {}
        for event in all_events(policy.schema):
            now = str(sorted(translation.event(event).items()))
            verdict = decide(alone, event, all_rules=True)[0]
            if seen.setdefault(now, verdict) != verdict:
                return True
    return False


def test_a_new_field_needs_nothing() -> None:
    new = Schema(2, {"g": list("ab"), "h": ["x"], "f": list("abc")})
    policy = Policy(OLD, (rule("r", f={"not_in": ["a", "unknown"]}),))
    result = migrate(policy, new)
    assert result.rewritten == ()
    assert result.policy.rules[0].when == policy.rules[0].when
    assert result.policy.schema == new


def test_a_new_value_is_not_admitted_by_an_old_not_in() -> None:
    new = Schema(2, {"f": list("abcd"), "g": list("ab")})
    policy = Policy(
        OLD,
        (
            rule("negative", f={"not_in": ["a"]}),
            rule("positive", "refuse", f={"in": ["a"]}, g={"in": ["b"]}),
            rule("free", "refuse", f={"in": ["a"]}),
        ),
    )
    result = migrate(policy, new)
    assert result.rewritten == ("negative",)
    written = {r["id"]: r for r in result.policy.to_dict()["rules"]}
    for value, expected in [("b", "allow"), ("unknown", "allow"), ("d", "abstain")]:
        assert decide(result.policy.to_dict(), {"f": value})[0] == expected
    assert written["positive"]["when"] == policy.to_dict()["rules"][1]["when"]


def test_a_removal_that_no_rule_depends_on_needs_only_the_mapping() -> None:
    policy = Policy(OLD, (rule("r", f={"in": ["a"]}),))
    new = Schema(2, {"f": list("abc")})
    with pytest.raises(SchemaError, match="no field 'g'") as caught:
        migrate(policy, new)
    assert "fields: {g: NEW or null}" in str(caught.value.remedy)
    assert migrate(policy, new, MappingFile(fields={"g": None})).losses == ()


def test_a_removed_field_that_a_rule_uses_is_refused_or_drops_the_rule() -> None:
    policy = Policy(OLD, (rule("r", f={"in": ["a"]}, g={"in": ["a"]}), rule("s", f={"in": ["b"]})))
    new = Schema(2, {"f": list("abc")})
    mapping = MappingFile(fields={"g": None})
    with pytest.raises(PolicyError, match="rule 'r' depends on the removed field 'g'") as caught:
        migrate(policy, new, mapping)
    assert "--lossy" in str(caught.value.remedy)
    result = migrate(policy, new, mapping, lossy=True)
    assert [rule.id for rule in result.policy.rules] == ["s"]
    assert [(loss.rule, loss.field, loss.dropped) for loss in result.losses] == [("r", "g", True)]


def test_merged_values_are_kept_when_no_rule_tells_them_apart() -> None:
    new = Schema(2, {"f": ["ab", "c"], "g": list("ab")})
    mapping = MappingFile(values={"f": {"a": "ab", "b": "ab"}})
    both = Policy(OLD, (rule("r", f={"in": ["a", "b"]}),))
    assert migrate(both, new, mapping).policy.rules[0].when["f"].values == ("ab",)
    one = Policy(OLD, (rule("r", f={"in": ["a", "c"]}, evidence=Evidence(20, 0)),))
    with pytest.raises(PolicyError, match="'a', 'b' of 'f' become alike"):
        migrate(one, new, mapping)
    (narrowed,) = migrate(one, new, mapping, lossy=True).policy.rules
    assert narrowed.when["f"].values == ("c",)
    assert (narrowed.evidence, narrowed.status) == (None, "inactive")


def test_fields_and_values_may_swap_their_names() -> None:
    new = Schema(2, {"g": list("abc"), "f": list("ab")})
    mapping = MappingFile(fields={"f": "g", "g": "f"}, values={"f": {"a": "b", "b": "a"}})
    policy = Policy(OLD, (rule("r", f={"in": ["a"]}, g={"in": ["b"]}),))
    (moved,) = migrate(policy, new, mapping).policy.to_dict()["rules"]
    assert moved["when"] == {"g": {"in": ["b"]}, "f": {"in": ["b"]}}


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"fields": {"x": "f"}}, "the old schema has no field 'x'"),
        ({"values": {"x": {}}}, "the old schema has no field 'x'"),
        ({"values": {"f": {"z": "a"}}}, "'z' is no value of the old field 'f'"),
        ({"values": {"f": {"unknown": "a"}}}, "'unknown' is no value"),
        ({"fields": {"f": "x"}}, "the new schema has no field 'x'"),
        ({"values": {"f": {"a": "x"}}}, "the new field 'f' has no value 'x'"),
        ({"fields": {"g": "f"}}, "'f' and 'g' both become 'f'"),
    ],
)
def test_a_mapping_that_does_not_fit_is_an_error(mapping: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message) as caught:
        migrate(Policy(OLD), OLD, MappingFile(**mapping))
    assert caught.value.where.field
    assert caught.value.remedy


def test_a_value_that_is_gone_needs_a_mapping() -> None:
    new = Schema(2, {"f": list("ab"), "g": list("ab")})
    with pytest.raises(SchemaError, match="'f' has no value 'c'") as caught:
        migrate(Policy(OLD), new)
    assert "values: {f: {c: NEW or null}}" in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("text", "line"),
    [("fields: [f]\n", 1), ("fields:\n  f: 1\n", 2), ("feilds: {}\n", 1), ("- f\n", 1)],
)
def test_what_is_no_mapping_file(text: str, line: int) -> None:
    with pytest.raises(SchemaError) as caught:
        load_mapping(text, "m.yaml")
    assert (caught.value.where.file, caught.value.where.line) == ("m.yaml", line)
    assert caught.value.remedy


def test_a_mapping_file_says_null_for_removed() -> None:
    mapping = load_mapping("fields: {f: null, g: h}\nvalues: {g: {a: ~, b: c}}\n", "m.yaml")
    assert mapping.fields == {"f": None, "g": "h"}
    assert mapping.values == {"g": {"a": None, "b": "c"}}


def test_the_migrated_policy_is_verified() -> None:
    result = migrate(Policy(OLD, (rule("r", f={"in": ["a"]}),)), OLD)
    assert verify(result.policy).ok
