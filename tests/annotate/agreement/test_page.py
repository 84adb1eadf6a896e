"""The page and the Markdown: every figure, and nothing that a name could turn into markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from judging import judged, label, two_readers

from vepa.annotate.agreement import agreement, agreement_markdown, agreement_page
from vepa.annotate.agreement.passes import ONE_FAMILY
from vepa.annotate.agreement.sections import sections

X, Y = "inefficient_or_wasteful_execution", "incorrect_tool_parameters"
PAIRS = [((X,), (X,)), ((X,), ()), ((), ()), ((X, Y), (Y,)), ((), (Y,)), ((), ())] * 3
HOSTILE = "\"'><script>alert(1)</script>|{{ 7*7 }}"


@pytest.fixture(scope="module")
def found():
    return agreement(two_readers(PAIRS), against=two_readers(PAIRS[2:]), resamples=50)


class Page(HTMLParser):
    """Elements that do not close in order, and the pictures' titles."""

    VOID = frozenset({"meta", "link", "br", "wbr"})

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)


def test_the_page_is_whole_and_needs_nothing(found):
    text = agreement_page(found)
    page = Page(text)
    assert page.open == []
    assert page.tags.count("svg") == 3
    assert not {"script", "img", "iframe"} & set(page.tags)
    assert not re.search(r"(?:src|href)=\"(?!data:)", text)
    assert text.count("<desc>") == 3
    assert "prefers-color-scheme: dark" in text
    assert ONE_FAMILY in "".join(page.text)


def test_every_figure_of_a_table_stands_on_the_page_and_in_the_markdown(found):
    shown = "".join(Page(agreement_page(found)).text)
    written = agreement_markdown(found).replace("\\", "")
    cells = {
        cell
        for section in sections(found)
        for table in section.tables
        for row in table.rows
        for cell in row
    }
    assert len(cells) > 60
    assert [cell for cell in cells if cell not in shown] == []
    assert [cell for cell in cells if cell not in written] == []


def test_pictures_tell_the_counts(found):
    text = agreement_page(found)
    pair = found.pairs[0]
    assert f"a says refuse, b says allow: {pair.decision.only_a} contents" in text
    assert f"a: {X}; b: (none): 3 contents" in text
    assert f"{Y}: κ " in text
    assert 'class="bar kappa unstable"' in text


def test_a_trigger_without_a_kappa_says_why_in_the_picture():
    text = agreement_page(agreement(two_readers([((X,), ()), ((), ())] * 4), resamples=20))
    assert "no κ: b never says it" in text


def test_names_are_text_and_nothing_else():
    labels = [
        each.model_copy(update={"annotator": HOSTILE}) if each.annotator == "a" else each
        for each in two_readers(PAIRS)
    ]
    found = agreement(labels, resamples=20)
    text = agreement_page(found)
    assert "<script" not in text
    assert "7*7" in text
    assert Page(text).open == []
    rows = [line for line in agreement_markdown(found).splitlines() if "script" in line]
    assert rows
    assert all("<script" not in row.replace("\\<", "") for row in rows)
    tables = [line for line in rows if line.startswith("| ")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) >= 5 for row in tables)


def test_where_nothing_is_real_the_page_says_so():
    labels = [
        each.model_copy(update={"origin": "scripted", "model": "scripted/x"})
        for each in two_readers(PAIRS)
    ]
    text = agreement_page(agreement(labels))
    assert "no agreement is measured" in text
    assert "<svg" not in text
    assert "κ" not in "".join(Page(text).text)


def test_three_annotators_and_marked_tables_have_their_sections():
    labels = two_readers(PAIRS)
    for at, (ours, _) in enumerate(PAIRS):
        labels += label("c", f"i{at}", judged(*ours), places=((f"episode/{at}", 0),))
    text = agreement_page(agreement(labels, resamples=20))
    assert "All annotators at once" in text
    assert text.count("<svg") == 9
