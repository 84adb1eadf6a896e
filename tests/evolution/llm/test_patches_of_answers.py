"""From a model's answer to patches: only what has a place is read, and nothing of it is trusted."""

from __future__ import annotations

import json
import random
import re
import unicodedata

import pytest
from evolving import WORLD, archive_of, drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from proposing import BAD, GOOD, adds, answer, edit, rule

from vepa.evolution.proposers import Request
from vepa.evolution.proposers.induction import Induction
from vepa.evolution.proposers.llm.answers import LIMITS, plain, read_answer
from vepa.policy import Policy, authority
from vepa.policy.patches import apply, check_patch

ID = re.compile(r"r[0-9]+-[0-9a-f]{6}")


def read(*patches, most=30, note=""):
    return read_answer(answer(*patches, note=note), WORLD, 4, most)


def codes(found):
    return [item.code for malformed in found.malformed for item in malformed.feedback]


def test_a_patch_of_every_operation_is_read_in_the_plain_form():
    both = {
        "decision": "refuse",
        "when": {"colour": {"in": ["red"]}, "size": {"not_in": ["small"]}},
    }
    found = read(
        {
            "rationale": "why",
            "edits": [
                edit("add", (), both),
                edit("delete", ("a",)),
                edit("rewrite", ("b",), GOOD[1]),
                edit("split", ("c",), rule("allow", noise=["p"]), rule("allow", noise=["q"])),
                edit("merge", ("d", "e"), rule("refuse", shape=["rod", "disc"])),
            ],
        }
    )
    assert found.malformed == ()
    (patch,) = found.patches
    assert patch.rationale == "why"
    assert patch.operations == ("add", "delete", "rewrite", "split", "merge")
    assert [item.targets for item in patch.edits] == [(), ("a",), ("b",), ("c",), ("d", "e")]
    first = patch.edits[0].rules[0]
    assert first.describe() == "refuse when colour in {red} and size not in {small}"
    assert first.masks == (0b0010, 0b101, WORLD.full[2], WORLD.full[3])
    # Values stand in the schema's order, whatever the answer's was.
    assert patch.edits[4].rules[0].when["shape"].values == ("disc", "rod")


def test_ids_are_ours_and_the_same_for_the_same_rule():
    claimed = {**rule("refuse", colour=["red"]), "id": "r1-stolen"}
    one, two = (read(adds(made)).patches[0].edits[0].rules[0] for made in (claimed, GOOD[0]))
    assert one.id == two.id
    assert ID.fullmatch(one.id)
    assert one.id.startswith("r4-")
    other = read(adds(rule("allow", colour=["red"]))).patches[0].edits[0].rules[0]
    assert other.id != one.id


def test_a_rule_without_its_empty_predicate_is_another_one_and_that_of_induction():
    plainly = {"colour": {"in": ["red"]}}
    one, two = (
        read(adds({"decision": "refuse", "when": when})).patches[0].edits[0].rules[0]
        for when in (plainly, {**plainly, "size": {"not_in": []}})
    )
    assert one.key == two.key
    assert one.id != two.id
    archive = archive_of(drawn(90, lambda e: "refuse" if e["colour"] == "red" else "allow"))
    asked = Request(Policy(WORLD), archive, (), (), authority(), (), 4, 30, random.Random(0))
    own = Induction().propose(asked).patches[0].edits[0].rules[0]
    when = {name: predicate.to_dict() for name, predicate in own.when.items()}
    again = read(adds({"decision": own.decision, "when": when})).patches[0].edits[0].rules[0]
    assert (again.id, again.key) == (own.id, own.key)


def test_standing_evidence_and_provenance_of_an_answer_are_ignored():
    (patch,) = read(BAD["hostile"][0]).patches
    made = patch.edits[0].rules[0]
    assert (made.status, made.evidence) == ("inactive", None)
    assert made.provenance.to_dict() == {"round": 4, "operation": "add", "parents": []}
    assert ID.fullmatch(made.id)
    for text in (patch.rationale, made.rationale):
        assert len(text) <= LIMITS["rationale"]
        assert not [sign for sign in text if unicodedata.category(sign)[0] == "C"]
        assert "\n" not in text


