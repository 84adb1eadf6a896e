"""What a person made of a policy, as a patch, and what a file cannot give to a rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from vepa.errors import VerificationError
from vepa.policy import Evidence, Policy, Rule, apply, authority, bundled_schema
from vepa.policy.by_hand import PERSON, not_kept, patch_of
from vepa.policy.reading import load_policy
from vepa.policy.rule import Provenance

SCHEMA = bundled_schema()
BORN = Provenance(1, "add", ())


def rule(name: str, value: str, decision: Any = "allow", **known: Any) -> Rule:
    known = {"provenance": BORN, "evidence": Evidence(20, 0), **known}
    return Rule.build(SCHEMA, name, decision, {"recipient": {"in": [value]}}, **known)


PARENT = Policy(
    SCHEMA,
    (
        rule("a", "none"),
        rule("b", "self", "refuse"),
        rule("c", "internal", status="inactive", evidence=Evidence(3, 0)),
    ),
)


def behaviours(policy: Policy) -> dict[str, Any]:
    return {rule.id: rule.key for rule in policy.rules}


def edited(*rules: Rule) -> Policy:
    return PARENT.with_rules(rules)


def handed_in(policy: Policy, **said: str) -> tuple[list[str], Policy]:
    patch = patch_of(PARENT, policy, 4, said)
    made = apply(PARENT, patch)
    assert behaviours(made) == behaviours(policy)
    return [str(operation) for operation in patch.operations], made


A, B, C = PARENT.rules


@pytest.mark.parametrize(
    ("policy", "operations"),
    [
        (edited(A, B, C), []),
        (edited(C, B, A), []),  # the order decides nothing
        (edited(A, B), ["delete"]),
        (edited(A, B, C, rule("n", "public")), ["add"]),
        (edited(A, replace(B, rationale="because"), C), ["rewrite"]),
        (edited(A, rule("b", "public", "refuse"), C), ["rewrite"]),
        (edited(A, replace(B, id="z"), C), ["rewrite"]),
        (edited(replace(A, id="b"), replace(B, id="a"), C), ["delete", "delete", "add", "add"]),
        (edited(replace(A, id="c"), B, rule("n", "public")), ["delete", "delete", "add", "add"]),
    ],
    ids=["none", "order", "delete", "add", "why", "rewrite", "rename", "swapped", "name-taken"],
)
def test_an_edit_is_a_patch_of_the_parent(policy: Policy, operations: list[str]) -> None:
    assert handed_in(policy)[0] == operations


def test_what_behaves_as_before_keeps_its_provenance_and_the_rest_is_a_persons() -> None:
    forged = Provenance(1, "add", ("a", "nobody"))
    new = rule("n", "public", provenance=forged)
    _, made = handed_in(edited(replace(A, id="z"), rule("b", "external", "refuse"), C, new))
    known = {rule.id: rule.provenance for rule in made.rules}
    assert known["z"] == known["c"] == BORN
    assert known["b"] == Provenance(4, "rewrite", ("b",), PERSON)
    assert known["n"] == Provenance(4, "add", ("a",), PERSON)
    assert [rule.id for rule in made.rules if rule.evidence] == ["c"], "the others are judged anew"


@pytest.mark.parametrize(
    ("policy", "said", "held"),
    [
        (edited(replace(A, status="inactive"), B, C), {"a": "inactive"}, {"a"}),
        (edited(replace(A, status="inactive"), B, C), {}, set()),  # the line was left out
        (edited(A, B, replace(C, held=True)), {"c": "inactive"}, {"c"}),
        (edited(A, B, rule("c", "public")), {"c": "inactive"}, set()),  # it was inactive before
        (edited(A, B, C, rule("n", "public")), {"n": "inactive"}, {"n"}),
    ],
    ids=["put-down", "silent", "held", "stays-as-it-was", "new"],
)
def test_inactive_is_held_where_a_person_wrote_it(
    policy: Policy, said: dict[str, str], held: set[str]
) -> None:
    assert {rule.id for rule in handed_in(policy, **said)[1].rules if rule.held} == held


def test_no_evidence_makes_a_held_rule_active() -> None:
    gate = authority("paper")
    enough = Evidence(500, 0)
    assert gate.judge(A, enough).active
    assert not gate.judge(replace(A, held=True), enough).active


def test_what_a_file_says_of_authority_is_told_when_it_is_not_kept() -> None:
    policy = edited(
        replace(A, evidence=Evidence(900, 0)), replace(B, held=True, status="inactive"),
        replace(C, status="active", provenance=Provenance(0, "add", ())),
    )  # fmt: skip
    adopted = apply(PARENT, patch_of(PARENT, policy, 4, {}))
    gate = authority("paper")
    adopted = adopted.with_rules(gate.judge(rule, Evidence(3, 0)) for rule in adopted.rules)
    about = [(remark.rule, remark.about) for remark in not_kept(PARENT, policy, adopted)]
    assert about == [
        ("a", "status"), ("a", "evidence"), ("b", "held"), ("c", "status"), ("c", "provenance"),
    ]  # fmt: skip


TEXT = """\
policy: 1
rules:
- id: a
  decision: refuse
  when: {injection: {in: [followed]}}
"""


def test_the_new_keys_are_read_and_a_file_without_them_keeps_its_hash() -> None:
    plain = load_policy(TEXT)
    assert "held" not in plain.to_yaml()
    assert "source" not in plain.to_yaml()
    told = TEXT + "  provenance: {round: 3, parents: [], source: person}\n  held: true\n"
    policy = load_policy(told)
    (only,) = policy.rules
    assert (only.held, only.status, only.provenance) == (
        True, "inactive", Provenance(3, None, (), "person"),
    )  # fmt: skip
    assert load_policy(policy.to_yaml()).document_hash == policy.document_hash
    assert plain.document_hash != policy.document_hash


def test_a_held_rule_cannot_be_active() -> None:
    with pytest.raises(VerificationError) as caught:
        load_policy(TEXT + "  status: active\n  held: true\n", "p.yaml")
    assert "held" in str(caught.value)
    assert caught.value.where.line == 3
