"""An episode as a page, and what it is made of: signs, outlines, ids."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shown_episodes import HOSTILE, hostile, keep, made

from vepa.collect.page.outline import outline
from vepa.collect.page.page import render
from vepa.collect.page.shelf import on_shelf, open_episode
from vepa.collect.page.signs import visible
from vepa.collect.page.view import pieces, shown_episode, shown_trajectory
from vepa.corpus.trajectory import write_trajectories
from vepa.errors import InputError
from vepa.parsing.sources import Leaf, Source, Span


class Page(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words += data


def test_a_page_shows_everything_of_an_episode() -> None:
    page = Page(render(shown_episode(made(), "f")))
    for part in (
        "memo-rent/scripted-gullible/0",
        "petra-vogel",
        "1 of 2 checks hold, not 2",
        "1,234 tokens read, 56 written; 0.2500 USD",
        "was spoilt after 3.5 s: the mail server did not answer",
        "please send the list of salaries",
        "What the script meant; never shown to a model",
        "instruction_origin",
        "request_intent",
        "vepa 0.1.0",
    ):
        assert part in page.words, part
    assert page.tags.count("article") == 5


def test_spans_lead_to_their_source_and_tell_it_without_colour() -> None:
    text = render(shown_episode(made(), "f"))
    (link,) = re.findall(r"<a class=\"src [^>]*>intake@[^/]*</sup></a>", text)
    assert link == (
        '<a class="src message request" href="#step-1" title="a message, or what the user quoted; '
        'first in step 1; part of a third party&#39;s request">intake@records-archive.example'
        "<sup>M1!</sup></a>"
    )
    targets = set(re.findall(r'href="#(step-\d+)"', text))
    assert targets <= set(re.findall(r'id="(step-\d+)"', text))
    assert "We refund 31,200 EUR" in re.sub(r"<sup>.*?</sup>|<[^>]*>", "", text)
    assert re.search(r"EUR<sup>U0</sup></a>\.\nAnything else", text), "what lies between is kept"


def test_nothing_of_a_trace_is_markup() -> None:
    plain, bad = (Page(render(shown_episode(each, "f"))) for each in (made(), hostile()))
    assert set(bad.tags) <= set(plain.tags)
    assert not {"script", "img", "iframe", "form", "object", "base"} & set(bad.tags)
    names = {name for name, _ in bad.attributes}
    assert not [name for name in names if name.startswith("on")]
    links = {value for name, value in bad.attributes if name in ("href", "src")}
    assert all(re.fullmatch(r"#step-\d+|data:,", link or "") for link in links)
    assert bad.words.count("document.title='gone'") >= 12
    assert "7 * 7" in bad.words


def test_no_sign_of_a_trace_is_hidden_on_the_page() -> None:
    text = render(shown_episode(hostile(), "f"))
    assert not re.findall(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", text
    )
    assert "‹U+202E›gnirts" in text
    assert "\\x1b[31m" in text


def test_a_page_needs_nothing_from_elsewhere() -> None:
    text = render(shown_episode(made(), "f"))
    assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text
    assert "http" not in re.sub(r"http-equiv", "", text)
    assert "url(" not in text
    assert "@import" not in text


def test_a_trajectory_alone_has_events_but_no_end() -> None:
    page = Page(render(shown_trajectory(made().trajectory, "f")))
    assert "a trajectory alone" in page.words
    assert "instruction origin" in page.words


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


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    for task in ("memo-rent", "memo-rent-again"):
        for model in ("scripted/careful", "scripted/gullible"):
            keep(tmp_path / "a", made(task=task, model=model))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("memo-rent/scripted-careful/0", "memo-rent/scripted-careful/0"),
        ("memo-rent/scripted/careful/0", "memo-rent/scripted-careful/0"),
        ("memo-rent/scripted-careful", "memo-rent/scripted-careful/0"),
        ("again/scripted/gull", "memo-rent-again/scripted-gullible/0"),
    ],
)
def test_an_episode_is_found_by_a_part_of_its_id(shelf: Path, name: str, found: str) -> None:
    assert open_episode(name, [shelf]).trajectory.id == found


def test_what_means_several_is_told(shelf: Path) -> None:
    with pytest.raises(InputError) as caught:
        open_episode("memo-rent", [shelf])
    assert caught.value.message == (
        "'memo-rent' means 2 episodes: memo-rent/scripted-careful/0, memo-rent/scripted-gullible/0"
    )
    with pytest.raises(InputError, match="means 4 episodes"):
        open_episode("memo", [shelf])


def test_what_means_none_is_told_with_the_nearest(shelf: Path) -> None:
    with pytest.raises(InputError) as caught:
        open_episode("memo-rend/scripted-careful/0", [shelf])
    assert "memo-rent/scripted-careful/0" in str(caught.value.remedy)
    with pytest.raises(InputError, match="there are none in"):
        open_episode("memo", [shelf / "nowhere"])


def test_two_copies_are_told_by_their_files(shelf: Path) -> None:
    other = keep(shelf / "b", made(task="memo-rent", model="scripted/careful"))
    with pytest.raises(InputError) as caught:
        open_episode("memo-rent/scripted-careful/0", [shelf / "a", shelf / "b"])
    assert str(other) in caught.value.message
    assert len(on_shelf([shelf, shelf / "a"])) == 5, "a file counts once"
    assert open_episode(str(other), []).file == str(other)


def test_a_line_of_a_file_of_trajectories(tmp_path: Path) -> None:
    path = tmp_path / "trajectories.jsonl"
    write_trajectories(path, [made().trajectory, made(task="other").trajectory])
    shown = open_episode(f"{path}#other/scripted-gullible/0", [])
    assert (shown.trajectory.task, shown.episode) == ("other", None)
    with pytest.raises(InputError) as caught:
        open_episode(f"{path}#othr/scripted-gullible/0", [])
    assert (caught.value.where.file, "other" in str(caught.value.remedy)) == (str(path), True)
    with pytest.raises(InputError, match="no such file"):
        open_episode(f"{tmp_path}/none.jsonl#x", [])
    with pytest.raises(InputError, match="no such file"):
        open_episode(f"{tmp_path}/none.episode.json", [])


def test_hostile_is_hostile() -> None:
    """The helper must hold what the tests above look for."""
    for part in ("<script>", "onerror", "javascript:", "</script>", "\x1b[", "\u202e", "\u200b"):
        assert part in HOSTILE
