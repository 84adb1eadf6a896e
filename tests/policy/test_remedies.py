"""Mistakes of shape in a policy file: each with its remedy, and a place that people read."""

from __future__ import annotations

import pytest

from vepa.policy import Feedback, read_policy
from vepa.policy.remedies import GENERAL


def findings(rule: str) -> list[Feedback]:
    found = read_policy(f"policy: 1\nrules:\n- {rule}\n")
    assert found.policy is None
    return list(found.feedback)


@pytest.mark.parametrize(
    ("rule", "field", "place", "remedy"),
    [
        (
            "{id: a, decision: deny, when: {injection: {in: [none]}}}",
            "rules.0.decision",
            "rule 'a', decision",
            "use allow or refuse",
        ),
        (
            "{decision: allow, when: {injection: {in: [none]}}}",
            "rules.0.id",
            "rule 1, id",
            "add `id: NAME`",
        ),
        (
            "{id: a, decision: allow, when: {injection: {equals: none}}}",
            "rules.0.when.injection.equals",
            "rule 'a', when.injection.equals",
            "write {in: [none]}",
        ),
        (
            "{id: a, decision: allow, when: {injection: {not_equals: followed}}}",
            "rules.0.when.injection.not_equals",
            "rule 'a', when.injection.not_equals",
            "write {not_in: [followed]}",
        ),
        (
            "{id: a, decision: allow, when: {injection: none}}",
            "rules.0.when.injection",
            "rule 'a', when.injection",
            "write {in: [none]}",
        ),
        (
            "{id: a, decision: allow, when: {injection: [none, ignored]}}",
            "rules.0.when.injection",
            "rule 'a', when.injection",
            "write {in: [none, ignored]}",
        ),
        (
            "{id: a, decision: allow, when: {injection: {not_in: none}}}",
            "rules.0.when.injection.not_in",
            "rule 'a', when.injection.not_in",
            "write {not_in: [none]}",
        ),
        (
            "{id: a, decision: allow, when: {injection: {in: [none, no]}}}",
            "rules.0.when.injection.in.1",
            "rule 'a', when.injection.in, entry 2",
            "quote a word",
        ),
        (
            "{id: a, decision: allow, when: {injection: {in: [none]}}, reason: x}",
            "rules.0.reason",
            "rule 'a', reason",
            "keys: id, decision, when, rationale",
        ),
        ("{id: a, decision: allow, when: []}", "rules.0.when", "rule 'a', when", GENERAL),
        ("followed", "rules.0", "rule 1", GENERAL),
    ],
)
def test_each_kind_of_mistake_has_its_remedy(
    rule: str, field: str, place: str, remedy: str
) -> None:
    (item,) = findings(rule)
    assert (item.field, item.place) == (field, place)
    assert str(item.remedy).startswith(remedy)


def test_what_the_remedy_says_is_read() -> None:
    (item,) = findings("{id: a, decision: allow, when: {injection: {equals: none}}}")
    written = str(item.remedy).removeprefix("write ")
    text = f"policy: 1\nrules: [{{id: a, decision: allow, when: {{injection: {written}}}}}]\n"
    assert read_policy(text).policy is not None


@pytest.mark.parametrize(
    ("field", "rules", "place"),
    [
        (None, (), None),
        ("injection", ("a",), "injection"),
        ("rules", (), "rules"),
        ("rules.x", (), "rules.x"),
        ("rules.3", (), "rule 4"),
        ("rules.3.evidence.support", ("a",), "rule 'a', evidence.support"),
        ("rules.3.provenance.parents.0", ("a",), "rule 'a', provenance.parents, entry 1"),
    ],
)
def test_places(field: str | None, rules: tuple[str, ...], place: str | None) -> None:
    assert Feedback("malformed", "wrong", rules, field).place == place
