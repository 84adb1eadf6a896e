"""The report in a real browser: drawn, readable, silent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from chromium import Browser, chromium, opened
from small_runs import SmallProject

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="NOT RUN: no chromium here"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened() as found:
        yield found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_report_is_drawn(browser: Browser, finished: Path, width: int, dark: bool) -> None:
    browser.messages.clear()
    browser.requests.clear()
    url = (finished / "report.html").as_uri()
    browser.open(url, width=width, height=900, dark=dark)

    assert browser.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    curves = browser.evaluate(
        "[...document.querySelectorAll('svg.chart polyline')].map(line => line.getTotalLength())"
    )
    assert len(curves) >= 9
    assert min(curves) > 50, "every curve has a length"
    colours = browser.evaluate(
        "[...document.querySelectorAll('svg.chart polyline')]"
        ".map(line => getComputedStyle(line).stroke)"
    )
    assert len(set(colours)) >= 3
    assert "none" not in colours
    bars = browser.evaluate(
        "[...document.querySelectorAll('svg.chart rect.bar')]"
        ".map(bar => bar.getBoundingClientRect().height)"
    )
    assert len(bars) >= 10
    assert max(bars) > 40
    assert browser.evaluate("document.querySelectorAll('article.rule').length") >= 2
    assert browser.evaluate("document.querySelectorAll('#errors .log > details').length") >= 1
    columns = browser.evaluate(
        "(() => { const wrong = document.querySelector('#errors .log > details');"
        " wrong.open = true; return getComputedStyle(wrong.querySelector('.event'))"
        ".gridTemplateColumns.split(' ').length })()"
    )
    assert columns in ({3, 4} if width == 1280 else {1, 2})
    tree, tuned = (
        browser.evaluate(
            f"getComputedStyle(document.querySelector('svg.chart polyline.{kind}')).stroke"
            ".match(/\\d+/g).map(Number)"
        )
        for kind in ("hoeffding", "hoeffding-tuned")
    )
    assert sum(abs(one - other) for one, other in zip(tree, tuned, strict=True)) > 100
    assert browser.evaluate("document.querySelectorAll('#log .log > details').length") == 5

    page, ink = (
        browser.evaluate(f"getComputedStyle(document.body).{name}.match(/\\d+/g).map(Number)")
        for name in ("backgroundColor", "color")
    )
    assert (sum(page[:3]) < sum(ink[:3])) == dark
    assert browser.messages == []
    assert [asked for asked in browser.requests if not asked.startswith(("file:", "data:"))] == []


def test_text_in_pictures_can_be_read_on_a_phone(browser: Browser, finished: Path) -> None:
    browser.open((finished / "report.html").as_uri(), width=390, height=900, dark=False)
    sizes = browser.evaluate(
        "[...document.querySelectorAll('svg.chart text')].map(text => "
        "parseFloat(getComputedStyle(text).fontSize) * "
        "text.ownerSVGElement.getBoundingClientRect().width / "
        "text.ownerSVGElement.viewBox.baseVal.width)"
    )
    assert len(sizes) > 20
    assert min(sizes) >= 9


def test_hostile_text_does_nothing(
    browser: Browser, make_project: Callable[..., SmallProject]
) -> None:
    hostile = "<img src=x onerror=console.log(1)><script>document.title='gone'</script>"
    project = make_project(change=lambda at, record: {**record, "id": f"{hostile}{at}"})
    browser.messages.clear()
    browser.open((project.make() / "report.html").as_uri(), width=1280, height=900, dark=False)
    assert hostile in browser.evaluate("document.querySelector('#errors').textContent")
    assert browser.evaluate("document.title") == "A small run · VEPA"
    assert browser.evaluate("document.images.length + document.scripts.length") == 0
    assert browser.messages == []


def test_a_faulty_page_would_be_noticed(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "faulty.html"
    page.write_text("<script>console.error('wrong'); nowhere()</script><img src='http://x.test/'>")
    browser.messages.clear()
    browser.requests.clear()
    browser.open(page.as_uri(), width=390, height=900, dark=False)
    assert any("wrong" in message for message in browser.messages)
    assert any("nowhere" in message for message in browser.messages)
    assert "http://x.test/" in browser.requests
