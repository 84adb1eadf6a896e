"""The report: one page, complete, and nothing in it that data could turn into markup."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from small_runs import PROFILE, SmallProject

from vepa.bench.comparison import standing
from vepa.bench.report import charts
from vepa.bench.report import page as report
from vepa.bench.report.data import gather, wrong_rows
from vepa.bench.report.evidence import gate_words
from vepa.bench.report.round_log import round_log
from vepa.bench.runs.run import Run, open_run
from vepa.bench.runs.stages import markdown, rule_table
from vepa.policy.matching import CompiledPolicy

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7*7 }}"


class Page(HTMLParser):
    """Elements and text of a page, and whether its elements close in order."""

    VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text.append(data)

    def of(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]


@pytest.fixture(scope="module")
def page(finished: Path) -> Page:
    return Page((finished / "report.html").read_text())


def test_the_page_is_well_formed_and_stands_alone(page: Page) -> None:
    assert page.open == []
    assert page.of("script") == []
    assert page.of("img") == []
    assert page.of("iframe") == []
    policy = [meta["content"] for meta in page.of("meta") if "http-equiv" in meta]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]
    for _, attributes in page.tags:
        for name in ("src", "href", "action", "data", "poster", "style"):
            link = attributes.get(name)
            assert link is None or link.startswith(("#", "data:,")), (name, link)
        assert not [name for name in attributes if name.startswith("on")]


def test_the_style_asks_the_network_for_nothing(finished: Path) -> None:
    style = re.findall(r"<style>(.*?)</style>", (finished / "report.html").read_text(), re.DOTALL)
    assert len(style) == 1
    assert "url(" not in style[0]
    assert "@import" not in style[0]
    assert "prefers-color-scheme: dark" in style[0]


def test_links_lead_to_sections_that_are_there(page: Page) -> None:
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    targets = {str(link["href"])[1:] for link in page.of("a")}
    assert len(targets) == 7
    assert targets <= ids


def test_every_picture_has_a_name_and_a_table_beside_it(page: Page) -> None:
    pictures = [svg for svg in page.of("svg") if svg.get("aria-hidden") != "true"]
    assert all(svg["role"] == "img" and svg["aria-label"] for svg in pictures)
    kinds = [svg["class"] for svg in pictures]
    assert kinds.count("chart") == 6
    assert kinds.count("lineage") == 1
    assert len(page.of("table")) >= 5


def test_the_page_shows_the_run(finished: Path, page: Page) -> None:
    summary = json.loads((finished / "summary.json").read_text())
    run = open_run(finished)
    text = " ".join(page.text)
    for figure in (summary["covered_macro_f1"], summary["full_macro_f1"]):
        assert f"{figure:.3f}" in text
    final = run.policy(5)
    assert len(final) > 0
    for rule in final.rules:
        assert f"rule-{rule.id}" in [attributes.get("id") for attributes in page.of("article")]
        for predicate in rule.when.values():
            assert set(predicate.values) <= set(page.text)
    for number in range(1, 6):
        assert f"Round {number}" in page.text
    assert run.inputs["events"]["sha256"] in text
    assert final.policy_hash in text


def test_wrong_decisions_are_listed_each(finished: Path, page: Page) -> None:
    frame = pl.concat([pl.read_parquet(file) for file in (finished / "decisions").glob("*")])
    wrong = frame.filter((pl.col("verdict") != "abstain") & (pl.col("verdict") != pl.col("label")))
    assert len(wrong) > 0
    assert f"Wrong decisions: {len(wrong)} of" in " ".join(page.text)
    errors = page.text[page.text.index("Verdicts by label") :]
    assert set(wrong["id"]) <= set(errors)
    for row in wrong.iter_rows(named=True):
        policy = f"artifacts/runs/{finished.name}/policies/round-{row['round'] - 1:03}.yaml"
        command = f"vepa policy explain {policy} data/small.events.jsonl --id {row['id']}"
        assert command in errors
        compiled = CompiledPolicy(open_run(finished).policy(row["round"] - 1))
        assert compiled.policy_hash == row["policy_hash"], "that policy decided the round"


def test_fields_that_the_fired_rules_test_are_marked(finished: Path, page: Page) -> None:
    run = open_run(finished)
    rows = wrong_rows(gather(run, {}), 200)
    assert rows
    marked = 0
    for row in rows:
        rules = run.policy(row["round"] - 1).by_id
        tested = set(rules[row["rules"][0]].when)
        assert {name for name, _, mark in row["event"] if mark} == tested
        assert len(row["event"]) == len(run.stream.table.schema)
        marked += len(tested)
    assert sum(box.get("class") == "tested" for box in page.of("div")) == marked


def test_both_kinds_of_errors_stand_there(finished: Path, page: Page) -> None:
    frame = pl.concat([pl.read_parquet(file) for file in (finished / "decisions").glob("*")])
    counts = {
        (said, meant): len(frame.filter((pl.col("verdict") == said) & (pl.col("label") == meant)))
        for said in ("allow", "refuse", "abstain")
        for meant in ("allow", "refuse")
    }
    at = page.text.index("Verdicts by label")
    cells = [int(part) for part in page.text[at:] if part.strip().isdigit()][:6]
    assert cells == list(counts.values())
    unsafe = counts["allow", "refuse"] + counts["refuse", "refuse"]
    told = f"{counts['allow', 'refuse']} of {unsafe} decided"
    assert any(part.startswith(f"{told}; safe refused") for part in page.text), "on a card"
    assert any(f": unsafe allowed {told}" in part for part in page.text)


def test_the_gate_the_comparison_and_the_end_of_the_curve_are_told(
    finished: Path, page: Page
) -> None:
    summary = json.loads((finished / "summary.json").read_text())
    text = " ".join(" ".join(page.text).split())
    run = open_run(finished)
    for sentence in gate_words(run.gate, summary["wrong_feedback"]):
        assert sentence in text
    assert str(standing(summary)) in page.text
    share = f"{100 * summary['mean_coverage']:.1f} %"
    assert f"it decides {share} of the events" in text
    svg = (finished / "report.html").read_text()
    assert f"VEPA, coverage {100 * summary['mean_coverage']:g}:" in svg


def test_wrong_feedback_is_told_by_round_and_rules_show_their_probability(
    finished: Path, page: Page
) -> None:
    run, text = open_run(finished), " ".join(page.text)
    shares = [run.record(number)["wrong_feedback"] for number in range(1, 6)]
    assert all(share is not None for share in shares)
    summary = json.loads((finished / "summary.json").read_text())
    assert summary["wrong_feedback"] == shares[-1]
    assert [row["wrong_feedback"] for row in summary["rounds"]] == shares
    assert f"Wrong feedback: about {100 * shares[-1]:.1f} %" in text
    svg = (finished / "report.html").read_text()
    for number, share in enumerate(shares, 1):
        assert f"estimate, round {number}: {charts._value(share, 'percent')}" in svg
    rules = run.policy(5).rules
    assert [rule.evidence.probability for rule in rules if rule.evidence] != [None] * len(rules)
    for rule, row in zip(rules, rule_table(finished), strict=True):
        assert rule.evidence is not None
        told = f"P(precision on true labels ≥ 0.95) = {rule.evidence.probability:.3f}"
        assert told == row["weighed"]
        assert told in text
    assert f"about {shares[-1]:.1%} of the feedback is wrong" in markdown(summary, "report.html")


def test_a_mode_that_estimates_nothing_has_no_picture_of_it(finished: Path) -> None:
    data = gather(open_run(finished), {})
    silent = replace(data, records=[{**row, "wrong_feedback": None} for row in data.records])
    assert report._wrong_feedback(data)
    assert report._wrong_feedback(silent) == ""


def test_the_files_stand_there_with_their_hash(finished: Path, page: Page) -> None:
    (file,) = open_run(finished).files
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    manifest = json.loads((finished / "manifest.json").read_text())
    assert manifest["inputs"]["events"]["files"] == {"small.events.jsonl": digest}
    assert digest in page.text
    assert manifest["inputs"]["events"]["sha256"] in page.text


def test_the_round_log_says_what_became_of_every_patch(finished: Path, page: Page) -> None:
    run = open_run(finished)
    policies = [run.policy(number) for number in range(6)]
    records = [run.record(number) for number in range(1, 6)]
    seen = set()
    for record, entry in zip(records, round_log(policies, records), strict=True):
        front = {item["candidate"] for item in record["front"]}
        rows = [entry["standing"], *entry["attempts"]]
        assert [row["reason"].startswith("picked") for row in rows].count(True) == 1
        for row in rows:
            reason = row["reason"]
            seen.add(reason.split(",")[0].split(":")[0].split(" ")[0])
            assert reason.startswith("rejected") == (not row["verified"])
            if reason.startswith("on the front"):
                assert row["number"] in front
            elif reason.startswith(("dominated", "repeats", "rejected")):
                assert row["number"] not in front
            else:
                assert row["number"] == record["picked"]
            if reason == "dominated":
                better = [item for item in record["front"] if _dominates(item, row["score"])]
                assert better
        for item in record["front"]:
            if item["candidate"] == 0:
                told = {key: item[key] for key in record["parent_score"]}
                assert told == record["parent_score"]
    assert records[0]["parent_score"]["repair"] == 0.0, "the empty policy repairs nothing"
    assert {"picked", "dominated"} <= seen
    assert "Preserved" in page.text
    assert "Kept" not in page.text
    assert page.text.count("the policy that stood before") == 5
    assert "1 patches tried" not in page.text


def _dominates(one: dict[str, float], other: dict[str, float]) -> bool:
    pairs = [(one[key], other[key]) for key in ("repair", "preservation")]
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


def test_patches_that_the_verifier_rejected_stand_there_with_the_reason(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rejected = {
        "number": 99,
        "base": 0,
        "patch": {"edits": [{"operation": "delete", "targets": ["gone"], "rules": []}]},
        "verified": False,
        "feedback": [{"code": "unknown_id", "message": HOSTILE}],
        "score": None,
    }

    def with_a_rejection(run: Run, others: Any) -> Any:
        data = gather(run, others)
        second = {**data.records[1], "attempts": [*data.records[1]["attempts"], rejected]}
        return replace(data, records=[data.records[0], second, *data.records[2:]])

    monkeypatch.setattr(report, "gather", with_a_rejection)
    summary = json.loads((finished / "summary.json").read_text())
    page = Page(report.report(open_run(finished), {}, summary))
    assert f"unknown_id: {HOSTILE}" in page.text
    assert "1 rejected" in page.text
    assert page.of("script") == []


def test_hostile_text_stays_text(make_project: Callable[..., SmallProject]) -> None:
    def poison(at: int, record: dict[str, Any]) -> dict[str, Any]:
        return {**record, "id": f"{HOSTILE}{at}"}

    profile = PROFILE.replace("A small run", json.dumps(HOSTILE))
    folder = make_project(profile=profile, change=poison).make()
    text = (folder / "report.html").read_text()
    page = Page(text)
    assert page.open == []
    assert page.of("script") == []
    assert page.of("img") == []
    assert HOSTILE in page.text, "the title stands there, as text"
    assert sum(part.startswith(HOSTILE) for part in page.text) > 2, "and so do wrong decisions"
    assert "49" not in [part.strip() for part in page.text if HOSTILE[:5] in part]


def test_charts_escape_what_they_are_given() -> None:
    drawn = charts.lines(
        HOSTILE,
        HOSTILE,
        [charts.Line(HOSTILE, "vepa", [(1, 0.5), (2, None), (3, 0.7)])],
        x_ticks=[(1, HOSTILE), (3, "3")],
        x_label=HOSTILE,
        y_range=(0, 1),
    )
    lane = charts.Lane(HOSTILE, "allow", 1, [True, False], True, [], HOSTILE)
    for svg in (drawn, charts.lineage(HOSTILE, HOSTILE, [lane], 2)):
        page = Page(str(svg))
        assert page.open == []
        assert {tag for tag, _ in page.tags} <= {
            "svg", "title", "desc", "line", "text", "circle", "polyline", "rect", "path",
        }  # fmt: skip


def test_a_gap_in_a_curve_is_no_line() -> None:
    drawn = charts.lines(
        "t",
        "d",
        [charts.Line("a", "vepa", [(1, 0.5), (2, 0.6), (3, None), (4, 0.7)])],
        x_ticks=[(1, "1"), (4, "4")],
        x_label="round",
        y_range=(0, 1),
    )
    page = Page(str(drawn))
    assert len(page.of("polyline")) == 1
    assert len(page.of("circle")) == 3


def test_a_run_that_learns_nothing_has_a_report(
    make_project: Callable[..., SmallProject],
) -> None:
    profile = "events: [small.events.jsonl]\nrounds: 1\nevolution: {patches: 0}\n"
    folder = make_project(profile=profile, size=20).make()
    page = Page((folder / "report.html").read_text())
    assert page.open == []
    text = " ".join(page.text)
    assert "No rule yet" in text
    assert "Not run: the profile does not list the baseline" in text


def test_the_same_run_has_the_same_report(
    finished: Path, make_project: Callable[..., SmallProject]
) -> None:
    again = make_project().make()
    assert again != finished
    assert (again / "report.html").read_bytes() == (finished / "report.html").read_bytes()
