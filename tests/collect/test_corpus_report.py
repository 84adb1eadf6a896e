"""The report of a corpus: whole, true to the episodes, and nothing in it can become markup."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from shown_episodes import HOSTILE, hostile, made
from tiny_corpus import planned, write_profile
from tiny_tasks import PERSONA, PLANTED, task_with, write_project

from vepa.collect.parts import TRIGGERS
from vepa.collect.report import counts
from vepa.collect.report.bars import Row, cell_bar, stacked
from vepa.collect.report.page import corpus_report
from vepa.collect.runs.products import figures_of, labelled_events
from vepa.collect.runs.session import CorpusPlan
from vepa.corpus.episode import Episode, Finding
from vepa.corpus.events import EventRecord
from vepa.viewer.signs import visible

DISCLOSURE = "unauthorized_information_disclosure"


class Page(HTMLParser):
    """Elements and text of a page, and whether its elements close in order."""

    VOID = frozenset({"meta", "link", "br"})

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.pieces: list[str] = []
        self.feed(text)
        self.close()

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.pieces).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.pieces.append(data)

    def of(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny project; its texts are hostile where they may be."""
    place = tmp_path_factory.mktemp("project")
    bad = {"title": HOSTILE_YAML[:90], "request": HOSTILE_YAML}
    persona = {**PERSONA, "position": HOSTILE_YAML}
    write_project(place, task_with(bad), task_with(bad, PLANTED), persona=persona)
    write_profile(place)
    return place


#: Files of a project hold no control characters; a title is short.
HOSTILE_YAML = "".join(sign for sign in HOSTILE if sign.isprintable())


@pytest.fixture(scope="module")
def plan(folder: Path) -> CorpusPlan:
    return planned(folder)


def _report(plan: CorpusPlan, episodes: list[Episode]) -> str:
    steps = list(labelled_events(episodes, "step"))
    return corpus_report(plan, episodes, steps, figures_of(episodes, 61.0))


def _mixed() -> list[Episode]:
    """A careful script that did it, a gullible one that did harm, a real model that gave up."""
    done = {"findings": [{"kind": "success", "number": 0, "holds": True}], "attempts": []}
    return [
        made(task="memo-milk", model="scripted/careful", intended=[None] * 4, **done),
        made(),
        made(
            task="memo-milk",
            model="openai/some-model",
            scripted=False,
            intended=[],
            attempts=[],
            findings=[{"kind": "success", "number": 0, "holds": False}],
            ending={"reason": "budget", "detail": "turns"},
        ),
    ]


@pytest.fixture(scope="module")
def text(plan: CorpusPlan) -> str:
    return _report(plan, _mixed())


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_the_page_stands_alone(text: str, page: Page) -> None:
    assert page.open == []
    policy = [meta["content"] for meta in page.of("meta") if "http-equiv" in meta]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert "url(" not in style
    assert "@import" not in style
    assert "prefers-color-scheme: dark" in style
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    targets = {str(link["href"]) for link in page.of("a")}
    assert len(targets) == 9
    assert {target.removeprefix("#") for target in targets} <= ids


def test_pictures_have_names_and_tables(page: Page) -> None:
    pictures = [svg for svg in page.of("svg") if svg.get("aria-hidden") != "true"]
    assert len(pictures) == 2
    assert all(svg["role"] == "img" for svg in pictures)
    assert "gullible (script): 0 done as asked" in str(pictures[0]["aria-label"])
    assert len(page.of("table")) >= 8


def test_it_says_what_is_scripted_and_what_is_real(page: Page, plan: CorpusPlan) -> None:
    words = page.words
    assert "Scripted: 2 of 3 episodes." in words
    assert "Real models: 1." in words
    assert "openai/some-model" in words
    assert "From the scripts: 8 of 12 steps (1 refuse, 7 allow)" in words
    assert "4 steps of real models have no label yet" in words
    alone = Page(_report(plan, _mixed()[:2])).words
    assert "Real models: none." in alone
    assert "no label yet" not in alone
    model = _mixed()[2]
    unsafe: Any = {"kind": "unsafe", "number": 0, "holds": True, "trigger": DISCLOSURE}
    harmful = model.model_copy(update={"findings": [*model.findings, Finding(**unsafe)]})
    assert f"Triggers reached 1 of {len(TRIGGERS)}" in Page(_report(plan, [harmful])).words
    unlabelled = Page(_report(plan, [model])).words
    assert f"Triggers reached 0 of {len(TRIGGERS)}" in unlabelled
    assert "Scripted: " not in unlabelled
    assert "No step is labelled" in unlabelled


def test_the_figures_are_those_of_the_episodes(page: Page) -> None:
    episodes, words = _mixed(), page.words
    figures = figures_of(episodes, 61.0)
    for told in (
        f"Episodes {figures['episodes']} over 2 tasks",
        f"Steps {figures['steps']} {figures['calls']} calls",
        f"Done as asked {figures['succeeded']} of 3 episodes",
        f"Something unsafe {figures['unsafe']} of 3 episodes",
        f"Triggers reached 1 of {len(TRIGGERS)}",
        "Cost 0.75 USD 3,870 tokens",
        "Time 61 s",
        figures["content_sha256"],
        "vepa show memo-rent/scripted-gullible/0",
        f"vepa show --tripped {DISCLOSURE}",
        "vepa run --profile tiny",
        "Retries: 1",
        "the mail server did not answer",
        "budget turns: 1",
    ):
        assert told in words, told
    for name in TRIGGERS:
        assert name.replace("_", " ") in words
    assert words.count("(not reached)") == len(TRIGGERS) - 1


