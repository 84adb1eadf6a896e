"""The evidence gate: the numbers of the source, the posterior, and how modes are joined."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta, binom

from vepa.errors import PolicyError, SettingError
from vepa.policy import (
    Evidence,
    Policy,
    Rule,
    Threshold,
    authority,
    bundled_schema,
    load_policy,
    posterior,
)
from vepa.policy.authority import BETS, COMPONENTS, DEFAULT, ERROR, log_wealth

SCHEMA = bundled_schema()
#: What each component settles, as docs and errors say it.
AXES = {
    "paper": {"evidence", "test", "prior", "part", "gate"},
    "prospective": {"evidence"},
    "held-out": {"part"},
    "noise-aware": {"test"},
    "early": {"prior"},
    "ungated": {"gate"},
    "anytime": {"evidence", "test", "prior", "gate"},
}


@pytest.mark.parametrize(("contradictions", "supports"), [(0, 13), (1, 32), (2, 51), (3, 70)])
@pytest.mark.parametrize("decision", ["allow", "refuse"])
def test_exactly_so_many_supports_are_needed(
    decision: str, contradictions: int, supports: int
) -> None:
    gate = authority("paper")
    enough = [
        support
        for support in range(200)
        if gate.active(decision, Evidence(support, contradictions))
    ]
    assert enough == list(range(supports, 200))
    assert gate.needed(decision, contradictions) == supports


def test_the_posterior_equals_scipy() -> None:
    counts = (0, 1, 2, 5, 13, 70, 400, 5_000)
    targets = (0.5, 0.9, 0.95, 0.99)
    priors = ((1.0, 1.0), (0.5, 0.5), (2.5, 0.7), (9.0, 1.0))
    for support, against, target, prior in itertools.product(counts, counts, targets, priors):
        expected = beta.sf(target, prior[0] + support, prior[1] + against)
        found = posterior(support, against, target, prior)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12), (support, against, target)


def test_thresholds_differ_by_decision() -> None:
    strict = Threshold(target=0.99, confidence=0.9, prior=(0.5, 2.0))
    gate = authority("paper", {"allow": strict, "refuse": Threshold(target=0.8)})
    evidence = Evidence(13, 0)
    assert gate.active("refuse", evidence)
    assert not gate.active("allow", evidence)
    assert posterior(600, 0, 0.99, (0.5, 2.0)) >= 0.9
    assert gate.active("allow", Evidence(600, 0))


def test_judging_sets_evidence_and_status_both_ways() -> None:
    gate = authority()
    rule = Rule.build(SCHEMA, "r", "allow", {"injection": {"in": ["none"]}}, status="inactive")
    up = gate.judge(rule, Evidence(13, 0))
    assert (up.status, up.evidence) == ("active", Evidence(13, 0))
    down = gate.judge(up, Evidence(31, 1))
    assert (down.status, down.evidence) == ("inactive", Evidence(31, 1))


def test_default_is_noise_aware_and_prospective_counts_what_came_after() -> None:
    assert authority().name == authority("default").name == DEFAULT == "noise-aware"
    paper, prospective = authority("paper"), authority("prospective")
    assert paper.counts(1, 5)
    assert not prospective.counts(5, 5)
    assert prospective.counts(6, 5)
    # The test of `prospective` is the one of `paper`.
    for support in (12, 13):
        evidence = Evidence(support, 0)
        assert prospective.active("allow", evidence) is paper.active("allow", evidence)


@pytest.mark.parametrize("mode", ["nonsense", "", "paper+", "paper+nonsense", "Paper"])
def test_an_unknown_mode_is_an_error_that_lists_the_known_ones(mode: str) -> None:
    with pytest.raises(SettingError, match="no authority mode") as caught:
        authority(mode)
    assert all(name in str(caught.value.remedy) for name in COMPONENTS)


@pytest.mark.parametrize("one", COMPONENTS)
@pytest.mark.parametrize("two", COMPONENTS)
def test_what_settles_the_same_cannot_be_joined_and_the_error_names_both(
    one: str, two: str
) -> None:
    shared = AXES[one] & AXES[two]
    if not shared:
        assert authority(f"{one}+{two}").name == f"{one}+{two}"
        return
    with pytest.raises(SettingError, match="settle the same thing") as caught:
        authority(f"{one}+{two}")
    assert f"{one!r} and {two!r}" in str(caught.value)
    assert any(f"which {axis} holds" in str(caught.value.remedy) for axis in shared)
    assert caught.value.where is not None
    assert caught.value.where.field == "authority"


def test_a_third_component_is_held_against_each_of_the_others() -> None:
    joined = authority("noise-aware+early+prospective+held-out")
    assert (joined.corrects, joined.vouches, joined.parts) == (True, True, True)
    assert not joined.retrospective
    with pytest.raises(SettingError, match="joins 'early' and 'anytime'"):
        authority("held-out+early+anytime")


@pytest.mark.parametrize("mode", COMPONENTS)
def test_a_component_leaves_what_it_does_not_settle_as_in_paper(mode: str) -> None:
    gate, paper = authority(mode), authority("paper")
    later = "evidence" in AXES[mode] and mode != "paper"
    assert gate.retrospective is not later
    assert (gate.counts(5, 5), gate.counts(6, 5)) == (not later, True)
    assert gate.corrects is (mode == "noise-aware")
    assert gate.vouches is (mode == "early")
    assert gate.parts is (mode == "held-out")
    if mode not in ("anytime", "ungated"):  # counts alone are tested as ever
        for support, against in ((12, 0), (13, 0), (31, 1), (32, 1)):
            evidence = Evidence(support, against)
            assert gate.active("allow", evidence) is paper.active("allow", evidence)


# What is known about a rule beyond counts


def test_a_probability_that_the_evidence_carries_is_taken_as_it_is() -> None:
    for mode in set(COMPONENTS) - {"ungated"}:
        gate = authority(mode, {"allow": Threshold(confidence=0.8)})
        assert gate.active("allow", Evidence(0, 9, 0.8))
        assert not gate.active("allow", Evidence(999, 0, 0.79))
        assert gate.active("refuse", Evidence(0, 9, 0.5))  # its own threshold


@pytest.mark.parametrize("mode", ["ungated", "noise-aware+ungated", "ungated+prospective"])
def test_without_a_gate_every_rule_may_decide_at_once(mode: str) -> None:
    gate = authority(mode)
    for evidence in (Evidence(0, 0), Evidence(0, 99), Evidence(3, 2, 0.01)):
        assert gate.active("allow", evidence)
        assert gate.active("refuse", evidence)
    assert gate.needed("allow", 0) == 0
    rule = Rule.build(SCHEMA, "r", "allow", {"injection": {"in": ["none"]}})
    assert gate.judge(rule, Evidence(0, 99)).status == "active"
    assert gate.judge(replace(rule, held=True), Evidence(9, 0)).status == "inactive"


def test_a_rule_that_a_person_holds_stays_inactive_whatever_is_known() -> None:
    rule = Rule.build(SCHEMA, "r", "allow", {"injection": {"in": ["none"]}})
    for evidence in (Evidence(999, 0), Evidence(999, 0, 1.0)):
        assert authority().judge(replace(rule, held=True), evidence).status == "inactive"
        assert authority().judge(rule, evidence).status == "active"


def policy(evidence: Evidence) -> Policy:
    rule = Rule.build(SCHEMA, "r", "allow", {"injection": {"in": ["none"]}})
    return Policy(SCHEMA, (rule.with_status("active", evidence),))


def test_a_probability_is_kept_in_files_and_is_no_part_of_what_a_policy_does() -> None:
    known, plain = policy(Evidence(40, 3, 0.734512)), policy(Evidence(40, 3))
    for written, spelled in ((known, True), (plain, False)):
        for text in (written.to_yaml(), written.to_json()):
            assert ("probability" in text) is spelled  # a file of counts alone stays as it was
            again = load_policy(text)
            assert again.rules[0].evidence == written.rules[0].evidence
            assert again.document_hash == written.document_hash
    assert known.policy_hash == plain.policy_hash
    assert known.document_hash != plain.document_hash
    assert Evidence.from_dict({"support": 1, "contradictions": 2, "status": "x"}) == Evidence(1, 2)
    assert Evidence.from_dict(Evidence(1, 2, 0.5).to_dict()) == Evidence(1, 2, 0.5)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, ".nan", "high"])
def test_a_probability_out_of_range_is_told_with_its_place(wrong: object) -> None:
    text = policy(Evidence(40, 3, 0.734512)).to_yaml().replace("0.734512", str(wrong))
    line = next(at for at, row in enumerate(text.splitlines(), 1) if f": {wrong}" in row)
    with pytest.raises(PolicyError) as caught:
        load_policy(text, "p.yaml")
    assert f"p.yaml:{line}" in str(caught.value)
    assert "probability" in str(caught.value)


# The e-process


@pytest.mark.parametrize(("contradictions", "supports"), [(0, 66), (1, 139), (2, 179), (3, 218)])
def test_anytime_asks_for_so_many_supports(contradictions: int, supports: int) -> None:
    gate = authority("anytime")
    assert gate.needed("allow", contradictions) == supports
    assert gate.active("allow", Evidence(supports, contradictions))
    assert not gate.active("allow", Evidence(supports - 1, contradictions))


def wealth(support: int, against: int, target: float) -> float:
    """The mixture of bets by the definition: products of single steps, in plain fractions."""
    bets = {theta: stake for theta, stake in BETS.items() if theta > target} or {1.0: 1.0}
    return sum(
        stake
        / sum(bets.values())
        * (theta / target) ** support
        * ((1.0 - theta) / (1.0 - target)) ** against
        for theta, stake in bets.items()
    )


@pytest.mark.parametrize("target", [0.5, 0.9, 0.95, 0.985, 0.999])
def test_the_wealth_is_the_mixture_of_its_bets(target: float) -> None:
    for support, against in itertools.product((0, 1, 13, 66, 300), (0, 1, 2, 7)):
        expected = wealth(support, against, target)
        found = math.exp(log_wealth(support, against, target))
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-300), (support, against)
    assert log_wealth(0, 0, target) == pytest.approx(0.0, abs=1e-12)  # one begins with one stake


@pytest.mark.parametrize("target", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("below", [0.0, 0.02, 0.3])
def test_no_precision_up_to_the_target_is_expected_to_win(target: float, below: float) -> None:
    theta = target - below
    for size in (1, 2, 7, 30, 60):
        expected = sum(
            float(binom.pmf(support, size, theta))
            * math.exp(log_wealth(support, size - support, target))
            for support in range(size + 1)
        )
        assert expected <= 1.0 + 1e-9, size
        if not below:
            assert expected == pytest.approx(1.0, abs=1e-9)  # at the target the bets are fair


def test_a_rule_at_the_target_is_rarely_ever_let_pass_however_often_one_looks() -> None:
    """Ville: over the whole path the chance of ever being active stays below ERROR.

    Exact for 400 examples: what is left of the mass that has not stopped, example by example.
    """
    gate, size, theta = authority("anytime"), 400, 0.95
    alive, passed = np.zeros(size + 1), 0.0
    alive[0] = 1.0  # by contradictions so far
    for step in range(1, size + 1):
        moved = theta * alive
        moved[1:] += (1.0 - theta) * alive[:-1]
        for against in range(min(step, 20) + 1):  # beyond, nothing passes within 400
            if moved[against] and gate.active("allow", Evidence(step - against, against)):
                passed += moved[against]
                moved[against] = 0.0
        alive = moved
    assert 0.005 < passed <= ERROR
    assert gate.needed("allow", 20) > size


@pytest.mark.parametrize(
    "wrong",
    [
        {"target": 0.0},
        {"target": 1.0},
        {"confidence": 1.5},
        {"confidence": float("nan")},
        {"prior": (0.0, 1.0)},
        {"prior": (1.0, -1.0)},
    ],
)
def test_thresholds_out_of_range_are_errors(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingError):
        Threshold(**wrong)
