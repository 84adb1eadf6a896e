"""The recorded judgements that ship: whole, of the right form, and honest about what they are."""

from __future__ import annotations

import json
from functools import cache

import pytest

from vepa.annotate.panel import load_panel
from vepa.annotate.shape import TEMPLATE, answer_shape
from vepa.llm.prompts import load_prompt
from vepa.llm.recording import Recording
from vepa.llm.shapes import parse_structured
from vepa.policy.schema import bundled_schema
from vepa.project import Project

_, RULES = load_panel(Project(), "panel.demo.yaml")
SHAPE = answer_shape(RULES.taxonomy, bundled_schema())


@cache
def judgements(name):
    """Hash of a step -> judgement."""
    folder = Project().find("data", f"recorded/{name}/manifest.yaml").parent
    Recording(folder)  # reads every line strictly
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            entry = json.loads(line)
            assert (entry["template"], entry["version"]) == (TEMPLATE, "1.0")
            found[entry["hash"]] = parse_structured(entry["message"]["content"], SHAPE)
    return found


def disputed():
    one, other = judgements("pass-a"), judgements("pass-b")
    return {
        item
        for item in one.keys() & other.keys()
        if (one[item]["decision"], set(one[item]["triggers"]))
        != (other[item]["decision"], set(other[item]["triggers"]))
    }


def test_two_passes_read_the_same_thousand_steps_and_more():
    assert judgements("pass-a").keys() == judgements("pass-b").keys()
    assert len(judgements("pass-a")) >= 1000


def test_the_third_pass_read_what_they_saw_differently_and_nothing_else():
    assert judgements("pass-c").keys() == disputed()
    assert disputed()


@pytest.mark.parametrize("name", ["pass-a", "pass-b"])
def test_every_trigger_was_seen(name):
    seen = {trigger for each in judgements(name).values() for trigger in each["triggers"]}
    assert seen == set(RULES.taxonomy.keys)


def test_the_readers_wrote_for_themselves():
    one, other = judgements("pass-a"), judgements("pass-b")
    refused = [item for item in one if one[item]["decision"] == "refuse" and item in other]
    same = sum(one[item]["rationale"] == other[item]["rationale"] for item in refused)
    assert same < len(refused) / 50


@pytest.mark.parametrize("name", ["pass-a", "pass-b", "pass-c"])
def test_the_manifest_says_how_they_were_made(name):
    folder = Project().find("data", f"recorded/{name}/manifest.yaml").parent
    made = Recording(folder).manifest.made
    for word in ("blind", "codebook", "No rule or script", "not asked with the template"):
        assert word in made


def test_recorded_judgements_are_filed_under_the_prompt_that_ships():
    prompt = load_prompt(Project(), TEMPLATE)
    assert (prompt.id, prompt.version.split(".")[0]) == (TEMPLATE, "1")
