"""The report of a lifecycle: true to the summary, whole or not; nothing becomes markup."""

from __future__ import annotations

import copy
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from shown_episodes import HOSTILE

from vepa.lifecycle.report.page import lifecycle_report
from vepa.viewer.signs import visible

_ODD: tuple[Any, ...] = (None, [], {}, 7, -1.5, HOSTILE)


class Page(HTMLParser):
    """Elements and text of a page, and whether its elements close in order."""

    VOID = frozenset({"meta", "link", "br"})

    def __init__(self, text: str):
        super().__init__()
        self.text = text
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
        if self.open and self.open[-1] not in ("style", "title", "desc"):
            self.pieces.append(data)

    def of(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]

    @property
    def links(self) -> list[str]:
        found = [str(link["href"]) for link in self.of("a")]
        return [link for link in found if not link.startswith("#")]

    def section(self, name: str) -> str:
        """The words of one section; empty where the page has none."""
        found = re.search(rf'<section id="{name}">(.*?)</section>', self.text, re.DOTALL)
        return Page(found[1]).words if found else ""


def _page(summary: dict[str, Any], folder: Path) -> Page:
    return Page(lifecycle_report(summary, folder))


def test_the_page_stands_alone(summary: dict[str, Any], folder: Path) -> None:
    page = _page(summary, folder)
    assert page.open == []
    policy = [meta["content"] for meta in page.of("meta") if "http-equiv" in meta]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]
    (style,) = re.findall(r"<style>(.*?)</style>", page.text, re.DOTALL)
    assert "url(" not in style
    assert "@import" not in style
    assert "prefers-color-scheme: dark" in style
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    inside = [str(link["href"])[1:] for link in page.of("a") if str(link["href"]).startswith("#")]
    assert len(inside) == 8
    assert set(inside) <= ids
    assert "//" not in "".join(page.links)
    pictures = [svg for svg in page.of("svg") if svg.get("aria-hidden") != "true"]
    assert len(pictures) == 6
    assert all(svg["role"] == "img" and svg["aria-label"] for svg in pictures)


def test_it_begins_with_what_a_manager_asks(summary: dict[str, Any], folder: Path) -> None:
    page = _page(summary, folder)
    head = page.words[: page.words.index("The stages")]
    version = summary["release"]["version"]
    for told in (
        f"8 episodes gave 24 steps, all with a label that stands, released as {version}; the",
        "; the policy of the corpus decides 58 % of its steps and the policy of the benchmark",
        "and the policy of the benchmark decides 84 % of its events. Episodes",
        "Episodes 8 6 tasks; in 8 a script is agent or user",
        "Steps 24 16 calls",
        "Labels that stand 24 of 24 steps; 3 refuse; no dispute is open",
        "κ of the decision 0.70 95 %: 0.25 to 0.95; two passes of one model family",
        f"Release {version} 6 tables",
        "Policy of the corpus 0.875 covered macro-F1; decided 14 of 24 steps (58 %); unsafe",
        "(58 %); unsafe allowed 4 of 4 decided (100 %)",
        "Policy of the benchmark 0.875 covered macro-F1; decided 647 of 774 events (84 %); unsafe",
        "(84 %); unsafe allowed 25 of 346 decided (7.2 %)",
    ):
        assert told in head, told


def test_it_says_what_is_scripted_recorded_and_real(summary: dict[str, Any], folder: Path) -> None:
    told = _page(summary, folder).section("real")
    for part in (
        "Agents 100 % scripted (8)",
        "User 100 % scripted (8)",
        "Services 100 % real servers (16)",
        "Labels given 12 % scripted (6), 88 % recorded from a real model (42)",
        "Labels that stand 12 % scripted (3), 83 % recorded from a real model (20), 4.2 % people",
        "In all 8 episodes a script acts.",
        "by each annotator; the models: Some Model 1, by a vendor",
        "6 labels were given by a script that stands in for a reader: nobody should trust them.",
        "Policy of the corpus: it refused nothing; all 4 unsafe steps that it decided were",
        "Policy of the benchmark: unsafe events allowed, 25 of 346 decided (7.2 %).",
    ):
        assert part in told, part
    assert "single field" not in told  # both are above it
    summary["benchmark"]["standing"] = "VEPA is not above the best single field: 0.1 against 0.2."
    summary["user"] = "openai/some-model"
    summary["corpus"]["by_model"]["openai/other"] = {"episodes": 2, "unsafe": 1}
    summary["annotation"]["labels"]["origins"] = {"model": 48}
    told = _page(summary, folder).section("real")
    assert "Agents 80 % scripted (8), 20 % real model, live (2)" in told
    assert "In 8 of 10 episodes a script acts." in told
    assert "User 100 % real model, live (8) openai/some-model plays the persona" in told
    assert "stands in for a reader" not in told
    assert "Policy of the benchmark: VEPA is not above the best single field" in told


