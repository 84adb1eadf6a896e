from __future__ import annotations

import pytest

from vepa.bench.report.evidence import gate_words, needed, weighed
from vepa.policy.authority import Threshold, authority, posterior
from vepa.policy.rule import Evidence


@pytest.mark.parametrize("target", [0.8, 0.95])
@pytest.mark.parametrize("contradictions", range(4))
def test_the_least_support_is_the_first_count_that_passes(target, contradictions):
    gate = authority("paper", {"refuse": Threshold(target=target, confidence=0.9)})
    by_hand = next(
        count for count in range(1000) if posterior(count, contradictions, target) >= 0.9
    )
    assert needed(gate, "refuse", contradictions) == by_hand


def test_the_words_come_from_the_settings():
    (paper,) = gate_words(authority("paper"))
    assert paper.startswith(
        "A rule is active when P(precision ≥ 0.95) ≥ 0.5: 13 supports without a contradiction, "
        "32 with one, "
    )
    lenient, strict = gate_words(authority("paper", {"allow": Threshold(0.8, 0.5)}))
    assert lenient.startswith("A rule that allows is active when P(precision ≥ 0.8) ≥ 0.5: 3 supp")
    assert strict == paper.replace("A rule is", "A rule that refuses is")


def test_a_mode_that_counts_less_says_so():
    assert gate_words(authority("prospective"))[-1].startswith("Only examples that came after")


def test_what_no_evidence_reaches_is_not_promised():
    gate = authority("paper", dict.fromkeys(("allow", "refuse"), Threshold(0.99999, 0.99)))
    assert needed(gate, "allow", 3) is None
    assert gate_words(gate) == ["A rule is active when P(precision ≥ 0.99999) ≥ 0.99."]


@pytest.mark.parametrize("contradictions", range(4))
def test_at_a_share_of_wrong_feedback_the_agreement_that_is_asked_falls(contradictions):
    gate = authority("noise-aware")
    agreement = 0.1 + 0.8 * 0.95
    by_hand = next(n for n in range(1000) if posterior(n, contradictions, agreement) >= 0.5)
    assert needed(gate, "allow", contradictions, 0.1) == by_hand
    without = needed(authority("paper"), "allow", contradictions)
    assert needed(gate, "allow", contradictions, 0.0) == without
    assert needed(gate, "allow", contradictions) == without
    assert needed(authority("paper"), "allow", contradictions, 0.1) == without, "it corrects none"


def test_the_words_of_a_gate_that_corrects_for_wrong_feedback():
    share, rule, committee = gate_words(authority("default"), 0.0997)
    assert share == "About 10 % of the feedback is wrong, by this run's estimate."
    assert rule == (
        "A rule is active when P(precision on true labels ≥ 0.95) ≥ 0.5; at that share, "
        "that takes 4 supports without a contradiction, 10 with one, 16 with two, 22 with three."
    )
    assert "committee of learners" in committee
    assert "its view counts too" in committee
    before, _ = gate_words(authority("default"))
    assert "if all feedback were right, that takes 13 supports without" in before


def test_the_words_of_the_other_modes():
    test, chance, later = gate_words(authority("anytime"))
    assert "in more than 95 % of its cases has multiplied its stake by 20: 66 supports" in test
    assert "P(" not in test
    assert chance.endswith("with a chance of 5 % at most.")
    assert later.startswith("Only examples that came after")
    assert (
        "vouch for a rule: its view counts like up to 6 examples"
        in gate_words(authority("early"))[-1]
    )
    assert gate_words(authority("held-out"))[-1].startswith("Only the half of the examples that")


def test_a_rule_is_weighed_as_its_gate_does_it():
    rule = Evidence(30, 1, 0.914)
    reached, asked, words = weighed(authority("default"), "allow", rule)
    assert (reached, asked) == (0.914, 0.5)
    assert words == "P(precision on true labels ≥ 0.95) = 0.914"
    by_counts = weighed(authority("paper"), "allow", Evidence(30, 1))
    assert by_counts == (posterior(30, 1, 0.95), 0.5, "P(precision ≥ 0.95) = 0.480")
    gate = authority("anytime")
    least = needed(gate, "refuse", 1)
    for support, active in ((least - 1, False), (least, True)):
        reached, asked, words = weighed(gate, "refuse", Evidence(support, 1))
        assert (reached >= asked) is active
        assert words.endswith("; active from × 20 on")
    assert weighed(gate, "refuse", Evidence(0, 5))[0] == 0.0