FAULTS = [
    ("malformed", "edits"),
    ("malformed", "edits"),
    ("malformed", "operation"),
    ("malformed", "decision"),
    ("unknown_field", "weight"),
    ("unknown_value", "colour"),
    ("malformed", "colour"),
]


@pytest.mark.parametrize("at", range(len(FAULTS)))
def test_what_is_no_patch_is_a_finding_with_its_place(at):
    found = read(BAD["malformed"][at], adds(GOOD[0]))
    assert len(found.patches) == 1, "the good one beside it is read"
    (malformed,) = found.malformed
    (finding,) = malformed.feedback
    assert (finding.code, finding.field) == FAULTS[at]
    assert finding.message
    assert 0 < len(malformed.written) <= 400
    json.dumps(finding.to_dict())


def test_a_wrong_word_is_answered_with_the_nearest_one():
    found = read(adds(rule("refuse", colour=["rad"])), adds(rule("refuse", colr=["red"])))
    remedies = [malformed.feedback[0].remedy for malformed in found.malformed]
    assert remedies[0].startswith("did you mean 'red'?")
    assert remedies[1].startswith("did you mean 'colour'?")


def test_oversized_answers_are_cut_and_that_is_said():
    found = read(*BAD["oversized"])
    assert len(found.patches) + 3 == LIMITS["patches"]
    assert codes(found) == ["too_large"] * 4
    assert "403 patches were offered; only the first 8" in found.malformed[-1].feedback[0].message
    assert all(len(malformed.written) <= 400 for malformed in found.malformed)
    # No more than may still be tried is read at all.
    few = read(*[adds(made) for made in GOOD], most=1)
    assert (len(few.patches), codes(few)) == (1, ["too_large"])


def test_what_the_verifier_has_to_see_is_left_to_it():
    parent = Policy(WORLD)
    for kind, code in (("conflicting", "conflict"), ("vacuous", None)):
        found = read(*BAD[kind])
        assert found.malformed == ()
        for patch in found.patches:
            told = {item.code for item in check_patch(parent, patch).feedback}
            assert told
            assert code is None or code in told


words = st.text(max_size=12) | st.sampled_from([*WORLD.names, "red", "small", "in", "not_in"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)
rules = st.fixed_dictionaries(
    {},
    optional={
        "decision": st.sampled_from(["allow", "refuse"]) | values,
        "when": st.dictionaries(words, st.dictionaries(words, st.lists(words) | values)) | values,
        "rationale": words | values,
    },
)
edits = st.fixed_dictionaries(
    {},
    optional={
        "operation": st.sampled_from(["add", "delete", "rewrite", "split", "merge"]) | values,
        "targets": st.lists(words, max_size=3) | values,
        "rules": st.lists(rules | values, max_size=3) | values,
    },
)
patches = st.fixed_dictionaries(
    {}, optional={"edits": st.lists(edits | values, max_size=3) | values, "rationale": values}
)


@pytest.mark.property
@settings(max_examples=40, deadline=None)
@given(st.lists(patches, max_size=4), words)
def test_whatever_is_answered_gives_patches_or_findings(offered, note):
    found = read(*offered, note=note)
    assert len(found.patches) + len(found.malformed) == len(offered)
    for patch in found.patches:
        assert patch.to_dict()["edits"]
        check_patch(Policy(WORLD), patch)
        for each in (made for part in patch.edits for made in part.rules):
            assert ID.fullmatch(each.id)
            assert each.status == "inactive"
    for malformed in found.malformed:
        assert malformed.feedback[0].rejects


@pytest.mark.property
@settings(max_examples=40, deadline=None)
@given(st.text(), st.integers(5, 40))
def test_plain_text_is_one_line_within_its_limit(text, limit):
    found = plain(text, limit)
    assert len(found) <= limit
    assert found == plain(found, limit)
    assert not [sign for sign in found if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl")]


def test_a_read_patch_can_be_applied_and_verified():
    policy = Policy(WORLD)
    for patch in read(adds(*GOOD)).patches:
        policy = apply(policy, patch)
    assert [made.decision for made in policy.rules] == ["refuse", "allow"]
    assert check_patch(Policy(WORLD), read(adds(*GOOD)).patches[0]).ok