def test_a_price_that_is_not_known_is_not_nought(plan: CorpusPlan) -> None:
    episode = made()
    turns = [
        turn.model_copy(update={"spent": turn.spent.model_copy(update={"dollars": None})})
        for turn in episode.turns
    ]
    told = Page(_report(plan, [episode.model_copy(update={"turns": turns})])).words
    assert "Cost price not known" in told


# --- hostile data


def _bad_ones() -> list[Episode]:
    bad = hostile()
    document = bad.model_dump(mode="json")
    document["trajectory"] |= {"task": "memo-rent", "model": HOSTILE}
    document["attempts"][0]["seconds"] = 1.0
    return [made(), Episode.model_validate_json(json.dumps(document))]


def test_no_text_becomes_markup(plan: CorpusPlan, page: Page) -> None:
    text = _report(plan, _bad_ones())
    bad = Page(text)
    assert bad.open == []
    allowed = {tag for tag, _ in page.tags}
    assert {tag for tag, _ in bad.tags} <= allowed
    assert not {"script", "img", "iframe", "form"} & allowed
    for _, attributes in bad.tags:
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href", "style", "action"):
            link = attributes.get(name)
            assert link is None or link.startswith(("#", "data:,")), link
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]", text)
    assert "{{ 7 * 7 }}" in text
    # Of the task, the persona, the model, the service, the tool, the ending, the retry, a version.
    words = "".join(bad.pieces)
    assert words.count(visible(HOSTILE)) >= 6
    assert words.count(HOSTILE_YAML) >= 3
    assert words.count(HOSTILE_YAML[:90]) >= 5
    assert bad.of("title")[0] == {}
    assert text.index("<title>Corpus tiny · VEPA</title>") > 0


# --- counting


def test_an_outcome_is_one_of_three() -> None:
    careful, gullible, model = _mixed()
    assert [counts.outcome_of(each) for each in (careful, gullible, model)] == [
        "done",
        "unsafe",
        "missed",
    ]
    assert [counts.kind_of(name) for name in ("scripted/user", "recorded/x", "openai/x")] == [
        "script",
        "recorded",
        "model",
    ]
    names = ["scripted/reckless", "a/model", "scripted/hasty", "scripted/careful"]
    order = counts.models_of([made(model=name) for name in names])
    assert order == ["scripted/careful", "scripted/hasty", "scripted/reckless", "a/model"]


def test_rows_add_up_to_the_episodes(plan: CorpusPlan) -> None:
    episodes = _mixed()
    models = counts.model_rows(episodes)
    assert [row["name"] for row in models] == [
        "scripted/careful",
        "scripted/gullible",
        "openai/some-model",
    ]
    assert [(row["done"], row["missed"], row["unsafe"]) for row in models] == [
        (1, 0, 0),
        (0, 0, 1),
        (0, 1, 0),
    ]
    (tripped,) = [row for row in counts.trigger_rows(episodes) if row["all"]]
    assert (tripped["name"], tripped["meant"], tripped["tripped"]) == (DISCLOSURE, 1, [0, 1, 0])
    services = counts.service_rows(episodes)
    assert sum(row["calls"] for row in services) == figures_of(episodes)["calls"] == 9
    assert sum(row["failed"] for row in services) == 3
    endings = {row["reason"]: row["counts"] for row in counts.ending_rows(episodes)}
    assert endings == {
        "answer": [1, 1, 0],
        "refusal": [0, 0, 0],
        "budget": [0, 0, 1],
        "error": [0, 0, 0],
    }
    tasks = [orders[0].task for orders in plan.orders.values()]
    cells = {row["id"]: row["cells"] for row in counts.task_rows(tasks, episodes)}
    assert [cell and cell["worst"] for cell in cells["memo-milk"]] == ["done", None, "missed"]
    assert [cell and cell["worst"] for cell in cells["memo-rent"]] == [None, "unsafe", None]


def test_every_field_counts_every_step() -> None:
    steps = list(labelled_events(_mixed(), "step"))
    rows = counts.field_rows(steps)
    assert {row["name"] for row in rows} == {name for step in steps for name in step.event}
    for row in rows:
        assert sum(value["steps"] for value in row["values"]) == len(steps)
        for value in row["values"]:
            assert value["allow"] + value["refuse"] + value["none"] == value["steps"]
            mine = [
                step for step in steps if step.event.get(row["name"], "unknown") == value["value"]
            ]
            assert value["refuse"] == sum(step.label == "refuse" for step in mine)
    short = EventRecord(id="short", event={"injection": "none"}, label="allow", unit="step")
    (row, *_) = [row for row in counts.field_rows([*steps, short]) if row["name"] == "recipient"]
    assert any(value["value"] == "unknown" for value in row["values"])


# --- pictures


def test_bars_are_in_proportion_and_labelled() -> None:
    svg = str(
        stacked("T", "D", [Row("a", [("done", "done", 30), ("unsafe", "bad", 10)]), Row("b", [])])
    )
    widths = [
        float(found) for found in re.findall(r'rect class="bar \w+"[^>]* width="([\d.]+)"', svg)
    ]
    assert widths[0] + 1.6 == pytest.approx(3 * (widths[1] + 1.6), abs=0.2)
    assert "<title>a: 10 bad</title>" in svg
    assert ">40</text>" in svg
    assert ">0</text>" in svg
    assert str(stacked("T", "D", [])).startswith("<svg")
    small = re.findall(r' width="([\d.]+)"', str(cell_bar([("allow", 999), ("refuse", 1)], 1000)))
    assert float(small[1]) >= 1.5, "one of many does not vanish"
    assert "<b>" not in str(stacked("<b>", "<b>", [Row("<b>", [("done", "<b>", 40)])]))
