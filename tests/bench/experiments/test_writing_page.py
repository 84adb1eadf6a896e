"""The page over all experiments: complete, quiet, and only text where text belongs."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from told_reports import NEEDS, told_report

from vepa.bench.experiments.document import Report
from vepa.bench.experiments.writing.page import report_page
from vepa.bench.experiments.writing.styles import styles_of

HOSTILE = "<img src=x onerror=alert(1)><script>document.title='gone'</script>&amp;"


class Reader(HTMLParser):
    """Tags with their attributes, texts of rows, headings."""

    def __init__(self, page: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.within = False
        self.rows: list[tuple[str, str]] = []
        self.levels: list[int] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag == "tr":
            self.within = True
            self.rows.append((given.get("class") or "", ""))
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))

    def handle_endtag(self, tag: str) -> None:
        if tag == "tr":
            self.within = False

    def handle_data(self, data: str) -> None:
        if self.within:
            kind, text = self.rows[-1]
            self.rows[-1] = kind, text + data


@pytest.fixture(scope="module")
def report() -> Report:
    return told_report()


@pytest.fixture(scope="module")
def page(report: Report) -> str:
    return report_page(report, styles_of(report))


def test_every_experiment_is_told_and_linked(report: Report, page: str) -> None:
    read = Reader(page)
    ids = [given["id"] for _, given in read.tags if given.get("id")]
    assert len(set(ids)) == len(ids)
    links = [given["href"] or "" for tag, given in read.tags if tag == "a"]
    for each in report.experiments:
        assert each.name in ids
        assert f"#{each.name}" in links
        for figure in each.figures:
            assert {f"{each.name}/{figure.name}.svg", f"{each.name}/{figure.name}.csv"} <= set(
                links
            )
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert page.count('<svg class="figure"') == sum(
        len(each.figures) for each in report.experiments
    )


def test_nothing_is_asked_of_a_network(page: str) -> None:
    read = Reader(page)
    for _, given in read.tags:
        for name in ("src", "href", "action", "data"):
            assert not re.match(r"(?i)\s*(https?:|//|javascript:)", given.get(name) or "")
    assert "url(" not in page
    assert "@import" not in page
    assert page.count("<script>") == 1
    assert [name for _, given in read.tags for name in given if name.startswith("on")] == []


def test_rows_that_were_not_run_are_set_apart_without_a_number(page: str) -> None:
    rows = Reader(page).rows
    missing = [text for kind, text in rows if kind == "missing"]
    assert len(missing) == 24  # 21 in tables, 2 beside figures of the source, 1 experiment
    for text in missing:
        assert "±" not in text
    assert sum("NOT RUN" in text for text in missing) >= 10
    assert not [
        text for kind, text in rows if kind != "missing" and re.search(r"NOT RUN\s*needs", text)
    ]


def test_headings_descend_step_by_step(page: str) -> None:
    levels = Reader(page).levels
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_that_figures_are_means_is_said_once(page: str) -> None:
    assert page.count("Every figure is a mean over 5 seeds (0, 1, 2, 3, 4)") == 1


def test_what_is_code_is_shown_as_code(page: str) -> None:
    assert NEEDS.startswith("a language model as the judge: `--judge MODEL`")
    assert "<code>--judge MODEL</code>" in page
    assert "`--judge" not in page


def spoilt(found: object, name: str = "") -> object:
    """A document all of whose words are hostile; names that lead somewhere are left."""
    if name in {"name", "kind", "unit", "style", "key"}:
        return found
    if isinstance(found, dict):
        if found and name in {"marks", "hashes", "versions"}:
            return {HOSTILE: next(iter(found.values()))}
        return {key: spoilt(each, key) for key, each in found.items()}
    if isinstance(found, list):
        return [spoilt(each) for each in found]
    return f"{HOSTILE}`{HOSTILE}`" if isinstance(found, str) else found


def test_hostile_words_are_only_text(report: Report) -> None:
    hostile = Report.model_validate(spoilt(report.model_dump(mode="json")))
    page = report_page(hostile, styles_of(hostile))
    tags = Reader(page).tags
    assert not [tag for tag, _ in tags if tag == "img"]
    assert [tag for tag, _ in tags].count("script") == 1
    assert not [name for _, given in tags for name in given if name.startswith("on")]


def test_the_page_stays_small(report: Report, page: str) -> None:
    per_experiment = len(page) / len(report.experiments)
    assert per_experiment * 14 < 2_000_000
