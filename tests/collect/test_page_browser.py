"""The page of an episode in a real browser: drawn, readable, linked, silent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Browser, chromium, opened
from shown_episodes import hostile, made

from vepa.collect.page.page import render
from vepa.collect.page.view import shown_episode
from vepa.corpus.episode import Episode

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="NOT RUN: no chromium here"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened() as found:
        yield found


def look(browser: Browser, folder: Path, episode: Episode, width: int, dark: bool) -> None:
    page = folder / "episode.html"
    page.write_text(render(shown_episode(episode, "f")))
    browser.messages.clear()
    browser.requests.clear()
    browser.open(page.as_uri(), width=width, height=900, dark=dark)
    browser.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("bad", [False, True], ids=["plain", "hostile"])
def test_the_page_is_drawn(
    browser: Browser, tmp_path: Path, width: int, dark: bool, bad: bool
) -> None:
    look(browser, tmp_path, hostile() if bad else made(), width, dark)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    page, ink = (
        browser.evaluate(f"getComputedStyle(document.body).{name}.match(/\\d+/g).map(Number)")
        for name in ("backgroundColor", "color")
    )
    assert (sum(page[:3]) < sum(ink[:3])) == dark
    assert browser.messages == []
    assert [asked for asked in browser.requests if not asked.startswith(("file:", "data:"))] == []
    small = browser.evaluate(
        "[...document.querySelectorAll('main *')].filter(each => each.tagName != 'SUP')"
        ".map(each => parseFloat(getComputedStyle(each).fontSize)).reduce((a, b) => Math.min(a, b))"
    )
    assert small >= 11


def test_sources_differ_in_colour_and_in_line(browser: Browser, tmp_path: Path) -> None:
    look(browser, tmp_path, made(), 1280, False)
    for of in ("color", "textDecorationStyle"):
        values = browser.evaluate(
            f"[...document.querySelectorAll('nav .src')].map(each => getComputedStyle(each).{of})"
        )
        kinds = values[:4]  # user, message, document, tool
        assert len(set(kinds)) == 4, of


def test_a_mark_leads_to_its_step_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    look(browser, tmp_path, made(), 390, False)
    browser.call("Emulation.setFocusEmulationEnabled", enabled=True)
    browser.evaluate("document.querySelector('a.request').focus()")
    outlined = "getComputedStyle(document.querySelector('#step-1')).outlineStyle"
    assert browser.evaluate(outlined) == "dashed"
    for kind in ("rawKeyDown", "char", "keyUp"):
        browser.call(
            "Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r",
            windowsVirtualKeyCode=13,
        )  # fmt: skip
    assert browser.evaluate("location.hash") == "#step-1"
    assert browser.evaluate(outlined) == "solid"


def test_a_hostile_trace_does_nothing(browser: Browser, tmp_path: Path) -> None:
    look(browser, tmp_path, hostile(), 1280, False)
    browser.evaluate(
        "document.querySelectorAll('*').forEach(each => {"
        " each.dispatchEvent(new MouseEvent('mouseover')); })"
    )
    browser.evaluate("document.querySelectorAll('a.src').forEach(each => each.click())")
    assert browser.evaluate("document.title").endswith(" · VEPA")
    assert browser.evaluate("document.images.length + document.scripts.length") == 0
    assert browser.evaluate("document.querySelectorAll('article').length") == 4
    assert "onerror=console.log(1)" in browser.evaluate("document.body.textContent")
    assert browser.messages == []
