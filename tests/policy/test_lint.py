"""Each warning on a policy that deserves it, and none on one that does not."""

from __future__ import annotations

import json

import pytest

from vepa.errors import VerificationError
from vepa.policy import Policy, authority, bundled_schema, load_policy
from vepa.policy.lint import LintWarning, lint, lint_text

SCHEMA = bundled_schema()
CLEAN = """\
policy: 1
rules:
- id: r1
  decision: refuse
  when:
    injection: {in: [followed]}
    recipient: {in: [internal, external, public]}
  evidence: {support: 20, contradictions: 0}
  status: active
- id: r2
  decision: allow
  when:
    injection: {in: [none]}
    harm_domain: {in: [none]}
  evidence: {support: 3, contradictions: 0}
  status: inactive
"""


def warnings(old: str = "", new: str = "", text: str = CLEAN) -> list[LintWarning]:
    assert not old or old in text
    return lint_text(text.replace(old, new, 1) if old else text, "p.yaml", SCHEMA)


def test_a_clean_policy_has_no_warning() -> None:
    assert warnings() == []


@pytest.mark.parametrize(
    ("old", "new", "code", "rule", "field", "line"),
    [
        (
            "{in: [internal, external, public]}",
            "{not_in: [none, self]}",
            "not_in_admits_unknown",
            "r1",
            "recipient",
            7,
        ),
        (
            "{in: [internal, external, public]}",
            "{in: [public, internal, external]}",
            "not_canonical",
            "r1",
            None,
            3,
        ),
        (
            "{in: [internal, external, public]}",
            "{in: [internal, external, public, public]}",
            "duplicate_value",
            "r1",
            "recipient",
            7,
        ),
        (
            "{in: [none]}\n    harm_domain: {in: [none]}",
            "{not_in: [followed, unknown]}",
            "only_not_in",
            "r2",
            None,
            10,
        ),
        (
            "{in: [none]}\n    harm_domain: {in: [none]}",
            "{in: [none, unknown]}",
            "allow_admits_unknown",
            "r2",
            None,
            10,
        ),
        (
            "{in: [followed]}\n    recipient: {in: [internal, external, public]}",
            "{in: [followed, ignored, unknown]}",
            "broad",
            "r1",
            None,
            3,
        ),
        ("support: 20", "support: 12", "status_disagrees", "r1", None, 3),
        ("support: 3,", "support: 300,", "status_disagrees", "r2", None, 10),
        ("  status: inactive\n", "", "missing_status", "r2", None, 10),
    ],
)
def test_each_warning(
    old: str, new: str, code: str, rule: str, field: str | None, line: int
) -> None:
    found = [item for item in warnings(old, new) if item.code == code]
    assert [(item.rules, item.field, item.line) for item in found] == [((rule,), field, line)]
    assert found[0].remedy
    json.dumps(found[0].to_dict())


def test_not_in_that_lists_unknown_is_meant() -> None:
    assert warnings("{in: [internal, external, public]}", "{not_in: [none, self, unknown]}") == []
    found = warnings("{in: [internal, external, public]}", "{not_in: [unknown, none, self]}")
    assert [item.code for item in found] == ["not_canonical"]


def test_a_refuse_rule_may_admit_unknown_by_name() -> None:
    assert warnings("[followed]", "[followed, unknown]") == []


def test_an_allow_rule_that_admits_unknown_on_many_fields() -> None:
    wide = "{in: [none, unknown]}"
    many = CLEAN.replace(
        "    injection: {in: [none]}\n    harm_domain: {in: [none]}\n",
        "    injection: {in: [none]}\n"
        + "".join(f"    {name}: {wide}\n" for name in ("recipient", "disclosure", "harm_domain")),
    )
    assert [item.code for item in warnings(text=many)] == ["allow_admits_unknown"]
    fewer = many.replace(f"    disclosure: {wide}\n", "")
    assert warnings(text=fewer) == []


def test_subsumed_and_equivalent_rules_are_warned_about_with_their_line() -> None:
    text = (
        CLEAN
        + CLEAN[CLEAN.index("- id: r1") : CLEAN.index("- id: r2")].replace("r1", "twin")
        + CLEAN[CLEAN.index("- id: r1") : CLEAN.index("- id: r2")]
        .replace("r1", "inner")
        .replace("[internal, external, public]", "[public]")
    )
    assert [(item.code, item.rules, item.line) for item in warnings(text=text)] == [
        ("equivalent", ("r1", "twin"), 3),
        ("subsumed", ("inner", "r1"), 24),
    ]


def test_a_policy_that_never_decides() -> None:
    assert [item.code for item in lint(Policy(SCHEMA))] == ["always_abstains"]
    silent = load_policy(CLEAN).with_rules(
        rule.with_status("inactive") for rule in load_policy(CLEAN).rules
    )
    assert [item.code for item in lint(silent)] == ["always_abstains", "status_disagrees"]


def test_the_gate_may_be_another() -> None:
    from vepa.policy import Threshold

    lax = authority("paper", {"allow": Threshold(target=0.5), "refuse": Threshold(target=0.5)})
    found = lint_text(CLEAN, "p.yaml", SCHEMA, gate=lax)
    assert [(item.code, item.rules) for item in found] == [("status_disagrees", ("r2",))]


def test_a_status_that_disagrees_says_what_the_gate_asks_for() -> None:
    for old, new, asked in (
        ("support: 20", "support: 12", "under 'paper', which asks for 13 for with 0 against"),
        (
            "support: 20, contradictions: 0",
            "support: 31, contradictions: 1",
            "32 for with 1 against",
        ),
    ):
        (item,) = warnings(old, new)
        assert asked in item.message


def test_a_probability_is_what_a_rule_is_judged_by() -> None:
    weak = "{support: 20, contradictions: 9, probability: 0.72}"  # far from enough by counts
    assert warnings("{support: 20, contradictions: 0}", weak) == []
    low = weak.replace("0.72", "0.31")
    (item,) = warnings("{support: 20, contradictions: 0}", low)
    assert item.code == "status_disagrees"
    assert item.message == (
        "rule 'r1' is active; its evidence (20 for, 9 against, precise enough with probability "
        "0.31) makes it inactive by that probability, which has to be 0.5 at least"
    )
    (item,) = warnings("{support: 3, contradictions: 0}", weak)
    assert item.rules == ("r2",)
    assert "makes it active by that probability" in item.message


def test_what_the_verifier_rejects_is_not_linted() -> None:
    with pytest.raises(VerificationError):
        warnings("[followed]", "[]")
