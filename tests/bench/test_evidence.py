from __future__ import annotations

import pytest

from vepa.bench.report.evidence import gate_words, needed
from vepa.policy.authority import Threshold, authority, posterior


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
