"""What a model is shown of a trace: nothing in it can end a line or the block, nothing is lost."""

from __future__ import annotations

import json
import re
from unicodedata import category, normalize

import pytest
from errands import errand
from hypothesis import example, given, settings
from hypothesis import strategies as st
from odd_traces import TEXTS, traces

from vepa.corpus.trajectory import Trajectory
from vepa.llm.spelling import Writer, spell
from vepa.parsing.llm import LLMParser
from vepa.parsing.llm.lines import whole_lines

PARSER = LLMParser(None)
#: All of the planes where signs are; of the others some.
CODES = (
    *range(0xD800),
    *range(0xE000, 0x20000),
    *range(0x20000, 0x110000, 61),
    *range(0xE0000, 0xE1000),
)
SIGNS = [chr(code) for code in CODES]
UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}


def shown(trajectory: Trajectory) -> str:
    """The message with the block."""
    request, _ = next(PARSER.requests(trajectory))
    return request.messages[1].content


@pytest.mark.property
@given(TEXTS)
@example("'''' ~~~~ [/[/ \\'''")
def test_a_spelled_text_reads_back(text):
    assert json.loads(spell(text)) == text


def test_every_sign_reads_back_and_none_of_them_is_hidden_or_a_fence():
    for start in range(0, len(SIGNS), 4096):
        text = "".join(SIGNS[start : start + 4096])
        spelled = spell(text)
        assert json.loads(spelled) == text
        shown_signs = set(spelled[1:-1]) - {" "}
        assert not {sign for sign in shown_signs if category(sign) in UNSEEN}
        assert not set("<>`⟦⟧") & set(normalize("NFKC", spelled[1:-1]))


@pytest.mark.parametrize("fence", ["'''", "~~~", "[/INST]", "</x>", "```", '"""', "-->", "]]>"])
def test_no_fence_stands_in_a_text(fence):
    assert fence not in spell(f"a{fence}b{fence}")


def visible(trajectory: Trajectory) -> str:
    """What two traces have to differ in."""
    data = trajectory.model_dump(
        mode="json",
        exclude={"steps": {"__all__": {"call": {"id"}}}, "tools": {"__all__": {"event", "effect"}}},
    )
    return json.dumps(data)


@pytest.mark.property
@settings(max_examples=30)
@given(st.tuples(traces(), traces()))
def test_two_traces_never_look_the_same(pair):
    one, other = pair
    assert (visible(one) == visible(other)) == (list(whole_lines(one)) == list(whole_lines(other)))
    assert (visible(one) == visible(other)) == (shown(one) == shown(other))


@pytest.mark.property
@settings(max_examples=30)
@given(traces())
def test_every_line_is_an_object_and_only_the_last_one_closes(trajectory):
    message = shown(trajectory)
    lines = message.splitlines()
    tag = re.fullmatch(r"<trace-([0-9a-f]{16})>", lines[0])
    assert tag
    end = lines.index(f"</trace-{tag[1]}>")
    for line in lines[1:end]:
        assert line.startswith('{"')
        assert isinstance(json.loads(line), dict)
        assert "<" not in line
        assert tag[1] not in line
    assert lines[end + 1] == ""
    assert len(lines) == end + 3  # the reminder is one line


@pytest.mark.property
@settings(max_examples=30)
@given(traces())
def test_a_trace_reads_back_from_its_lines(trajectory):
    rows = [json.loads(line) for line in whole_lines(trajectory)]
    found = [row for row in rows if "step" in row]
    assert len(found) == len(trajectory.steps)
    for row, step in zip(found, trajectory.steps, strict=True):
        assert row.get("text") == step.text
        assert row.get("thought") == step.thought
        assert row.get("by") == step.speaker
        if step.call is not None:
            assert row["tool"] == step.call.tool
            assert row["arguments"] == step.call.arguments
            if step.result is None:
                assert row["result"] == "not shown"
            else:
                assert row["result"]["content"] == step.result.content


def test_a_result_that_says_that_it_is_not_shown_is_another_one():
    hidden = errand().model_dump()
    hidden["steps"][3]["result"] = None
    silent = Trajectory.model_validate(hidden)
    claimed = errand(error=None)
    claimed.steps[3].result.__dict__["content"] = "not shown"
    assert list(whole_lines(silent)) != list(whole_lines(claimed))


def test_deep_structures_are_told_and_told_apart():
    def nested(leaf: str) -> dict[str, object]:
        value: object = leaf
        for _ in range(200):
            value = [value]
        return {"x": value}

    one, other = (Writer().value(nested(leaf)) for leaf in "ab")
    assert one != other
    text = Writer().value({"x": json.loads("[" * 41 + "]" * 41)})
    assert "⟦as text⟧" in text
    fake = Writer().value({"x": {"⟦as text⟧": "[]"}})
    assert "⟦" not in fake
