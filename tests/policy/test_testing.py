"""Policy tests: what passes, what fails, what is covered, and what is no tests file."""

from __future__ import annotations

import json

import pytest

from vepa.errors import InputError, UnitMismatchError
from vepa.policy import CompiledPolicy, Policy, Rule, bundled_schema
from vepa.policy.testing import Report, load_tests, run_tests

SCHEMA = bundled_schema()
POLICY = Policy(
    SCHEMA,
    (
        Rule.build(SCHEMA, "r1", "refuse", {"injection": {"in": ["followed"]}}),
        Rule.build(
            SCHEMA,
            "r2",
            "refuse",
            {"injection": {"in": ["followed"]}, "recipient": {"in": ["public"]}},
        ),
        Rule.build(SCHEMA, "r3", "allow", {"injection": {"in": ["none"]}}),
        Rule.build(SCHEMA, "r4", "allow", {"injection": {"in": ["ignored"]}}, status="inactive"),
    ),
)


def run(text: str, policy: Policy = POLICY) -> Report:
    return run_tests(CompiledPolicy(policy), load_tests(text, "t.yaml", SCHEMA))


@pytest.mark.parametrize(
    ("test", "passed"),
    [
        ("{event: {injection: followed}, expect: refuse}", True),
        ("{event: {injection: followed}, expect: allow}", False),
        ("{event: {injection: followed}, expect: abstain}", False),
        ("{event: {injection: followed}, expect: refuse, rules: [r1]}", True),
        ("{event: {injection: followed}, expect: refuse, rules: [r2]}", False),
        ("{event: {injection: followed}, expect: refuse, rules: [r1, r2]}", False),
        ("{event: {injection: followed}, expect: refuse, rules: []}", False),
        (
            "{event: {injection: followed, recipient: public}, expect: refuse, rules: [r2, r1]}",
            True,
        ),
        ("{event: {injection: ignored}, expect: abstain}", True),
        ("{event: {injection: ignored}, expect: abstain, rules: []}", True),
        ("{event: {injection: ignored}, expect: allow, rules: [r4]}", False),
        ("{event: {}, expect: abstain}", True),
    ],
)
def test_decision_and_exactly_the_rules(test: str, passed: bool) -> None:
    report = run(f"- {test}\n")
    assert [result.passed for result in report.results] == [passed]
    assert report.ok is passed


def test_the_report_names_lines_and_rules_that_no_test_fires() -> None:
    report = run(
        "- {name: planted, event: {injection: followed}, expect: refuse}\n"
        "# one more\n"
        "- {event: {injection: ignored}, expect: allow}\n"
    )
    assert [(r.name, r.line, r.passed) for r in report.results] == [
        ("planted", 1, True),
        ("test 2", 3, False),
    ]
    assert report.untested == ("r2", "r3")
    data = json.loads(json.dumps(report.to_dict()))
    assert (data["ok"], data["passed"], data["failed"]) == (False, 1, 1)
    assert data["coverage"] == {"active": 3, "fired": 1, "untested": ["r2", "r3"]}
    assert data["policy_hash"] == POLICY.policy_hash


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("tests: []\n", 1, "a list belongs here"),
        ("[]\n", 1, "no tests"),
        ("- {event: {}}\n", 1, "missing"),
        ("- {event: {}, expect: maybe}\n", 1, "'allow', 'refuse' or 'abstain'"),
        ("- {event: {}, expect: abstain, rules: [r1]}\n", 1, "drop `rules`"),
        ("- event: {}\n  expect: allow\n  ruels: [r1]\n", 3, "not known here"),
        ("- event:\n    injektion: none\n  expect: allow\n", 2, "no field 'injektion'"),
        (
            "- event: {}\n  expect: allow\n- event:\n    injection: nope\n  expect: allow\n",
            4,
            "'nope' is not in the domain",
        ),
        ("- event: {injection: no}\n  expect: allow\n", 1, "yes/no value false"),
        ("- event: {}\n  unit: galaxy\n  expect: allow\n", 2, "'trajectory', 'step' or 'call'"),
    ],
)
def test_what_is_no_tests_file(text: str, line: int, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        run(text)
    assert (caught.value.where.file, caught.value.where.line) == ("t.yaml", line)
    assert caught.value.remedy


def test_a_test_of_another_unit_is_an_error_with_its_line() -> None:
    with pytest.raises(UnitMismatchError) as caught:
        run("- {event: {}, expect: abstain}\n- {event: {}, unit: step, expect: abstain}\n")
    assert caught.value.where.line == 2
    step = Policy(SCHEMA, (), "step")
    assert run("- {event: {}, unit: step, expect: abstain}\n", step).ok
