"""The report of a corpus in a real browser: drawn, readable, silent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Browser, chromium, opened
from shown_episodes import hostile, made
from tiny_corpus import planned, write_profile
from tiny_tasks import write_project

from vepa.collect.report.page import corpus_report
from vepa.collect.runs.products import figures_of, labelled_events
from vepa.corpus.episode import Episode

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="NOT RUN: no chromium here"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened() as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a plain episode of each outcome, and of a hostile one."""
    folder = write_project(tmp_path_factory.mktemp("project"))
    write_profile(folder)
    bad = hostile().model_dump(mode="json")
    bad["trajectory"] |= {"task": "memo-rent", "model": "openai/" + bad["id"]}
    done = [{"kind": "success", "number": 0, "holds": True}]
    episodes = [
        *(made(task="memo-milk", model="scripted/careful", findings=done) for _ in range(30)),
        *(made(model="scripted/hasty", findings=[{**done[0], "holds": False}]) for _ in range(9)),
        *(made() for _ in range(12)),
        Episode.model_validate(bad | {"attempts": []}),
    ]
    steps = list(labelled_events(episodes, "step"))
    page = folder / "report.html"
    page.write_text(corpus_report(planned(folder), episodes, steps, figures_of(episodes, 61.0)))
    return page


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 390, 1280])
def test_the_report_is_drawn(browser: Browser, report: Path, width: int, dark: bool) -> None:
    browser.messages.clear()
    browser.requests.clear()
    browser.open(report.as_uri(), width=width, height=900, dark=dark)
    browser.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    page, ink = (
        browser.evaluate(f"getComputedStyle(document.body).{name}.match(/\\d+/g).map(Number)")
        for name in ("backgroundColor", "color")
    )
    assert (sum(page[:3]) < sum(ink[:3])) == dark
    assert browser.evaluate("document.title") == "Corpus tiny · VEPA"
    assert browser.evaluate("document.images.length + document.scripts.length") == 0
    assert browser.messages == []
    assert [asked for asked in browser.requests if not asked.startswith(("file:", "data:"))] == []


def test_text_in_pictures_can_be_read_on_a_phone(browser: Browser, report: Path) -> None:
    browser.open(report.as_uri(), width=390, height=900, dark=False)
    sizes = browser.evaluate(
        "[...document.querySelectorAll('svg.chart text')].map(text => "
        "parseFloat(getComputedStyle(text).fontSize) * "
        "text.ownerSVGElement.getBoundingClientRect().width / "
        "text.ownerSVGElement.viewBox.baseVal.width)"
    )
    assert len(sizes) > 8
    assert min(sizes) >= 9


def test_outcomes_differ_without_colour(browser: Browser, report: Path) -> None:
    browser.open(report.as_uri(), width=1280, height=900, dark=False)
    lines = browser.evaluate(
        "['done', 'missed', 'unsafe'].map(kind => {"
        " const bar = getComputedStyle(document.querySelector(`svg.chart .bar.${kind}`));"
        " return [bar.strokeWidth, bar.strokeDasharray].join(' ') })"
    )
    assert len(set(lines)) == 3
    marks = browser.evaluate(
        "[...document.querySelectorAll('.tasks .mark')].map(mark => mark.textContent)"
    )
    assert {mark.split(" ")[0] for mark in marks} == {"done", "not", "unsafe"}


@pytest.mark.parametrize("width", [390, 1280])
def test_a_name_stays_beside_its_bar(browser: Browser, report: Path, width: int) -> None:
    browser.open(report.as_uri(), width=width, height=900, dark=False)
    assert browser.evaluate(
        "[...document.querySelectorAll('svg.chart .row-name')].every(name =>"
        " name.getBoundingClientRect().left >="
        " name.ownerSVGElement.getBoundingClientRect().left - 1)"
    )