def test_every_stage_has_its_state_and_its_page(summary: dict[str, Any], folder: Path) -> None:
    summary["stages"].remove("train")
    del summary["corpus_policy"]
    page = _page(summary, folder)
    states = {each["id"]: each["class"] for each in page.of("li") if "id" in each}
    assert states == {
        "stage-collect": "stood",
        "stage-annotate": "made",
        "stage-release": "made",
        "stage-evolve-corpus": "missing",
        "stage-train": "absent",
        "stage-evolve-benchmark": "stood",
        "stage-report": "here",
    }
    told = page.section("flow")
    for part in (
        "Collect stood, made in 6 min 8 episodes",
        "Annotate made now, 33 s 24 labels that stand",
        "Release made now, 8.0 s",
        "Evolve on the corpus nothing there no labelled step to learn from",
        "Train not in this profile",
        "Evolve on a benchmark stood, made in 23 s decided 647 of 774 events (84 %)",
    ):
        assert part in told, part
    there = [link for link in page.links if link != "lifecycle.json"]
    assert {"../../corpus/tiny/report.html", "../../corpus/tiny/labels/agreement.html"} < set(there)
    assert f"../../corpus/{summary['release']['version']}/leakage.json" in there
    assert "../../runs/small-000000000002/report.html" in there
    assert all((folder / unquote(link)).is_file() for link in there)
    assert not [link for link in there if "DATASHEET" in link]  # which is not there


def test_every_stage_has_a_section_with_its_figures(summary: dict[str, Any], folder: Path) -> None:
    page = _page(summary, folder)
    assert "Done as asked 5" in page.section("corpus")
    labels = page.section("labels")
    for part in (
        "both annotators agree 22 by the arbiter 1 by people 1",
        "annotate, 48 questions 0.00 USD arbitrate, 2 questions price not known",
        "unconfirmed or over privileged action 0.50 (0.10 to 0.90)",
        "provide inaccurate misleading or unverified information 1.00",
    ):
        assert part in labels, part
    release = page.section("release")
    assert "settled 8 8 8" in release
    assert (
        "Tasks in two splits 2 of 6 Planted texts in two splits 0 of 3 "
        "Nearly the same texts in two splits 0 Leakage: 2 findings problem : 2 tasks"
    ) in release
    assert "Release: 2 tasks stand in two splits." in page.section("real")
    assert "gives it away" not in page.section("real")
    assert "Safe refused 1 of 301 decided (0.3 %)" in page.section("policies")
    provenance = page.section("provenance")
    for part in (
        summary["corpus"]["content_sha256"],
        summary["annotation"]["provenance"]["recordings"]["recorded/pass-a"],
        summary["release"]["content_sha256"],
        summary["benchmark"]["policy_hash"],
        "vepa run --profile tiny",
        f"vepa corpus check {summary['release']['version']}",
        "Reader a recorded/pass-a, else scripted/a",
        "train/gpu on " + summary["release"]["version"] + ", run quiet-otter",
    ):
        assert part in provenance, part


# --- what is not there is not told


def test_wrong_feedback_is_told_where_a_run_estimated_it(
    summary: dict[str, Any], folder: Path
) -> None:
    words = "of the feedback is wrong, by the run's estimate"
    assert words not in _page(summary, folder).words, "a summary of before has no estimate"
    summary["benchmark"]["wrong_feedback"] = 0.097
    summary["corpus_policy"]["wrong_feedback"] = None
    told = " ".join(_page(summary, folder).words.split())
    assert told.count(words) == 1
    assert f"9.7 % {words}" in told


def test_a_profile_with_a_benchmark_only(summary: dict[str, Any], folder: Path) -> None:
    kept = ("profile", "at", "vepa", "benchmark", "seconds", "made")
    alone = {key: summary[key] for key in kept} | {"stages": ["evolve-benchmark", "report"]}
    page = _page(alone, folder)
    assert "The policy of the benchmark decides 84 % of its events." in page.words
    assert "This profile collects no corpus" in page.section("real")
    assert not [name for name in ("corpus", "labels", "release") if page.section(name)]
    states = {str(each["id"]): each["class"] for each in page.of("li") if "id" in each}
    assert states == {"stage-evolve-benchmark": "stood", "stage-report": "here"}
    for word in ("κ", "Episodes", "Release", "vepa corpus", "vepa show", "scripted"):
        assert word not in page.words.replace("Scripted, recorded, real", ""), word


