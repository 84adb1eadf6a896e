"""What the viewer makes of texts: every sign visible, results as outlines, pieces by source."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vepa.parsing.sources import Leaf, Source, Span
from vepa.viewer.outline import outline
from vepa.viewer.pieces import pieces
from vepa.viewer.signs import visible


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain\n\ttext", "plain\n\ttext"),
        ("Krüger 日本 ש 👍", "Krüger 日本 ש 👍"),
        ("\x1b[0m\r\x00\x9b", "\\x1b[0m\\x0d\\x00\\x9b"),
        ("a\u202eb\u200bc\u2067\ufeff", "a‹U+202E›b‹U+200B›c‹U+2067›‹U+FEFF›"),
        ("\u2028\U000e0041\u3164\ufe05", "‹U+2028›‹U+E0041›‹U+3164›‹U+FE05›"),
    ],
)
def test_signs_are_visible(text: str, seen: str) -> None:
    assert visible(text) == seen


def test_marks_are_reserved_where_they_mean_something() -> None:
    assert visible("⟦U0⟧") == "⟦U0⟧"
    assert visible("⟦U0⟧", marks=True) == "‹U+27E6›U0‹U+27E7›"


def test_json_becomes_an_outline() -> None:
    data = {
        "id": "mail#1",
        "n": 5,
        "s": "5",
        "flags": ["a"],
        "body": "x\nid: y",
        "rows": [{"a": 1}],
    }
    assert outline(json.dumps(data)).split("\n") == [
        "id: mail#1",
        "n: 5",
        's: "5"',
        'flags: ["a"]',
        "body:",
        "  │ x",
        "  │ id: y",
        "rows:",
        "  - a: 1",
    ]


@pytest.mark.parametrize(
    "content",
    ["", "text\nof a page", "{", "[]", '{"a": 1, "a": 2}', '{"a": 1.10}', '{"a": NaN}', "[" * 9999],
)
def test_what_an_outline_would_lose_stays_as_it_is(content: str) -> None:
    assert outline(content) == content


@given(
    st.recursive(
        st.text(max_size=5) | st.integers() | st.none(),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
        ),
    )
)
@pytest.mark.property
def test_every_value_is_in_the_outline(data: object) -> None:
    text = outline(json.dumps(data))
    assert text
    if isinstance(data, dict):
        assert len(text.split("\n")) >= len(data)


@pytest.mark.property
@given(st.text(max_size=20), st.lists(st.integers(0, 20), max_size=6))
def test_pieces_are_the_whole_text(text: str, cuts: list[int]) -> None:
    places = sorted({cut for cut in cuts if cut <= len(text)})
    spans = [Span(a, b, Source("user", 0)) for a, b in zip(places[::2], places[1::2], strict=False)]
    assert "".join(piece.text for piece in pieces(Leaf((), text, tuple(spans)))) == text
