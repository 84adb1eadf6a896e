"""The page over all experiments in a real browser: readable on a phone, numbers one click away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Browser, chromium, opened
from told_reports import told_report

from vepa.bench.experiments.document import Report
from vepa.bench.experiments.writing import write_report

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="NOT RUN: no chromium here"),
]

#: The least contrast of words with what lies behind them, and these words.
_CONTRAST = """(() => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => {
    const [r, g, b] = parts(colour).slice(0, 3).map(v => {
      v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4 });
    return .2126 * r + .7152 * g + .0722 * b };
  const behind = node => {
    for (let at = node; at; at = at.parentElement) {
      const found = getComputedStyle(at).backgroundColor;
      if (parts(found)[3] !== 0) return found }
    return 'rgb(255, 255, 255)' };
  return [...document.querySelectorAll('h1, h2, h3, h4, p, dt, dd, li, td, th, a,' +
      'b, small, summary, code, button, svg text')]
    .filter(node => node.textContent.trim()).map(node => {
      const style = getComputedStyle(node);
      const pair = [light(node.closest('svg') ? style.fill : style.color), light(behind(node))];
      const told = node.textContent.slice(0, 50);
      return [(Math.max(...pair) + .05) / (Math.min(...pair) + .05), told] })
    .sort((a, b) => a[0] - b[0])[0] })()"""

#: What sticks out of the page although nothing around it scrolls.
_OUTSIDE = """[...document.querySelectorAll('main *, header *, footer *')].filter(node =>
    !node.closest('.scroll') && !node.closest('.stack thead') &&
    node.getBoundingClientRect().right > innerWidth + 1).map(node => node.outerHTML.slice(0, 80))"""

#: Height of letters of every text in a picture, as it is shown.
_SIZES = """[...document.querySelectorAll('svg.figure text')].map(text =>
    parseFloat(getComputedStyle(text).fontSize) *
    text.ownerSVGElement.getBoundingClientRect().width /
    text.ownerSVGElement.viewBox.baseVal.width)"""

#: Pairs of texts in a picture that lie on one another, and texts beyond its edge.
_CLASHES = """[...document.querySelectorAll('svg.figure')].flatMap(svg => {
    const edge = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll('text')]
      .map(text => [text.getBoundingClientRect(), text.textContent]);
    const found = boxes.filter(([b]) => b.left < edge.left - 1 || b.right > edge.right + 1)
      .map(([, text]) => 'outside: ' + text);
    boxes.forEach(([a, one], at) => boxes.slice(at + 1).forEach(([b, other]) => {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1 && high > 4) found.push(one + ' on ' + other) }));
    return found })"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened() as found:
        found.call("Emulation.setFocusEmulationEnabled", enabled=True)
        yield found


@pytest.fixture(scope="module")
def report() -> Report:
    return told_report()


