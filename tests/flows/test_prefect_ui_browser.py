"""The page of a real Prefect server, as people see it: runs, states of tasks, artifacts."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import Browser, chromium, opened
from prefect_server import Server, serving
from tiny_lifecycle import lifecycle_project, told_of
from tiny_office import ROOT, cache_folder

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="NOT RUN: no chromium here"),
    pytest.mark.xdist_group("prefect-ui"),
    pytest.mark.timeout(400),
]
#: Seconds that a page may take on a busy machine.
PATIENCE = 60.0
#: A stage that its profile does not have.
FAILING = """
import sys
from pathlib import Path
from vepa.bench.runs.conduct import load_flow
load_flow(Path(sys.argv[1]), "release")("bare", sys.argv[2])
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("prefect")) as running:
        yield running


@pytest.fixture(scope="module")
def folder(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of a lifecycle that ran on the server, and of a run that failed."""
    folder = lifecycle_project(tmp_path_factory.mktemp("shown") / "project")
    with cache_folder() as places:
        told_of(folder, {**server.variables(), "VEPA_CACHE": str(places.root)})
    bare = folder / "flows/profiles/bare.yaml"
    bare.write_text("title: Bare\nevents: [tiny.events.jsonl]\nrounds: 2\n")
    failed = subprocess.run(
        [sys.executable, "-c", FAILING, ROOT / "flows/release.py", folder],
        env=server.variables(), capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert "has no annotated corpus to release" in failed.stderr
    return folder


class Visitor:
    """Somebody who looks at the server's page and follows its links."""

    def __init__(self, browser: Browser, server: Server):
        self.browser = browser
        self.site = server.url.removesuffix("/api")
        self.found: dict[str, str] = {}

    def go(self, path: str) -> None:
        self.browser.open(self.site + path, width=1400, height=1100, dark=True)

    def text(self) -> str:
        return str(self.browser.evaluate("document.body.innerText"))

    def reads(self, *words: str) -> str:
        """What the page says, once it says all of that."""
        end = time.monotonic() + PATIENCE
        while missing := [word for word in words if word not in (text := self.text())]:
            assert time.monotonic() < end, f"{missing} not in:\n{text}"
            time.sleep(0.1)
        return text

    def click(self, kind: str, words: str) -> None:
        """Click the element of that kind which says just that, once it is there."""
        found = (
            f"[...document.querySelectorAll({json.dumps(kind)})]"
            f".find(each => each.innerText.trim() === {json.dumps(words)})"
        )
        end = time.monotonic() + PATIENCE
        while not self.browser.evaluate(f"{found}?.click() === undefined && !!{found}"):
            assert time.monotonic() < end, f"no {kind} says {words!r}:\n{self.text()}"
            time.sleep(0.1)

    def arrives(self, part: str) -> str:
        """The address, once it has that part: what is read before is of the page left behind."""
        end = time.monotonic() + PATIENCE
        while part not in (address := str(self.browser.evaluate("location.pathname"))):
            assert time.monotonic() < end, f"still at {address}"
            time.sleep(0.05)
        return address

    def rows(self) -> list[str]:
        """Runs of a list: all that each says."""
        listed: list[str] = self.browser.evaluate(
            "[...document.querySelectorAll('.state-list-item')].map(each => each.innerText)"
        )
        return listed

    def run(self, name: str) -> None:
        """Find a run by its name, and open it; the next time by its address."""
        if name in self.found:
            self.go(self.found[name])
        else:
            self.go("/runs")
            self.click(".state-list-item a", name)
            self.found[name] = self.arrives("/flow-run/")
        self.reads(name, "Parameters")

    def states(self, tab: str, *names: str) -> dict[str, str]:
        """Name -> state of what a tab lists, once all of them are there."""
        self.click(".p-tab", tab)
        self.reads(*names)
        found = {}
        for row in self.rows():
            lines = [line.strip() for line in row.splitlines() if line.strip()]
            state = next(line for line in lines if line in {"Completed", "Failed", "Running"})
            found |= {line: state for line in lines if line in names}
        return found

    def artifact(self, run: str, key: str, *words: str) -> str:
        """Open an artifact of a run; what it says."""
        self.run(run)
        self.click(".p-tab", "Artifacts")
        self.click(".artifact-card__title", key)
        self.arrives("/artifacts/artifact/")
        return self.reads(key, "Show raw data", *words)


@pytest.fixture(scope="module")
def visitor(server: Server, folder: Path) -> Iterator[Visitor]:
    with opened() as browser:
        yield Visitor(browser, server)


def test_runs_are_found_by_their_names(visitor: Visitor) -> None:
    visitor.go("/runs")
    names = [
        *("lifecycle-tiny", "corpus-tiny", "annotate-tiny", "release-tiny"),
        *("evolve-corpus-tiny", "evolve-tiny", "release-bare"),
    ]
    visitor.reads(*names)
    rows = visitor.rows()
    assert len(rows) == len(names)
    for name in names:
        (row,) = [row for row in rows if name in row.split()]
        assert ("Failed" if name == "release-bare" else "Completed") in row


def test_a_run_shows_its_stages_and_their_tasks(visitor: Visitor) -> None:
    visitor.run("lifecycle-tiny")
    stages = ("corpus-tiny", "annotate-tiny", "release-tiny", "evolve-corpus-tiny", "evolve-tiny")
    assert visitor.states("Subflow Runs", *stages) == dict.fromkeys(stages, "Completed")
    assert visitor.states("Task Runs", "summarise") == {"summarise": "Completed"}
    for run, tasks in {
        "corpus-tiny": ("collect-memo-milk", "collect-memo-rent", "write-products"),
        "annotate-tiny": ("annotate-a", "annotate-b", "arbitrate", "measure-agreement"),
        "evolve-tiny": ("begin-run", "round-1", "round-2", "baseline-lookup", "finish"),
    }.items():
        visitor.run(run)
        assert visitor.states("Task Runs", *tasks) == dict.fromkeys(tasks, "Completed")


def test_a_run_that_failed_says_why(visitor: Visitor) -> None:
    visitor.run("release-bare")
    assert visitor.states("Task Runs", "make-release") == {"make-release": "Failed"}
    visitor.click(".p-tab", "Logs")
    visitor.reads("profile 'bare' has no annotated corpus to release")


def test_artifacts_say_how_the_run_went(visitor: Visitor, folder: Path) -> None:
    for run in ("corpus", "annotate", "lifecycle", "evolve"):
        key = "annotate-a" if run == "annotate" else run
        visitor.artifact(f"{run}-tiny", key, "Progress: 100%")
    visitor.artifact("annotate-tiny", "queue", "Arbitration queue", "0 of 1 disputes are open")
    visitor.artifact("annotate-tiny", "annotation-cost", "Cost of annotation", "0.0000 US dollars")
    visitor.artifact("annotate-tiny", "agreement", "no agreement is measured", "0 Items")
    visitor.artifact("corpus-tiny", "cost", "0 tokens read", "0 retries after a service failed")
    outcomes = visitor.artifact("corpus-tiny", "outcomes", "scripted/careful", "scripted/gullible")
    assert "How the agents of each model did" in outcomes
    visitor.artifact("lifecycle-tiny", "stages", "evolve-benchmark", "collect", "now")


def test_artifacts_link_to_what_was_made(visitor: Visitor, folder: Path) -> None:
    links = "[...document.querySelectorAll('a[href^=file]')].map(each => each.href)"
    page = folder / "artifacts/lifecycle/tiny/report.html"
    visitor.artifact("lifecycle-tiny", "lifecycle-report", "report", str(page))
    assert visitor.browser.evaluate(links) == [page.as_uri()]
    summary: dict[str, Any] = json.loads((page.parent / "lifecycle.json").read_text())
    card = Path(summary["release"]["folder"]) / "README.md"
    visitor.artifact("release-tiny", "release", summary["release"]["version"], str(card))
    assert visitor.browser.evaluate(links) == [card.as_uri()]
    assert {url.split("/")[2] for url in visitor.browser.requests if url.startswith("http")} == {
        visitor.site.split("/")[2]
    }, "the page asks nobody else"
