"""The evidence gate: the numbers of the source, the posterior, and how modes are joined."""

from __future__ import annotations

import itertools

import pytest
from scipy.stats import beta

from vepa.errors import SettingError
from vepa.policy import Evidence, Rule, Threshold, authority, bundled_schema, posterior
from vepa.policy.authority import COMPONENTS

SCHEMA = bundled_schema()


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


def test_default_is_paper_and_prospective_counts_what_came_after() -> None:
    assert authority().name == authority("default").name == "paper"
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


@pytest.mark.parametrize("mode", ["paper+paper", "paper+prospective", "prospective+default"])
def test_modes_that_settle_the_same_cannot_be_joined(mode: str) -> None:
    with pytest.raises(SettingError, match="settle the same"):
        authority(mode)


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