@pytest.fixture(scope="module")
def page(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    write_report(report, folder)
    return folder / "index.html"


def press(browser: Browser, key: str, code: int, text: str = "") -> None:
    for kind in ("keyDown", "keyUp"):
        browser.call(
            "Input.dispatchKeyEvent",
            type=kind,
            key=key,
            code=key,
            windowsVirtualKeyCode=code,
            **({"text": text} if text and kind == "keyDown" else {}),
        )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_is_read_at_every_width(
    browser: Browser, page: Path, width: int, dark: bool
) -> None:
    browser.messages.clear()
    browser.requests.clear()
    browser.open(page.as_uri(), width=width, height=900, dark=dark)
    browser.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate(_OUTSIDE) == []
    sizes = browser.evaluate(_SIZES)
    assert len(sizes) > 100
    assert min(sizes) >= 11
    assert browser.evaluate(_CLASHES) == []
    lowest, where = browser.evaluate(_CONTRAST)
    assert lowest >= 4.5, where
    columns = browser.evaluate(
        "getComputedStyle(document.querySelector('.grid')).gridTemplateColumns.split(' ').length"
    )
    assert columns == (2 if width == 1280 else 1)
    paper, ink = (
        browser.evaluate(f"getComputedStyle(document.body).{name}.match(/\\d+/g).map(Number)")
        for name in ("backgroundColor", "color")
    )
    assert (sum(paper[:3]) < sum(ink[:3])) is dark
    assert browser.messages == []
    assert browser.requests == [page.as_uri()]


def test_every_line_of_a_figure_is_seen(browser: Browser, page: Path) -> None:
    for dark in (False, True):
        browser.open(page.as_uri(), width=360, height=900, dark=dark)
        strokes = browser.evaluate(
            "[...document.querySelectorAll('svg.figure polyline.line')].map(each => "
            "[getComputedStyle(each).stroke, getComputedStyle(each).strokeDasharray,"
            " each.getTotalLength()])"
        )
        assert len(strokes) >= 19
        assert all(length > 100 for *_, length in strokes)
        assert len({(colour, dash) for colour, dash, _ in strokes}) >= 8
        assert not {"none", "rgb(0, 0, 0)"} & {colour for colour, *_ in strokes}


def test_numbers_open_with_one_click(browser: Browser, report: Report, page: Path) -> None:
    browser.open(page.as_uri(), width=360, height=900, dark=False)
    figures = sum(len(each.figures) for each in report.experiments)
    assert browser.evaluate("document.querySelectorAll('details.numbers').length") == figures
    for at in range(figures):
        box = browser.evaluate(
            f"(() => {{ const all = document.querySelectorAll('details.numbers > summary');"
            f" all[{at}].scrollIntoView({{block: 'center'}});"
            f" const box = all[{at}].getBoundingClientRect();"
            " return [box.left + 20, box.top + box.height / 2] })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            browser.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=box[0],
                y=box[1],
                button="left",
                clickCount=1,
            )
    shown = browser.evaluate(
        "[...document.querySelectorAll('figure')].map(each => [each.querySelector('.numbers').open,"
        " each.querySelector('.numbers table').getBoundingClientRect().height,"
        " each.querySelectorAll('.numbers tbody td').length])"
    )
    assert all(is_open and high > 20 and cells > 0 for is_open, high, cells in shown), shown
    first = report.experiments[0].figures[0]
    told = browser.evaluate("document.querySelector('.numbers tbody td').firstChild.textContent")
    assert float(told) == pytest.approx(first.series[0].points[0].y, abs=0.0005)


def test_numbers_open_with_the_keyboard(browser: Browser, page: Path) -> None:
    browser.open(page.as_uri(), width=1280, height=900, dark=False)
    where = "(document.activeElement.closest('.numbers') || {}).tagName || ''"
    press(browser, "Tab", 9)
    assert browser.evaluate("document.activeElement.className") == "skip"
    for _ in range(40):
        if browser.evaluate(where):
            break
        press(browser, "Tab", 9)
    assert browser.evaluate(where) == "DETAILS"
    assert browser.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    press(browser, "Enter", 13, "\r")
    assert browser.evaluate("document.activeElement.parentElement.open") is True


def test_without_script_all_is_there(browser: Browser, page: Path) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page.as_uri(), width=360, height=900, dark=False)
        assert browser.evaluate("document.querySelectorAll('pre.command button').length") == 0
        assert browser.evaluate("document.querySelectorAll('svg.figure').length") == 9
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    browser.open(page.as_uri(), width=360, height=900, dark=False)
    assert browser.evaluate("document.querySelectorAll('pre.command button').length") == 6


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_picture_alone_brings_its_style(browser: Browser, page: Path, dark: bool) -> None:
    browser.messages.clear()
    picture = page.parent / "covered" / "risk.svg"
    browser.open(picture.as_uri(), width=800, height=900, dark=dark)
    ground, ink = (
        browser.evaluate(
            f"getComputedStyle(document.querySelector('{where}')).{name}.match(/\\d+/g).map(Number)"
        )
        for where, name in (("svg", "backgroundColor"), ("text.key", "fill"))
    )
    assert (sum(ground[:3]) < sum(ink[:3])) is dark
    assert browser.evaluate("getComputedStyle(document.querySelector('.c0')).stroke") != "none"
    assert browser.messages == []


def test_hostile_words_do_nothing(browser: Browser, report: Report, tmp_path: Path) -> None:
    hostile = "<img src=x onerror=console.log(1)><script>document.title='gone'</script>"
    first = report.experiments[0].model_copy(update={"title": hostile, "findings": (hostile,)})
    write_report(report.model_copy(update={"experiments": (first,)}), tmp_path)
    browser.messages.clear()
    browser.open((tmp_path / "index.html").as_uri(), width=360, height=900, dark=False)
    assert hostile in browser.evaluate("document.querySelector('.findings').textContent")
    assert browser.evaluate("document.title") == report.title
    assert browser.evaluate("document.images.length") == 0
    assert browser.evaluate("document.documentElement.scrollWidth") <= 360
    assert browser.messages == []
