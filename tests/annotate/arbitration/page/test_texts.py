"""Texts for the page: nothing is changed, long ones are folded, the codebook keeps its words."""

from __future__ import annotations

import json

import pytest
from disputed import RULES, dispute
from hypothesis import given, settings
from hypothesis import strategies as st

from vepa.annotate.arbitration.page.breaking import FOLD_SIGNS, broken, text_of
from vepa.annotate.arbitration.page.codebook import blocks_of
from vepa.annotate.arbitration.page.keeping import Keeper
from vepa.annotate.arbitration.page.rendering import Renderer
from vepa.annotate.arbitration.page.showing import show_case
from vepa.annotate.arbitration.records import Case
from vepa.errors import RunError
from vepa.viewer.signs import visible

VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet='a,{}[]:"\\\n é', max_size=120),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


@pytest.mark.property
@settings(max_examples=40, deadline=None)
@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_lines_of_json_together_are_the_text(value, indent, plain):
    text = json.dumps([value], indent=indent, ensure_ascii=plain)
    lines = broken(text)
    assert lines is not None
    assert "".join(line.text for line in lines) == text
    assert min(line.depth for line in lines) >= 0


def test_json_is_cut_where_people_would():
    text = '{"a": [1, 2], "b": {"c": "one\\ntwo", "d": "' + "x" * 90 + '"}, "e": {}}'
    assert [(line.depth, line.text.strip()) for line in broken(text)] == [
        (0, "{"),
        (1, '"a": [1, 2],'),
        (1, '"b": {'),
        (2, '"c": "one\\n'),
        (3, 'two",'),
        (2, f'"d": "{"x" * 90}"'),
        (1, "},"),
        (1, '"e": {}'),
        (0, "}"),
    ]


@pytest.mark.parametrize("text", ["", "plain", "[not json", '{"a": }', "[" * 100_000])
def test_other_text_stays_as_it_is(text):
    assert broken(text) is None
    assert "".join(line.text for line in text_of(text).first).startswith(text[:10])


@pytest.mark.parametrize("text", ["ab" * 40_000, "[" + '"x",' * 20_000 + "1]", "\u200b" * 9_000])
def test_a_long_text_is_folded_and_whole(text):
    shown = text_of(text, json_too=True)
    parts = [shown.first, *(lines for _, lines in shown.folds)]
    assert len(parts) > 3
    assert "".join(line.text for part in parts for line in part) == visible(text)
    assert sum(signs for signs, _ in shown.folds) < len(text)
    assert max(sum(len(line.text) for line in part) for part in parts) <= FOLD_SIGNS


def test_a_case_shows_what_annotators_saw():
    of = dispute(1)
    shown = show_case(Case(of.item, of.step, of.shown))
    assert [step.judged for step in shown.steps] == [False, True]
    assert shown.tools[0][0] == "send_mail"
    assert [(name, text.first[0].text) for name, text in shown.steps[1].arguments] == [
        ("id", "mail#1")
    ]
    assert ("The user's own", "petra@office.test") in shown.known


def test_the_codebook_keeps_its_words():
    blocks = list(blocks_of(RULES.codebook))
    words = " ".join(text for block in blocks for line in block.lines for _, text in line)
    plain = RULES.codebook
    for sign in "#*`-":
        plain, words = plain.replace(sign, " "), words.replace(sign, " ")
    wanted = [word for word in plain.split()[1:] if not word.rstrip(".").isdigit()]
    assert [word for word in words.split() if not word.rstrip(".").isdigit()] == wanted
    assert {block.kind for block in blocks} == {"heading", "text", "bullets", "numbers"}


def test_every_trigger_has_its_key_and_its_definition():
    text = Renderer(RULES).render(
        "help", who="ada", progress=dict.fromkeys(("total", "open", "settled", "mine"), 0)
    )
    for number, trigger in enumerate(RULES.taxonomy.triggers, 1):
        assert f"<h4>{number}. {trigger.title}</h4>" in text
    assert "<kbd>Ctrl+Enter</kbd>" in text


def test_a_keeper_writes_once_for_many_and_tries_again():
    written, told = [], []

    def write():
        written.append(1)
        if len(written) == 1:
            raise RunError("the disk is full")

    keeper = Keeper(write, told.append, quiet=0.05, longest=5)
    keeper.start()
    for _ in range(20):
        keeper.changed()
    keeper.stop()
    assert len(written) == 1
    assert told == ["settled.jsonl could not be written: the disk is full"]
    again = Keeper(write, told.append, quiet=0, longest=0)
    again.start()
    again.stop()
    assert len(written) == 2
