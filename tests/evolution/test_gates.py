"""The gates of the two decisions: settings that reach the authority."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from vepa.errors import SettingError
from vepa.evolution.settings import Gates, GateSettings
from vepa.policy import Evidence
from vepa.policy.authority import authority


def test_the_default_gates_are_those_of_the_method():
    made, plain = Gates().authority("paper"), authority("paper")
    for decision in ("allow", "refuse"):
        for support, against in [(12, 0), (13, 0), (31, 1), (32, 1)]:
            evidence = Evidence(support, against)
            assert made.active(decision, evidence) == plain.active(decision, evidence)


def test_a_stricter_gate_for_allow_leaves_refuse_alone():
    strict = Gates(allow=GateSettings(target=0.99)).authority("paper")
    assert strict.active("refuse", Evidence(13, 0))
    assert not strict.active("allow", Evidence(13, 0))
    assert strict.active("allow", Evidence(68, 0))  # 0.99 ** 69 is just below one half


def test_prior_and_confidence_reach_the_test():
    trusting = Gates(refuse=GateSettings(prior_support=100.0)).authority("paper")
    assert trusting.active("refuse", Evidence(0, 0))
    sure = Gates(refuse=GateSettings(confidence=0.9)).authority("paper")
    assert not sure.active("refuse", Evidence(13, 0))


@pytest.mark.parametrize(
    "wrong",
    [{"target": 1.0}, {"target": 0.0}, {"confidence": 1.0}, {"prior_support": 0.0}, {"level": 1}],
)
def test_what_is_no_gate_is_refused(wrong):
    with pytest.raises(ValidationError):
        GateSettings.model_validate(wrong)


def test_a_mode_joined_wrongly_is_still_an_error():
    with pytest.raises(SettingError):
        Gates().authority("paper+prospective")
