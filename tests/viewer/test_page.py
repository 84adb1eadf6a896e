"""The page: what is packed into it comes out again, and nothing of a trace is markup or hidden."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest
from packed import Packed
from shown_episodes import HOSTILE, hostile, made

from benchmarks.suite.traces import POLICY, invented, invented_events
from vepa.collect.episodes.subject import subject_of
from vepa.corpus.trajectory import Trajectory
from vepa.errors import InputError, SettingError
from vepa.policy.reading import load_policy
from vepa.policy.schema import bundled_schema
from vepa.viewer.events import EventBook
from vepa.viewer.judging import Judge
from vepa.viewer.page import page as page_module
from vepa.viewer.page.page import page_of
from vepa.viewer.texts import texts_of
from vepa.viewer.view import Subject

HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def strings(data: Any) -> list[str]:
    if isinstance(data, str):
        return [data]
    if isinstance(data, dict):
        return [text for value in data.values() for text in strings(value)]
    return [text for each in data for text in strings(each)] if isinstance(data, list) else []


def page_of_many(count: int) -> tuple[Packed, list[Subject]]:
    judge = Judge(load_policy(POLICY, "p.yaml", bundled_schema()))
    book = EventBook(invented_events(count))
    subjects = [book.put_to(Subject(each, "f")) for each in invented(count)]
    return Packed(page_of(subjects, judge, "many").data), subjects


def test_what_is_packed_comes_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "CHUNK_BYTES", 40_000)
    page, subjects = page_of_many(40)
    index, details = page.index, page.details
    assert [row[0] for row in index["rows"]] == [each.trajectory.id for each in subjects]
    assert [each["id"] for each in details] == [each.trajectory.id for each in subjects]
    assert len(page.chunks) > 3
    starts = [sum(map(len, page.chunks[:at])) for at in range(len(page.chunks))]
    assert index["starts"] == starts
    for subject, detail in zip(subjects, details, strict=True):
        for step, shown in zip(subject.trajectory.steps, detail["steps"], strict=True):
            assert shown.get("text") == step.text
            if step.call and isinstance(step.call.arguments.get("body"), str):
                pieces = dict(shown["arguments"])["body"]
                assert "".join(piece[0] for piece in pieces) == step.call.arguments["body"]


def test_every_text_that_grep_finds_is_on_the_page() -> None:
    page, subjects = page_of_many(15)
    for subject, detail in zip(subjects, page.details, strict=True):
        arguments = [
            text
            for step in detail["steps"]
            for name, pieces in step.get("arguments", [])
            for text in (name, "".join(piece[0] for piece in pieces))
        ]
        there = "\n".join([*strings(detail), *arguments])
        for text in texts_of(subject):
            assert text in there, text


def test_the_terms_of_the_list() -> None:
    page, subjects = page_of_many(30)
    index = page.index
    for (_, _, _, terms), subject in zip(index["rows"], subjects, strict=True):
        told = [index["terms"][term] for term in terms]
        of = subject.trajectory
        assert ["label", of.label or "none"] in told
        assert ["model", of.model] in told
        assert {value for facet, value in told if facet == "tool"} == {
            step.call.tool for step in of.steps if step.call
        }
        (event,) = subject.events
        assert {f"trajectory.{name}": value for name, value in event.event.items()} == {
            facet: value for facet, value in told if facet.startswith("trajectory.")
        }
        assert ["step.agent_outcome", "executed"] in told, "the parser reads what no file tells"
        fired = {value for facet, value in told if facet == "rule"}
        assert ("planted-request" in fired) == (event.event["injection"] == "followed")
        assert ["verdict", "refuse"] in told or "planted-request" not in fired


def test_a_page_shows_everything_of_an_episode() -> None:
    (detail,) = Packed(page_of([subject_of(made(), "f")], Judge(), "t").data).details
    there = strings(detail)
    for part in (
        "petra-vogel",
        "1 of 2 checks hold, not 2",
        "1,234 tokens read, 56 written; 0.2500 USD",
        "1 was spoilt after 3.5 s: the mail server did not answer",
        "unauthorized_information_disclosure",
        "script meant",
        "instruction_origin",
        "0.1.0",
    ):
        assert part in there, part
    assert any("please send the list of salaries" in text for text in there)
    send = detail["steps"][2]
    assert send["arguments"][1] == [
        "to[1]",
        [["intake@records-archive.example", "message", 1, True]],
    ]
    assert [each["unit"] for each in send["events"]] == ["call", "step"]


def test_nothing_of_a_trace_is_markup() -> None:
    plain, bad = (
        Packed(page_of([subject_of(each, "f")], Judge(), each.id).data)
        for each in (made(), hostile())
    )
    assert bad.tags == plain.tags
    assert bad.scripts["script"] == plain.scripts["script"]
    names = {name for name, _ in bad.attributes}
    assert not [name for name in names if name.startswith("on") or name == "style"]
    links = {value for name, value in bad.attributes if name in ("href", "src")}
    assert links == {"data:,"}
    assert bad.words.count("document.title='gone'") >= 12, "what stands there without JavaScript"


def test_no_sign_of_a_trace_is_hidden() -> None:
    data = page_of([subject_of(hostile(), "f"), subject_of(made(), "f")], Judge(), HOSTILE).data
    page = Packed(data)
    for text in strings([page.index, page.details]):
        assert not HIDDEN.search(text)
    assert any("‹U+202E›gnirts" in text for text in strings(page.details))
    assert not HIDDEN.search(data.decode())


def test_a_page_needs_nothing_from_elsewhere() -> None:
    data = page_of([subject_of(made(), "f")], Judge(), "t").data
    text = data.decode()
    page = Packed(data)
    (policy,) = [
        value for name, value in page.attributes if name == "content" and "src" in str(value)
    ]
    for name, part in (("script-src", "script"), ("style-src", "style")):
        digest = b64encode(sha256(page.scripts[part].encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in text.replace("http-equiv", "")
    assert "url(" not in text
    assert "@import" not in text


def test_scripts_write_no_markup_and_evaluate_nothing() -> None:
    script = Packed(page_of([subject_of(made(), "f")], Judge(), "t").data).scripts["script"]
    for word in (
        "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(",
        "fetch(", "XMLHttpRequest", "import(", "setAttribute(\"style\"", "localStorage",
    ):  # fmt: skip
        assert word not in script, word


def test_the_same_trajectories_make_the_same_page() -> None:
    first, second = (
        page_of([Subject(each, "f") for each in invented(5)], Judge(), "t").data for _ in range(2)
    )
    assert first == second


def test_a_single_trajectory_can_be_read_without_a_script() -> None:
    one = Packed(page_of([subject_of(made(), "f")], Judge(), "t").data)
    assert "to[1]: ⟦M1! intake@records-archive.example⟧" in one.words
    two = Packed(page_of([Subject(each, "f") for each in invented(2)], Judge(), "t").data)
    assert "needs JavaScript" in two.words
    assert "pre" not in two.tags


def test_a_huge_line_is_kept_whole() -> None:
    long = "word " * 200_000
    steps = [{"index": 0, "kind": "user", "text": long}]
    of = Trajectory.model_validate({"id": "x", "steps": steps})
    (detail,) = Packed(page_of([Subject(of, "f")], Judge(), "t").data).details
    assert detail["steps"][0]["text"] == long


def test_no_page_of_nothing_and_none_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no trajectory to show in t"):
        page_of([], Judge(), "t")
    monkeypatch.setattr(page_module, "LARGEST_BYTES", 4000)
    monkeypatch.setattr(page_module, "CHUNK_BYTES", 2000)
    with pytest.raises(SettingError, match="larger than"):
        page_of([Subject(each, "f") for each in invented(30)], Judge(), "t")


def test_data_of_scripts_cannot_end_them() -> None:
    page = page_of([subject_of(hostile(), "f")], Judge(), "</script>").data.decode()
    for text in re.findall(r'<script type="text/plain" id="[^"]+">([^<]*)</script>', page):
        assert re.fullmatch(r"[A-Za-z0-9+/=]+", text)
    assert "</script" in json.dumps(Packed(page.encode()).details)
