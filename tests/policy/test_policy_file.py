"""Policy files: both formats without loss, hashes, and findings with their lines."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import policies

from vepa.errors import PolicyError, VerificationError
from vepa.policy import (
    Evidence,
    Policy,
    Predicate,
    Provenance,
    Rule,
    Schema,
    bundled_schema,
    load_policy,
    read_policy,
)

SCHEMA = bundled_schema()
GOOD = """\
policy: 1
unit: trajectory
rules:
- id: r1
  decision: refuse
  when:
    injection: {in: [followed]}
    recipient: {not_in: [none, self, unknown]}
  rationale: an instruction that somebody planted
  provenance: {round: 3, operation: add, parents: [r0]}
  evidence: {support: 14, contradictions: 0}
  status: active
- id: r2
  decision: allow
  when:
    injection: {in: [none]}
"""


@pytest.mark.property
@given(policies())
def test_yaml_and_json_are_without_loss(policy: Policy) -> None:
    for text in (policy.to_yaml(), policy.to_json()):
        again = load_policy(text, schema=policy.schema)
        assert again == policy
        assert again.document_hash == policy.document_hash
        assert again.policy_hash == policy.policy_hash
    assert json.loads(policy.to_json()) == policy.to_dict()


@pytest.mark.property
@given(policies(), st.randoms(use_true_random=False))
def test_the_policy_hash_ignores_what_no_decision_depends_on(policy: Policy, random: Any) -> None:
    rules = list(policy.rules)
    random.shuffle(rules)
    other = policy.canonical().with_rules(
        replace(rule, rationale="other", provenance=Provenance(7, "merge"), evidence=Evidence(1, 1))
        for rule in policy.canonical().with_rules(rules).rules
    )
    assert other.policy_hash == policy.policy_hash
    assert policy.canonical().policy_hash == policy.policy_hash
    if rules:
        assert other.document_hash != policy.document_hash


def rule(**known: Any) -> Rule:
    return Rule.build(SCHEMA, "r", "allow", {"injection": {"in": ["none", "ignored"]}}, **known)


BASE = Policy(SCHEMA, (rule(),))


@pytest.mark.parametrize(
    "other",
    [
        Policy(SCHEMA, ()),
        Policy(SCHEMA, (rule(),), "step"),
        Policy(SCHEMA, (rule(status="inactive"),)),
        Policy(SCHEMA, (replace(rule(), id="s"),)),
        Policy(SCHEMA, (replace(rule(), decision="refuse"),)),
        Policy(SCHEMA, (Rule.build(SCHEMA, "r", "allow", {"injection": {"in": ["none"]}}),)),
        Policy(Schema(2, {f.name: f.values for f in SCHEMA.fields}), (rule(),)),
    ],
)
def test_the_policy_hash_tells_apart_what_decides_otherwise(other: Policy) -> None:
    assert other.policy_hash != BASE.policy_hash
    assert other.document_hash != BASE.document_hash


@pytest.mark.parametrize(
    "other",
    [
        rule(rationale="why"),
        rule(provenance=Provenance(1, "add")),
        rule(provenance=Provenance(1, "add", ("p",))),
        rule(evidence=Evidence(0, 0)),
        rule(evidence=Evidence(0, 1)),
        Rule.build(SCHEMA, "r", "allow", {"injection": {"not_in": ["followed", "unknown"]}}),
        Rule.build(SCHEMA, "r", "allow", {"injection": {"in": ["ignored", "none"]}}),
    ],
)
def test_the_document_hash_covers_everything(other: Rule) -> None:
    changed = Policy(SCHEMA, (other,))
    assert changed.policy_hash == BASE.policy_hash
    assert changed.document_hash != BASE.document_hash


def test_hashes_are_the_same_in_every_process() -> None:
    # Frozen on purpose: whoever changes a hash breaks every audit log that names one.
    policy = load_policy(GOOD)
    assert policy.policy_hash == GOOD_HASH
    assert policy.document_hash == GOOD_DOCUMENT_HASH


GOOD_HASH = "b27fc1b0789703189c0f44c2ff7b272cd06c4cafbf61d4fada4fc389b08ff403"
GOOD_DOCUMENT_HASH = "8540a62e35405be5096dec935eae76f3deb84cc5639d809a3c9198ab0114940f"


def test_schema_and_unit_may_be_left_out() -> None:
    policy = load_policy("policy: 1\nrules: []\n")
    assert (policy.schema, policy.unit, policy.rules) == (SCHEMA, "trajectory", ())


@pytest.mark.parametrize(
    ("evidence", "status", "expected"),
    [
        ("", "", "active"),
        ("", "status: inactive", "inactive"),
        ("evidence: {support: 99, contradictions: 0}", "", "inactive"),
        ("evidence: {support: 0, contradictions: 9}", "status: active", "active"),
    ],
)
def test_a_rule_is_active_when_a_file_carries_no_evidence(
    evidence: str, status: str, expected: str
) -> None:
    more = ", ".join(filter(None, (evidence, status)))
    text = (
        "policy: 1\nrules:\n- {id: r, decision: allow, when: {injection: {in: [none]}}"
        f"{', ' + more if more else ''}}}\n"
    )
    assert load_policy(text).rules[0].status == expected


@pytest.mark.parametrize(
    ("old", "new", "code", "line", "message"),
    [
        (
            "injection: {in: [followed]}",
            "injektion: {in: [followed]}",
            "unknown_field",
            7,
            "no field 'injektion'",
        ),
        ("[followed]", "[folowed]", "unknown_value", 7, "'folowed' is not in the domain"),
        ("[followed]", "[]", "unsatisfiable_predicate", 4, "no value of 'injection'"),
        ("{in: [followed]}", "{not_in: []}", "vacuous_predicate", 4, "every value"),
        ("{in: [followed]}", "{in: [followed], not_in: [none]}", "malformed", 7, "either"),
        ("{in: [followed]}", "{}", "malformed", 7, "either"),
        ("{in: [followed]}", "{equals: followed}", "malformed", 7, "not known here"),
        ("{in: [followed]}", "followed", "malformed", 7, "mapping"),
        ("[followed]", "followed", "malformed", 7, "list"),
        ("[followed]", "[no]", "malformed", 7, "yes/no value false"),
        ("[followed]", "[12]", "malformed", 7, "number 12"),
        ("[followed]", "[1.5]", "malformed", 7, "number 1.5"),
        ("[followed]", "[~]", "malformed", 7, "null"),
        ("[followed]", f"[{', '.join(['followed'] * 1001)}]", "malformed", 7, "at most 1000"),
        ("decision: refuse", "decision: deny", "malformed", 5, "'allow' or 'refuse'"),
        ("decision: refuse", "decision: true", "malformed", 5, "'allow' or 'refuse'"),
        ("decision: refuse", "descision: refuse", "malformed", 4, "missing"),
        ("status: active", "status: on", "malformed", 12, "'active' or 'inactive'"),
        ("support: 14", "support: -1", "malformed", 11, "greater than or equal to 0"),
        ("support: 14", "support: 1.5", "malformed", 11, "whole number"),
        ("support: 14", "support: many", "malformed", 11, "whole number"),
        ("support: 14", "support: .nan", "malformed", 11, "number"),
        ("round: 3", "round: three", "malformed", 10, "whole number"),
        ("unit: trajectory", "unit: step call", "malformed", 2, "'trajectory', 'step' or 'call'"),
        ("policy: 1", "policy: 2", "malformed", 1, "1"),
        ("policy: 1\n", "", "malformed", 1, "missing"),
        ("id: r1", "id: 1", "malformed", 4, "not the number 1"),
        ("id: r1", "id: r2", "duplicate_id", 13, "'r2' occurs twice"),
        ("id: r1", "id: ''", "too_large", 4, "1 to 128 characters"),
        (
            "injection: {in: [none]}",
            "scope: {in: [within]}",
            "conflict",
            13,
            "rule 'r2' allows and rule 'r1' refuses",
        ),
        ("    injection: {in: [none]}\n", "    {}\n", "empty_conjunction", 13, "no predicate"),
    ],
)
def test_each_fault_has_its_code_line_and_remedy(
    old: str, new: str, code: str, line: int, message: str
) -> None:
    assert GOOD.count(old) >= 1
    wrong = GOOD.replace(old, new, 1)
    found = read_policy(wrong, "p.yaml")
    assert found.policy is None
    item = found.feedback[0]
    assert (item.code, item.line) == (code, line)
    assert message in item.message
    assert item.remedy
    assert item.rejects
    with pytest.raises(VerificationError) as caught:
        load_policy(wrong, "p.yaml")
    assert str(caught.value).startswith(f"p.yaml:{line}: ")
    # The same data as JSON has the same finding, with a line of its own.
    if code != "malformed":
        from vepa.policy.document import parse_document

        as_json = json.dumps(parse_document(wrong).data, indent=1)
        (again, *_) = read_policy(as_json, "p.json").feedback
        assert (again.code, again.message) == (item.code, item.message)
        assert again.line is not None


def test_every_finding_is_told_not_only_the_first() -> None:
    wrong = GOOD.replace("[followed]", "[folowed]").replace("[none]", "[nun]")
    assert [item.line for item in read_policy(wrong).feedback] == [7, 16]


def test_a_policy_of_another_schema_is_refused() -> None:
    other = Schema(2, {"a": ["x"]})
    text = Policy(other).to_yaml()
    (item,) = read_policy(text, "p.yaml").feedback
    assert (item.code, item.line, item.field) == ("schema_mismatch", 2, "schema")
    assert "--schema" in str(item.remedy)
    assert load_policy(text, schema=other).schema == other


@pytest.mark.parametrize(
    "text", ["- 1\n", "just words\n", "42\n", "null\n", "policy: 1\nrules: {}\n"]
)
def test_what_is_no_policy_at_all(text: str) -> None:
    with pytest.raises(PolicyError) as caught:
        load_policy(text, "p.yaml")
    assert caught.value.where.line == (2 if "rules" in text else 1)
    assert caught.value.remedy


def test_no_rule_admits_unknown_without_saying_so() -> None:
    """Where nobody spelled a set, `not_in` is used only when it names `unknown`."""
    schema = Schema(1, {"a": ["x", "y", "z", "w"]})
    for mask in range(1, schema.full[0]):
        rule = Rule.from_masks(schema, "r", "allow", (mask,))
        predicate = rule.when["a"]
        assert ("unknown" in predicate.values) == (bool(mask & 1) == (predicate.operator == "in"))
        assert Rule.build(schema, "r", "allow", rule.when).masks == (mask,)


def test_canonical_form_keeps_the_operator_and_sorts_values() -> None:
    schema = Schema(1, {"a": ["x", "y", "z"], "b": ["p", "q"]})
    rule = Rule.build(
        schema, "r", "allow", {"b": {"in": ["q"]}, "a": {"not_in": ["unknown", "y", "x", "x"]}}
    )
    when = rule.canonical(schema).when
    assert list(when) == ["a", "b"]
    assert when["a"] == Predicate("not_in", ("x", "y", "unknown"))


@pytest.mark.parametrize("given", ["true", "yes", "1.0"])
def test_the_format_is_a_whole_number(given: str) -> None:
    found = read_policy(f"policy: {given}\nrules: []\n")
    assert found.policy is None
    assert found.feedback[0].message.startswith("1 belongs here")
    assert read_policy("policy: 1\nrules: []\n").ok
