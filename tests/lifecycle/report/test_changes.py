"""What changed since the last run: what did, nothing else, and nothing where nothing did."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vepa.lifecycle.report.changes import Change, changes
from vepa.lifecycle.report.page import lifecycle_report

Later = Callable[..., dict[str, Any]]
CORPUS, LABELS = "Policy of the corpus", "Labels"


def test_there_is_nothing_to_compare_a_first_run_with(
    summary: dict[str, Any], folder: Path
) -> None:
    assert changes(summary) is None
    assert "no earlier run of this profile to compare with" in lifecycle_report(summary, folder)


def test_times_are_no_change(later: Later, folder: Path) -> None:
    now = later(("seconds.collect", 1.0), ("corpus.seconds.wall", 2.0))
    assert changes(now) == []
    page = lifecycle_report(now, folder)
    assert "No stage was made again. <b>Nothing changed.</b>" in page
    assert "2026-03-02T12:00:00Z" in page
    assert '<table class="changes">' not in page


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("corpus.content_sha256", "9" * 64, ("Corpus", "content", "9" * 12)),
        ("corpus.episodes", 5, ("Corpus", "episodes", "5", "8", "+3")),
        ("corpus.unsafe", 9, ("Corpus", "episodes with something unsafe", "9")),
        ("annotation.settled.refuse", 1203, (LABELS, "steps that stand as refuse", "1,203", "3")),
        ("annotation.queue.open", 2, (LABELS, "open disputes", "2", "0", "−2")),
        (
            "annotation.agreement.pairs.0.decision.value", 0.6512,
            (LABELS, "κ of the decision", "0.651", "0.700", "+0.049"),
        ),
        ("annotation.agreement.pairs", [], (LABELS, "κ of the decision", "–", "0.700", "")),
        ("release.version", "tiny-000000000000", ("Release", "version", "tiny-000000000000")),
        ("release.rows.steps.train", 6, ("Release", "rows of steps", "22", "24", "+2")),
        (
            "corpus_policy.figures.covered_macro_f1", 0.9,
            (CORPUS, "macro-F1 on covered", "0.900", "0.875", "−0.025"),
        ),
        (
            "corpus_policy.figures.covered_macro_f1", 0.87501,
            (CORPUS, "macro-F1 on covered", "0.87501", "0.875", "−1e-05"),
        ),
        (
            "benchmark.figures.unsafe_allowed", 0.1723,
            ("Policy of the benchmark", "unsafe allowed, of those decided", "17 %", "7.2 %",
             "−10.0 points"),
        ),
        ("benchmark.rules.active", 1, ("Policy of the benchmark", "active rules", "1", "3", "+2")),
        ("vepa", "0.0.9", ("Profile", "VEPA", "0.0.9", "0.1.0")),
        ("user", "openai/x", ("Profile", "user", "openai/x", "scripted/user")),
    ],
)  # fmt: skip
def test_a_figure_that_changed_is_the_only_one_told(
    later: Later, path: str, value: Any, told: tuple[str, ...]
) -> None:
    found = changes(later((path, value)))
    assert found is not None
    assert len(found) == 1
    assert _words(found[0])[: len(told)] == told


def test_what_is_new_and_what_is_gone_are_told(later: Later) -> None:
    """An older summary has no release and no policy of the corpus, and an agent that is gone."""
    now = later(
        ("release", None), ("corpus_policy", None), ("corpus.by_model.old/agent", {"episodes": 4})
    )
    found = {(each.about, each.what): each for each in changes(now) or ()}
    assert found["Release", "version"].before == "–"
    assert found["Release", "version"].now == now["release"]["version"]
    assert found[CORPUS, "active rules"].before == "–"
    assert found["Corpus", "episodes of old/agent"].before == "4"
    assert found["Corpus", "episodes of old/agent"].now == "–"
    assert not [about for about, _ in found if about in (LABELS, "Policy of the benchmark")]


def test_the_page_lists_them(later: Later, folder: Path) -> None:
    now = later(("corpus.episodes", 5), ("release.version", "tiny-000000000000"))
    now["made"] = ["collect", "release"]
    page = lifecycle_report(now, folder)
    assert "Made now: collect, release. 2 figures changed." in page
    assert (
        '<tr><th scope="row">Corpus</th><td class="what">episodes</td><td class="n">5</td>'
        '<td class="n to">8</td><td class="n">+3</td></tr>'
    ) in page
    assert "vepa corpus diff" not in page  # the folder of the version before is not there
    (folder.parent.parent / "corpus" / "tiny-000000000000").mkdir()
    told = f"vepa corpus diff tiny-000000000000 {now['release']['version']}"
    assert told in lifecycle_report(now, folder)


def _words(change: Change) -> tuple[str, ...]:
    told = (change.about, change.what, change.before, change.now, change.by)
    return tuple(" ".join(part.split()) for part in told)
