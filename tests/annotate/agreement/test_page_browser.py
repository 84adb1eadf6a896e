"""The page of an agreement in a real browser: drawn, readable, silent, nothing sticks out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Browser, chromium, opened
from judging import two_readers

from vepa.annotate.agreement import agreement, agreement_page
from vepa.corpus.taxonomy import load_taxonomy
from vepa.project import Project

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="NOT RUN: no chromium here"),
]

X, Y = "inefficient_or_wasteful_execution", "incorrect_tool_parameters"
PAIRS = [((X,), (X,)), ((X,), ()), ((), ()), ((X, Y), (Y,)), ((), (Y,)), ((), ())] * 30


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened() as found:
        yield found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("agreement") / "agreement.html"
    found = agreement(
        two_readers(PAIRS),
        taxonomy=load_taxonomy(Project()),
        against=two_readers(PAIRS[3:]),
        resamples=50,
    )
    path.write_text(agreement_page(found))
    return path


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 390, 1280])
def test_the_page_is_drawn(browser: Browser, page: Path, width: int, dark: bool) -> None:
    browser.messages.clear()
    browser.requests.clear()
    browser.open(page.as_uri(), width=width, height=900, dark=dark)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    paper, ink = (
        browser.evaluate(f"getComputedStyle(document.body).{name}.match(/\\d+/g).map(Number)")
        for name in ("backgroundColor", "color")
    )
    assert (sum(paper) < sum(ink)) is dark
    # Every bar and every cell has a colour, and every label of a picture stays inside it.
    unseen = """[...document.querySelectorAll('svg .cell.same, svg .cell.apart, svg .bar.stable')]
        .filter(each => getComputedStyle(each).fill === 'rgb(0, 0, 0)').length"""
    assert browser.evaluate(unseen) == 0
    outside = """[...document.querySelectorAll('svg text')].filter(each => {
        const box = each.getBoundingClientRect();
        const all = each.ownerSVGElement.getBoundingClientRect();
        return box.left < all.left - 1 || box.right > all.right + 1;
    }).map(each => each.textContent)"""
    assert browser.evaluate(outside) == []
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
    assert len(sizes) > 40
    assert min(sizes) >= 9
