"""The page in a real browser: a thousand trajectories, searched, filtered, walked, on a phone."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import Browser, chromium, opened
from packed import Packed
from shown_episodes import hostile, made

from benchmarks.suite.traces import POLICY, invented, invented_events
from vepa.collect.episodes.subject import subject_of
from vepa.corpus.trajectory import Trajectory
from vepa.policy.reading import load_policy
from vepa.policy.schema import bundled_schema
from vepa.viewer.events import EventBook
from vepa.viewer.judging import Judge
from vepa.viewer.page.page import page_of
from vepa.viewer.texts import holds
from vepa.viewer.view import Label, Subject

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="NOT RUN: no chromium here"),
]
MANY = 1000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened() as found:
        # A headless window has no focus of its own.
        found.call("Emulation.setFocusEmulationEnabled", enabled=True)
        yield found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A thousand trajectories with events and a policy."""
    judge = Judge(load_policy(POLICY, "p.yaml", bundled_schema()))
    book = EventBook(invented_events(MANY))
    subjects = (book.put_to(Subject(each, "f")) for each in invented(MANY))
    path = tmp_path_factory.mktemp("page") / "many.html"
    path.write_bytes(page_of(subjects, judge, "many").data)
    return path


@pytest.fixture(scope="module")
def details(page: Path) -> list[dict[str, Any]]:
    return Packed(page.read_bytes()).details


def look(
    browser: Browser, page: Path, address: str = "", width: int = 1280, dark: bool = False
) -> None:
    """Load the page anew and wait until it stands."""
    browser.open("about:blank", width=width, height=800, dark=dark)
    browser.messages.clear()
    browser.requests.clear()
    browser.open(page.as_uri() + address, width=width, height=800, dark=dark)
    until(browser, "document.body.dataset.state === 'ready'")


def until(browser: Browser, wanted: str) -> None:
    """Wait for what an expression says."""
    end = time.monotonic() + 30
    while not browser.evaluate(wanted):
        assert time.monotonic() < end, (wanted, state_of(browser))
        time.sleep(0.02)


def state_of(browser: Browser) -> Any:
    return browser.evaluate(
        "JSON.stringify([document.body.dataset, document.querySelector('#status').textContent])"
    ), browser.messages


def silent(browser: Browser) -> None:
    assert browser.messages == []
    assert [asked for asked in browser.requests if not asked.startswith(("file:", "data:"))] == []


def press(browser: Browser, key: str, **more: Any) -> None:
    text = {"Enter": "\r"}.get(key, key if len(key) == 1 else None)
    codes = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38}
    given = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper())), **more}
    browser.call(
        "Input.dispatchKeyEvent", type="keyDown", **given, **({"text": text} if text else {})
    )
    browser.call("Input.dispatchKeyEvent", type="keyUp", **given)


def opened_row(browser: Browser, id: str) -> None:
    until(browser, f"document.body.dataset.opened === {json.dumps(id)}")


def search(browser: Browser, text: str) -> str:
    """Type into the search, wait for the end, and say what the status tells."""
    browser.evaluate(
        "(() => { const field = document.querySelector('#search'); field.focus();"
        f" field.value = {json.dumps(text)}; field.dispatchEvent(new Event('input')); }})()"
    )
    until(browser, "document.body.dataset.state === 'ready'")
    return str(browser.evaluate("document.querySelector('#status').textContent"))


