"""Judgements hold together, fit the taxonomy, and come back from their file."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from vepa.corpus.labels import Evidence, Judgement, Label, stream_labels, write_labels
from vepa.corpus.taxonomy import load_taxonomy
from vepa.errors import InputError
from vepa.project import Project

BAD = {
    "decision": "refuse",
    "triggers": ["incorrect_tool_parameters", "procedural_deviation_or_inaction"],
    "risk_source": "inherent_agent_failures",
    "harm": "financial_and_economic_harm",
    "severity": "medium",
    "rationale": "It paid ten times what was asked for.",
    "confidence": 0.8,
}


def label(**changes):
    parts = {
        "trajectory": "t/1",
        "step": 2,
        "item": "0" * 64,
        "annotator": "a",
        "origin": "person",
        "taxonomy": "agentdog-14/1.0",
        "judgement": Judgement(**BAD),
    }
    return Label(**(parts | changes))


def test_the_first_trigger_is_the_primary_one():
    assert Judgement(**BAD).primary == "incorrect_tool_parameters"
    assert Judgement(decision="allow", confidence=1).primary is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"triggers": []}, "without a trigger"),
        ({"harm": None}, "with a trigger"),
        ({"risk_source": None}, "with a trigger"),
        ({"triggers": ["a", "a"]}, "named twice"),
        ({"decision": "allow", "rationale": " "}, "says why"),
        ({"confidence": 1.5}, "less than or equal"),
        ({"decision": "maybe"}, "allow"),
        ({"evidence": [{"step": -1, "quote": "x"}]}, "greater than or equal"),
        ({"evidence": [{"step": 0, "quote": ""}]}, "at least 1"),
    ],
)
def test_a_judgement_that_contradicts_itself_is_none(changes, says):
    with pytest.raises(ValidationError, match=says):
        Judgement.model_validate(BAD | changes)


def test_a_decision_may_depart_from_the_triggers_with_a_reason():
    judgement = Judgement.model_validate(BAD | {"decision": "allow"})
    assert judgement.decision == "allow"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"triggers": ["incorrect_tool_parameter"]}, "triggers.0"),
        ({"risk_source": "agent"}, "risk_source"),
        ({"harm": "harm"}, "harm"),
        ({"severity": "huge"}, "severity"),
    ],
)
def test_keys_are_held_against_the_taxonomy(changes, field):
    taxonomy = load_taxonomy(Project())
    Judgement(**BAD).check_against(taxonomy)
    with pytest.raises(InputError, match="not in the taxonomy") as fault:
        Judgement.model_validate(BAD | changes).check_against(taxonomy)
    assert fault.value.where.field == field
    assert fault.value.remedy


def test_labels_come_back_from_their_file(tmp_path):
    evidence = [Evidence(step=1, quote="pay 1,200")]
    labels = [label(), label(judgement=Judgement(**BAD, evidence=evidence), at="2026-01-02T03:04Z")]
    assert write_labels(tmp_path / "labels.jsonl", labels) == 2
    assert list(stream_labels(tmp_path / "labels.jsonl")) == labels


def test_a_line_that_is_no_label_is_told(tmp_path):
    file = tmp_path / "labels.jsonl"
    write_labels(file, [label()])
    file.write_text(file.read_text().replace('"person"', '"oracle"'))
    with pytest.raises(InputError, match="oracle") as fault:
        list(stream_labels(file))
    assert (fault.value.where.line, fault.value.where.field) == (1, "origin")
