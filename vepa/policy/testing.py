"""Policy tests: events with the decision, and the rules, that a policy should answer with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, RootModel, ValidationError, model_validator

from vepa.errors import EventError, InputError, PolicyError, UnitMismatchError, Where
from vepa.policy.document import Document, complaint, parse_document
from vepa.policy.event import Event, Unit
from vepa.policy.matching import CompiledPolicy, Verdict
from vepa.policy.policy import Policy
from vepa.policy.schema import Schema, nearest

__all__ = [
    "TESTS_FORM",
    "PolicyTest",
    "PolicyTests",
    "Report",
    "Result",
    "check_rules",
    "load_tests",
    "run_tests",
]

#: What a tests file looks like, in a line.
TESTS_FORM = (
    "a tests file is a list of `{name?, event: {field: value}, unit?, expect: allow | refuse | "
    "abstain, rules?: [ids]}`"
)


class PolicyTest(BaseModel):
    """One test.

    Attributes
    ----------
    name
        What the test shows; its number when left out.
    event
        Field -> value; fields that are left out are `unknown`.
    unit
        What the event describes.
    expect
        The decision.
    rules
        Ids of exactly the rules that should decide, in any order; not checked when left out.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: str | None = None
    event: dict[str, str]
    unit: Unit = "trajectory"
    expect: Verdict
    rules: list[str] | None = None

    @model_validator(mode="after")
    def _abstaining_has_no_rules(self) -> PolicyTest:
        if self.expect == "abstain" and self.rules:
            raise ValueError("no rule decides when `abstain` is expected; drop `rules`")
        return self


class PolicyTests(RootModel[list[PolicyTest]]):
    """The shape of a file of policy tests: a list of tests."""


@dataclass(frozen=True, slots=True)
class _Case:
    name: str
    event: Event
    expect: Verdict
    rules: frozenset[str] | None
    line: int | None
    rule_lines: Mapping[str, tuple[int | None, str]]


@dataclass(frozen=True, slots=True)
class Result:
    """How one test went.

    Attributes
    ----------
    name
        The test's name.
    passed
        Whether decision and rules are as expected.
    expected, expected_rules
        What the test asks for; rules may be None.
    verdict, rules
        What the policy answered.
    line
        Line of the test in its file.
    """

    name: str
    passed: bool
    expected: Verdict
    expected_rules: tuple[str, ...] | None
    verdict: Verdict
    rules: tuple[str, ...]
    line: int | None

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {
            "name": self.name,
            "passed": self.passed,
            "expected": {
                "verdict": self.expected,
                "rules": None if self.expected_rules is None else list(self.expected_rules),
            },
            "got": {"verdict": self.verdict, "rules": list(self.rules)},
            "line": self.line,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """How the tests of a policy went.

    Attributes
    ----------
    results
        One a test, in the order of the file.
    untested
        Ids of the active rules that no test fires.
    policy_hash
        Hash of the policy that answered.
    """

    results: tuple[Result, ...]
    untested: tuple[str, ...]
    active: int
    policy_hash: str

    @property
    def ok(self) -> bool:
        """True when every test passed."""
        return all(result.passed for result in self.results)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON data."""
        return {
            "ok": self.ok,
            "passed": sum(result.passed for result in self.results),
            "failed": sum(not result.passed for result in self.results),
            "tests": [result.to_dict() for result in self.results],
            "coverage": {
                "active": self.active,
                "fired": self.active - len(self.untested),
                "untested": list(self.untested),
            },
            "policy_hash": self.policy_hash,
        }


def load_tests(text: str, file: str, schema: Schema) -> list[_Case]:
    """Read the text of a tests file.

    Raises
    ------
    PolicyError, EventError
        When it is no list of tests, or an event does not fit the schema; with line and field.
    """
    document = parse_document(text, file, PolicyError)
    try:
        tests = PolicyTests.model_validate(document.data).root
    except ValidationError as error:
        path, message = complaint(error)
        raise PolicyError(
            message,
            where=Where(file, document.line(path), ".".join(map(str, path)) or None),
            remedy=TESTS_FORM,
        ) from None
    if not tests:
        raise PolicyError("no tests in this file", where=Where(file, 1), remedy="write one")
    return [_case(test, at, document, schema) for at, test in enumerate(tests)]


def _case(test: PolicyTest, at: int, document: Document, schema: Schema) -> _Case:
    try:
        event = Event.build(schema, test.event, test.unit)
    except EventError as error:
        path: tuple[str | int, ...] = (at, *(error.where.field or "event").split("."))
        raise _placed(error, document, path) from None
    rules = None if test.rules is None else frozenset(test.rules)
    places = {
        rule: (document.line((at, "rules", i)), f"{at}.rules.{i}")
        for i, rule in enumerate(test.rules or ())
    }
    name = test.name or f"test {at + 1}"
    return _Case(name, event, test.expect, rules, document.line((at,)), places)


def _placed(error: InputError, document: Document, path: tuple[str | int, ...]) -> InputError:
    error.where = Where(document.file, document.line(path), ".".join(map(str, path)))
    return error


def check_rules(cases: Sequence[_Case], policy: Policy) -> None:
    """Refuse tests that name a rule that the policy does not have.

    Raises
    ------
    PolicyError
        With the line of the id.
    """
    known = [rule.id for rule in policy.rules]
    ids = frozenset(known)
    for case in cases:
        for rule, (line, field) in case.rule_lines.items():
            if rule not in ids:
                raise PolicyError(
                    f"the policy has no rule {rule!r}",
                    where=Where(line=line, field=field, label=f"{case.name}, rules"),
                    remedy=nearest(rule, known, "rules"),
                )


def run_tests(compiled: CompiledPolicy, cases: Sequence[_Case]) -> Report:
    """Ask a policy for its answers.

    Raises
    ------
    PolicyError
        When a test names a rule that the policy does not have; with its line.
    UnitMismatchError
        When a test's event is of another unit than the policy; with its line.
    """
    check_rules(cases, compiled.policy)
    results = []
    fired: set[str] = set()
    for case in cases:
        try:
            answer = compiled.decide(case.event)
        except UnitMismatchError as error:
            raise error.at(line=case.line) from None
        fired.update(answer.rules)
        right = case.rules is None or case.rules == set(answer.rules)
        results.append(
            Result(
                case.name,
                answer.verdict == case.expect and right,
                case.expect,
                None if case.rules is None else tuple(sorted(case.rules)),
                answer.verdict,
                answer.rules,
                case.line,
            )
        )
    untested = tuple(rule.id for rule in compiled.rules if rule.id not in fired)
    return Report(tuple(results), untested, len(compiled.rules), compiled.policy_hash)
