"""The report of a lifecycle in a real browser: drawn, readable, silent, nothing sticks out."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import Browser, chromium, opened

from vepa.lifecycle.report.page import lifecycle_report

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="NOT RUN: no chromium here"),
]

#: How far the ink of every text stands off from what lies behind it, and that text's place.
_CONTRAST = """(() => {
  const light = colour => {
    const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map(v => {
      v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4 });
    return .2126 * r + .7152 * g + .0722 * b };
  const behind = node => {
    for (let at = node; at; at = at.parentElement) {
      const found = getComputedStyle(at).backgroundColor;
      if (!/rgba\\(.*, 0\\)/.test(found)) return found }
    return 'rgb(255, 255, 255)' };
  return [...document.querySelectorAll('h1, h2, h3, p, dt, dd, li, td, th, a, .state, .told')]
    .filter(node => node.textContent.trim()).map(node => {
      const [a, b] = [light(getComputedStyle(node).color), light(behind(node))].sort();
      return [(Math.max(a, b) + .05) / (Math.min(a, b) + .05), node.textContent.slice(0, 40)] })
    .sort((a, b) => a[0] - b[0])[0] })()"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened() as found:
        yield found


@pytest.fixture
def page(later: Callable[..., dict[str, Any]], folder: Path, tmp_path: Path) -> Path:
    """With long names, and with everything that changes."""
    now = later(("corpus.episodes", 5), ("benchmark.figures.mean_coverage", 0.2))
    now["made"] = ["annotate"]
    agents = now["corpus"]["by_model"]
    agents["openai/" + "a-model-with-a-very-long-name" * 3] = copy.deepcopy(
        agents["scripted/hasty"]
    )
    now["annotation"]["labels"]["origins"]["model"] = 30
    path = tmp_path / "report.html"
    path.write_text(lifecycle_report(now, folder))
    return path


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_is_drawn(browser: Browser, page: Path, width: int, dark: bool) -> None:
    browser.messages.clear()
    browser.requests.clear()
    browser.open(page.as_uri(), width=width, height=900, dark=dark)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    paper, ink = (
        browser.evaluate(f"getComputedStyle(document.body).{name}.match(/\\d+/g).map(Number)")
        for name in ("backgroundColor", "color")
    )
    assert (sum(paper) < sum(ink)) is dark
    lowest, where = browser.evaluate(_CONTRAST)
    assert lowest >= 4.5, where
    outside = """[...document.querySelectorAll('svg text')].filter(each => {
        const box = each.getBoundingClientRect();
        const all = each.ownerSVGElement.getBoundingClientRect();
        return box.left < all.left - 1 || box.right > all.right + 1;
    }).map(each => each.textContent)"""
    assert browser.evaluate(outside) == []
    unseen = """[...document.querySelectorAll('svg .bar')]
        .filter(each => getComputedStyle(each).fill === 'rgb(0, 0, 0)').length"""
    assert browser.evaluate(unseen) == 0
    assert browser.messages == []
    assert browser.requests == [page.as_uri()]


def test_text_in_pictures_can_be_read_on_a_phone(browser: Browser, page: Path) -> None:
    browser.open(page.as_uri(), width=390, height=900, dark=False)
    sizes = browser.evaluate(
        "[...document.querySelectorAll('svg.chart text')].map(text => "
        "parseFloat(getComputedStyle(text).fontSize) * "
        "text.ownerSVGElement.getBoundingClientRect().width / "
        "text.ownerSVGElement.viewBox.baseVal.width)"
    )
    assert len(sizes) > 30
    assert min(sizes) >= 8.5


def test_states_and_kinds_differ_without_colour(browser: Browser, page: Path) -> None:
    browser.open(page.as_uri(), width=1280, height=900, dark=False)
    lines = browser.evaluate(
        "['scripted', 'recorded', 'model'].map(kind => {"
        " const bar = getComputedStyle(document.querySelector(`svg.chart .bar.${kind}`));"
        " return [bar.strokeWidth, bar.strokeDasharray].join(' ') })"
    )
    assert len(set(lines)) == 3
    borders = browser.evaluate(
        "['made', 'stood'].map(state =>"
        " getComputedStyle(document.querySelector(`.flow .${state}`)).borderWidth)"
    )
    assert len(set(borders)) == 2
