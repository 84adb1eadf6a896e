"""What a rule needs by its counts where feedback is wrong, and how a model is told."""

from __future__ import annotations

import json

import pytest

from vepa.evolution.needs import at_wrong_feedback
from vepa.evolution.proposers.llm.lines import gate_line
from vepa.policy import Evidence, Threshold, authority


def test_the_target_becomes_the_agreement_that_such_feedback_shows():
    gate = authority("noise-aware", {"refuse": Threshold(0.9, 0.7, (2.0, 1.0))})
    found = at_wrong_feedback(gate, 0.1).thresholds
    assert found["allow"].target == pytest.approx(0.1 + 0.8 * 0.95)
    assert found["refuse"].target == pytest.approx(0.1 + 0.8 * 0.9)
    assert (found["refuse"].confidence, found["refuse"].prior) == (0.7, (2.0, 1.0))


@pytest.mark.parametrize("mode", ["paper", "anytime", "early", "held-out"])
def test_a_gate_that_corrects_nothing_stays_as_it_is(mode):
    gate = authority(mode)
    assert at_wrong_feedback(gate, 0.2) is gate


def test_a_model_is_told_needs_that_allow_for_wrong_feedback():
    gate = authority("noise-aware")
    told = json.loads(gate_line(gate, 0.1004))
    assert told["wrong_feedback"] == 0.1
    assert told["committee"] is True
    fewer = at_wrong_feedback(gate, 0.1)
    for decision, row in told["needs"].items():
        for against, least in enumerate(row):
            assert fewer.active(decision, Evidence(least, against))
            assert not fewer.active(decision, Evidence(least - 1, against))
    assert told["needs"]["allow"][0] < 13
    assert gate_line(gate, 0.1004) == gate_line(gate, 0.0996), "a hair's breadth changes nothing"


def test_a_model_is_told_what_else_counts():
    assert json.loads(gate_line(authority("paper"))) == {
        "line": "gate",
        "needs": {"allow": [13, 32, 51, 70], "refuse": [13, 32, 51, 70]},
        "counts": "all",
    }
    half = json.loads(gate_line(authority("anytime+held-out")))
    assert (half["half"], half["counts"], half["needs"]["allow"][0]) == (True, "later", 66)
    assert "committee" not in half
    assert json.loads(gate_line(authority("early")))["committee"] is True