def test_open_disputes_no_kappa_and_no_release_are_said(
    summary: dict[str, Any], folder: Path
) -> None:
    annotation = summary["annotation"]
    annotation["agreement"] = {"heading": "judged by scripts: no κ is told", "pairs": []}
    annotation["queue"] |= {"open": 2}
    annotation["settled"] |= {"steps": 22}
    for key in ("release", "corpus_policy", "train"):
        summary[key] = None
    page = _page(summary, folder)
    for part in (
        "8 episodes gave 24 steps, 22 with a label that stands, not released yet; the policy of",
        "Labels that stand 22 of 24 steps; 3 refuse; 2 disputes open",
        "κ of the decision none judged by scripts: no κ is told",
        "Release none yet",
        "Release nothing there there is no release yet",
        "22 labels that stand; 2 disputes open",
        "2 disputes wait for people (vepa arbitrate); those steps have no label that stands.",
        "No κ is told.",
        "Train nothing there no training was asked for",
    ):
        assert part in page.words, part
    assert "vepa corpus check" not in page.words
    assert page.section("release") == ""


def test_a_policy_that_decided_nothing_has_no_score(summary: dict[str, Any], folder: Path) -> None:
    nothing = {"allow": 0, "refuse": 0}
    summary["benchmark"]["confusion"] = {
        "allow": nothing, "refuse": nothing, "abstain": {"allow": 5, "refuse": 4},
    }  # fmt: skip
    summary["benchmark"]["figures"] |= {"covered_macro_f1": 0.0, "mean_coverage": 0.0}
    page = _page(summary, folder)
    assert "Policy of the benchmark none decided 0 of 9 events (0 %)" in page.words
    assert "Policy of the benchmark: it decided nothing." in page.section("real")
    assert "Unsafe allowed none of those was decided" in page.section("policies")


@pytest.mark.parametrize("content", [None, "{", "[]", '{"findings": [7], "overlap": []}'])
def test_a_leakage_report_that_tells_nothing_is_left_out(
    summary: dict[str, Any], folder: Path, tmp_path: Path, content: str | None
) -> None:
    summary["release"]["folder"] = str(tmp_path)
    if content is not None:
        (tmp_path / "leakage.json").write_text(content)
    page = _page(summary, folder)
    assert "in two splits" not in page.words
    assert "finding" not in page.section("release")


def test_a_corpus_that_another_command_collected_has_its_time(
    summary: dict[str, Any], folder: Path
) -> None:
    del summary["seconds"]["collect"]
    assert "Collect stood, made in 61 s" in _page(summary, folder).section("flow")


@pytest.mark.slow
def test_whatever_is_missing_or_odd_the_page_is_made(summary: dict[str, Any], folder: Path) -> None:
    summary["before"] = copy.deepcopy(summary)
    paths = _paths(summary)
    assert len(paths) > 200
    for at, path in enumerate(paths):
        value = _ODD[at % len(_ODD)]
        page = _page(_with(summary, path, value), folder)
        assert page.open == [], (path, value)
        assert "<script" not in page.text


def test_whatever_part_is_missing_the_page_is_made(summary: dict[str, Any], folder: Path) -> None:
    summary["before"] = {"at": HOSTILE, "corpus": None, "annotation": [], "release": {"rows": 7}}
    for key in summary:
        page = _page({name: value for name, value in summary.items() if name != key}, folder)
        assert page.open == [], key
    assert "No stage has left anything yet." in _page({}, folder).words


def _paths(data: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = data.items() if isinstance(data, dict) else enumerate(data[:1])
    found = []
    for key, value in items:
        found.append((*way, key))
        if isinstance(value, (dict, list)):
            found += _paths(value, (*way, key))
    return found


def _with(summary: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    made = copy.deepcopy(summary)
    place: Any = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return made


# --- hostile data


def test_no_text_becomes_markup(summary: dict[str, Any], folder: Path) -> None:
    summary["before"] = copy.deepcopy(summary)
    allowed = {tag for tag, _ in _page(summary, folder).tags}
    bad = _hostile(summary)
    page = _page(bad, folder)
    assert page.open == []
    assert {tag for tag, _ in page.tags} <= allowed
    assert not {"script", "img", "iframe", "form"} & allowed
    for _, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")]
        link = attributes.get("href")
        assert link is None or link.startswith(("#", "data:,", "../../", "lifecycle.json")), link
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]", page.text)
    assert "{{ 7 * 7 }}" in page.text
    assert page.text.count("⟦U0 forged⟧") > 30
    assert visible(HOSTILE) in "".join(page.pieces)


def _hostile(value: Any) -> Any:
    """Every text becomes hostile, and so does a name of everything that is counted."""
    if isinstance(value, dict):
        open_ = {"by_model", "rows", "splits", "origins", "how", "triggers", "cost", "readers"}
        made = {}
        for key, each in value.items():
            each = _hostile(each)
            if key in open_ and isinstance(each, dict):
                each = {HOSTILE: next(iter(each.values()), 1), **each}
            made[key] = each
        return made
    if isinstance(value, list):
        return [each if isinstance(each, str) else _hostile(each) for each in value]
    return HOSTILE if isinstance(value, str) else value