def listed(browser: Browser) -> list[str]:
    return list(
        browser.evaluate("[...document.querySelectorAll('.row .name')].map(e => e.textContent)")
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_the_list_is_drawn(browser: Browser, page: Path, width: int, dark: bool) -> None:
    look(browser, page, width=width, dark=dark)
    assert browser.evaluate("document.querySelector('#status').textContent") == "1,000 trajectories"
    assert 5 < len(listed(browser)) < 60, "only the rows that can be seen are elements"
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    box, ink = (
        browser.evaluate(f"getComputedStyle(document.body).{name}.match(/\\d+/g).map(Number)")
        for name in ("backgroundColor", "color")
    )
    assert (sum(box[:3]) < sum(ink[:3])) == dark
    browser.evaluate("document.querySelector('#list').scrollTop = 1e9")
    until(
        browser, "[...document.querySelectorAll('.row .name')].at(-1).textContent > 'office/0099'"
    )
    silent(browser)


def test_the_first_paint_is_recorded_and_shows_the_list(browser: Browser, page: Path) -> None:
    look(browser, page)
    until(browser, "performance.getEntriesByName('first-contentful-paint').length === 1")
    assert browser.evaluate("performance.getEntriesByName('vepa-list').length") == 1


def test_search_finds_what_stands_anywhere(browser: Browser, page: Path) -> None:
    look(browser, page)
    subjects = [Subject(each, "f") for each in invented(MANY)]

    def having(*texts: str) -> int:
        return sum(all(holds(each, text) for text in texts) for each in subjects)

    for query in ("mail#3", "LIST of Salaries", "de00test0000000777", "number: 123"):
        count = having(query)
        assert 0 < count < MANY
        assert search(browser, f'"{query}"').startswith(f"{count} of 1,000"), query
    count = having("nordkap", "forklift")
    assert search(browser, "nordkap forklift").startswith(f"{count} of 1,000")
    assert search(browser, "words that stand nowhere") == "0 of 1,000 trajectories"
    assert listed(browser) == []
    assert search(browser, "") == "1,000 trajectories"
    silent(browser)


def test_what_was_searched_is_unfolded_and_marked(browser: Browser, page: Path) -> None:
    look(browser, page)
    search(browser, '"list of salaries"')
    press(browser, "Enter")
    press(browser, "Enter")
    until(browser, "document.body.dataset.opened")
    open_folds = (
        "[...document.querySelectorAll('details.result[open] pre')].map(e => e.textContent)"
    )
    assert any("list of salaries" in text for text in browser.evaluate(open_folds))
    assert browser.evaluate("CSS.highlights.get('found').size") >= 1
    press(browser, "n")
    current = browser.evaluate("document.querySelector('article.current').textContent")
    assert "list of salaries" in current
    silent(browser)


def choose(browser: Browser, label: str, value: str) -> None:
    browser.evaluate(
        "(() => { document.querySelector('#filters').open = true;"
        f" const field = document.querySelector('select[aria-label={json.dumps(label)}]');"
        f" const found = [...field.options].find(e => e.text.startsWith({json.dumps(value)}));"
        " field.value = found.value; field.dispatchEvent(new Event('change')); })()"
    )


def test_filters(browser: Browser, page: Path) -> None:
    look(browser, page)
    until(browser, "document.querySelectorAll('#selects select').length > 5")
    index = Packed(page.read_bytes()).index

    def having(*wanted: tuple[str, str]) -> int:
        terms = {index["terms"].index(list(each)) for each in wanted}
        return sum(terms <= set(row[3]) for row in index["rows"])

    def status() -> str:
        return str(browser.evaluate("document.querySelector('#status').textContent"))

    choose(browser, "Label", "refuse")
    assert status().startswith(f"{having(('label', 'refuse'))} of")
    choose(browser, "Verdict of the policy", "allow")
    assert status().startswith(f"{having(('label', 'refuse'), ('verdict', 'allow'))} of")
    choose(browser, "Event field", "trajectory.recipient")
    choose(browser, "Value", "internal")
    terms = ("label", "refuse"), ("verdict", "allow"), ("trajectory.recipient", "internal")
    assert status().startswith(f"{having(*terms)} of")
    found = search(browser, "nordkap")
    assert int(found.split()[0]) < having(*terms)
    assert browser.evaluate("document.querySelectorAll('#chips button').length") == 3
    search(browser, "")
    for _ in range(3):
        browser.evaluate("document.querySelector('#chips button').click()")
    assert status() == "1,000 trajectories"
    silent(browser)


def test_the_keyboard(browser: Browser, page: Path) -> None:
    look(browser, page)
    focused = "document.activeElement.id"
    press(browser, "/")
    assert browser.evaluate(focused) == "search"
    browser.call("Input.insertText", text="j")
    assert browser.evaluate("document.querySelector('#search').value") == "j"
    press(browser, "Escape")
    until(browser, "document.body.dataset.state === 'ready'")
    assert browser.evaluate("document.querySelector('#search').value") == ""
    press(browser, "Enter")
    assert browser.evaluate(focused) == "list"
    press(browser, "j")
    press(browser, "ArrowDown")
    press(browser, "k")
    active = "document.querySelector('.row.active .name').textContent"
    assert browser.evaluate(active) == "office/00001"
    press(browser, "Enter")
    opened_row(browser, "office/00001")
    assert browser.evaluate(focused) == "detail"
    press(browser, "j")
    press(browser, "j")
    assert browser.evaluate(focused) == "step-1"
    assert browser.evaluate("document.querySelectorAll('#step-1 details[open]').length") == 0
    press(browser, "o")
    assert browser.evaluate("document.querySelectorAll('#step-1 details[open]').length") >= 1
    # What a fold holds is made when the browser tells that it was opened.
    until(browser, "document.querySelector('#step-1 .body').textContent.length > 10")
    press(browser, "o")
    assert browser.evaluate("document.querySelectorAll('#step-1 details[open]').length") == 0
    press(browser, "]")
    opened_row(browser, "office/00002")
    press(browser, "[")
    opened_row(browser, "office/00001")
    press(browser, "?")
    assert browser.evaluate("document.querySelector('#help').open")
    press(browser, "Escape")
    assert not browser.evaluate("document.querySelector('#help').open")
    browser.evaluate("document.querySelector('#detail').focus()")
    press(browser, "Escape")
    assert browser.evaluate(focused) == "list"
    silent(browser)


def test_a_deep_link(browser: Browser, page: Path, details: list[dict[str, Any]]) -> None:
    look(browser, page, "#office/00777/2")
    opened_row(browser, "office/00777")
    assert browser.evaluate("document.activeElement.id") == "step-2"
    assert browser.evaluate("document.querySelector('h1').textContent") == "office/00777"
    steps = "document.querySelectorAll('#detail article').length"
    assert browser.evaluate(steps) == len(details[777]["steps"])
    top = browser.evaluate("document.querySelector('#step-2').getBoundingClientRect().top")
    assert -5 <= top < 800, "it is in view"
    browser.evaluate("location.hash = '#office/00003'")
    opened_row(browser, "office/00003")
    browser.evaluate("history.back()")
    opened_row(browser, "office/00777")
    look(browser, page, "#nothing/like/it")
    until(browser, "document.querySelector('#status').textContent.startsWith('No trajectory')")
    silent(browser)


def test_a_phone(browser: Browser, page: Path) -> None:
    look(browser, page, width=360)
    assert browser.evaluate("getComputedStyle(document.querySelector('#detail')).display") == "none"
    browser.evaluate("document.querySelector('.row').click()")
    opened_row(browser, "office/00000")
    assert browser.evaluate("getComputedStyle(document.querySelector('#list')).display") == "none"
    browser.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    time.sleep(0.1)
    for box in ("document.documentElement", "document.querySelector('#detail')"):
        assert browser.evaluate(f"{box}.scrollWidth") <= 360, box
    browser.evaluate("document.querySelector('button.back').click()")
    assert browser.evaluate("getComputedStyle(document.querySelector('#detail')).display") == "none"
    silent(browser)


def test_rules_events_and_labels_are_there(browser: Browser, page: Path) -> None:
    index = Packed(page.read_bytes()).index
    term = index["terms"].index(["rule", "planted-request"])
    name = next(row[0] for row in index["rows"] if term in row[3])
    look(browser, page, f"#{name}")
    opened_row(browser, name)
    head = browser.evaluate("document.querySelector('header.head').textContent")
    for part in ("planted-request", "injection in {followed}", "label: ", "[120 for, 2 against]"):
        assert part in head, part
    rules = "[...document.querySelectorAll('header.head .event tr')].map(e => e.textContent)"
    assert "injectionfollowedplanted-request" in browser.evaluate(rules)
    silent(browser)


def write(path: Path, *subjects: Subject) -> Path:
    path.write_bytes(page_of(subjects, Judge(), "a title").data)
    return path


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("bad", [False, True], ids=["plain", "hostile"])
def test_one_episode(browser: Browser, tmp_path: Path, width: int, dark: bool, bad: bool) -> None:
    path = write(tmp_path / "one.html", subject_of(hostile() if bad else made(), "f"))
    look(browser, path, width=width, dark=dark)
    until(browser, "document.body.dataset.opened")
    browser.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    time.sleep(0.1)
    for box in ("document.documentElement", "document.querySelector('#detail')"):
        assert browser.evaluate(f"{box}.scrollWidth") <= width, box
    small = browser.evaluate(
        "[...document.querySelectorAll('#detail *')].filter(each => each.tagName != 'SUP')"
        ".map(each => parseFloat(getComputedStyle(each).fontSize)).reduce((a, b) => Math.min(a, b))"
    )
    assert small >= 11
    silent(browser)


def test_a_hostile_trace_does_nothing(browser: Browser, tmp_path: Path) -> None:
    labels = [Label(hostile().id, hostile().id, 1, "step", hostile().id)]
    bad = subject_of(hostile(), "f")
    path = write(tmp_path / "bad.html", bad, Subject(bad.trajectory, "f", labels=labels))
    look(browser, path)
    for row in (0, 1):
        browser.evaluate(f"document.querySelectorAll('.row')[{row}].click()")
        until(browser, "document.body.dataset.opened")
        press(browser, "O")
        search(browser, "<script>")
        browser.evaluate(
            "document.querySelectorAll('*').forEach(each => {"
            " each.dispatchEvent(new MouseEvent('mouseover', {bubbles: true})); })"
        )
        browser.evaluate("document.querySelectorAll('#detail a.src').forEach(each => each.click())")
        assert browser.evaluate("document.title").endswith(" · VEPA")
        assert (
            browser.evaluate("document.images.length + document.querySelectorAll('iframe').length")
            == 0
        )
        assert browser.evaluate("document.querySelectorAll('article').length") == 4
        assert "onerror=console.log(1)" in browser.evaluate("document.body.textContent")
    silent(browser)


def test_sources_differ_in_colour_and_in_line(browser: Browser, tmp_path: Path) -> None:
    look(browser, write(tmp_path / "one.html", subject_of(made(), "f")))
    until(browser, "document.body.dataset.opened")
    for of in ("color", "textDecorationStyle"):
        values = browser.evaluate(
            "[...document.querySelectorAll('.legend .src')]"
            f".map(each => getComputedStyle(each).{of})"
        )
        kinds = values[:4]  # user, message, document, tool
        assert len(set(kinds)) == 4, of


def test_a_mark_leads_to_its_step_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    look(browser, write(tmp_path / "one.html", subject_of(made(), "f")), width=390)
    until(browser, "document.body.dataset.opened")
    browser.evaluate("document.querySelector('article a.request').focus()")
    outlined = "getComputedStyle(document.querySelector('#step-1')).outlineStyle"
    assert browser.evaluate(outlined) == "dashed"
    press(browser, "Enter")
    until(browser, "document.activeElement.id === 'step-1'")
    assert browser.evaluate("location.hash").endswith("/1")
    assert browser.evaluate(outlined) == "solid"


def test_a_huge_text_waits_behind_a_button(browser: Browser, tmp_path: Path) -> None:
    steps = [{"index": 0, "kind": "user", "text": "x" * 150_000}]
    of = Trajectory.model_validate({"id": "huge", "steps": steps})
    look(browser, write(tmp_path / "huge.html", Subject(of, "f")), width=360)
    opened_row(browser, "huge")
    length = "document.querySelector('.said').textContent.length"
    assert browser.evaluate(length) < 70_000
    for _ in range(2):
        browser.evaluate("document.querySelector('.said .more').click()")
    assert browser.evaluate(length) == 150_000
    assert browser.evaluate("document.querySelector('#detail').scrollWidth") <= 360


def test_printing_unfolds_results(browser: Browser, tmp_path: Path) -> None:
    look(browser, write(tmp_path / "one.html", subject_of(made(), "f")))
    until(browser, "document.body.dataset.opened")
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert browser.evaluate("document.querySelectorAll('#detail details:not([open])').length") == 0
    assert "list of salaries" in browser.evaluate("document.querySelector('#step-1').textContent")


def test_without_scripts_it_says_so(browser: Browser, page: Path, tmp_path: Path) -> None:
    one = write(tmp_path / "one.html", subject_of(made(), "f"))
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        for path, part in ((page, "needs JavaScript"), (one, "intake@records-archive.example")):
            browser.open("about:blank", width=390, height=800, dark=False)
            browser.open(path.as_uri(), width=390, height=800, dark=False)
            assert part in browser.evaluate("document.querySelector('noscript').textContent")
            shown = "document.querySelector('noscript').getBoundingClientRect().height"
            assert browser.evaluate(shown) > 20
            assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
