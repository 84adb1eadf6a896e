"""How fast the viewer's page is made, painted and searched: `python -m benchmarks.viewer`.

Invented trajectories with events and a policy, in a real browser. The table goes to stderr, one
JSON document to stdout. `--pictures DIR` also takes the pictures of docs/viewer.md.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import tempfile
import time
from base64 import b64decode
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from benchmarks.suite import machine
from benchmarks.suite.report import print_section
from benchmarks.suite.section import Goal, Section
from benchmarks.suite.traces import POLICY, invented, invented_events
from vepa.corpus.trajectory import write_trajectories
from vepa.policy.reading import load_policy
from vepa.policy.schema import bundled_schema
from vepa.viewer.events import EventBook
from vepa.viewer.judging import Judge
from vepa.viewer.page.page import page_of
from vepa.viewer.reading import Traces

# The driver of the browser is that of the tests.
sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

#: Seconds to the first paint of a page of a thousand.
PAINT = 1.0
#: Words that stand in some, and a phrase that stands nowhere: everything has to be read.
QUERIES = ("list of salaries", '"a phrase that nobody wrote"')


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 0 whatever the figures, and where there is no browser."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.viewer", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--loads", type=int, default=5, help="times that each page is opened (5)")
    parser.add_argument("--pictures", type=Path, help="folder for pictures of the page")
    given = parser.parse_args(arguments)
    from chromium import chromium

    if chromium() is None:
        sys.stderr.write("NOT RUN: no chromium here\n")
        return 0
    figures = {"load_before": machine.load(), "pages": []}
    with tempfile.TemporaryDirectory() as work:
        for size in given.sizes:
            figures["pages"].append(measure(size, Path(work), given.loads))
        if given.pictures:
            take_pictures(Path(work) / f"{given.sizes[0]}.html", given.pictures)
    figures["load_after"] = machine.load()
    show(figures)
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")
    return 0


def measure(size: int, work: Path, loads: int) -> dict[str, Any]:
    """A page of so many trajectories: made, then opened and searched several times."""
    file = work / f"{size}.jsonl"
    write_trajectories(file, invented(size))
    events = list(invented_events(size))
    began, used = time.perf_counter(), time.process_time()
    judge = Judge(load_policy(POLICY, "policy.yaml", bundled_schema()))
    book = EventBook(events)
    page = page_of((book.put_to(each) for each in Traces(file)), judge, file.name)
    made = {"make_s": time.perf_counter() - began, "make_cpu_s": time.process_time() - used}
    path = work / f"{size}.html"
    path.write_bytes(page.data)
    opened = [_opened(path) for _ in range(loads)]
    return {
        "trajectories": size,
        "file_mib": round(file.stat().st_size / 1024**2, 2),
        "page_mib": round(len(page.data) / 1024**2, 2),
        **{name: round(value, 2) for name, value in made.items()},
        # Of this process so far: the largest page comes last.
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        **{
            name: {
                "median": round(statistics.median(each[name] for each in opened), 1),
                "worst": round(max(each[name] for each in opened), 1),
            }
            for name in opened[0]
        },
    }


def _opened(path: Path) -> dict[str, float]:
    """Milliseconds of one load in a fresh browser: first paint, list, search, opening."""
    from chromium import opened

    with opened() as browser:
        browser.open(path.as_uri(), width=1280, height=800, dark=False)
        _until(browser, "performance.getEntriesByName('first-contentful-paint').length === 1")
        _until(browser, "document.body.dataset.state === 'ready'")
        figures = {
            "paint_ms": browser.evaluate(
                "performance.getEntriesByName('first-contentful-paint')[0].startTime"
            ),
            "list_ms": browser.evaluate("performance.getEntriesByName('vepa-list')[0].startTime"),
            "first_search_ms": _search(browser, QUERIES[0]),
            "later_search_ms": _search(browser, QUERIES[1]),
        }
        _search(browser, "")
        figures["open_ms"] = browser.call(
            "Runtime.evaluate",
            awaitPromise=True,
            returnByValue=True,
            expression="(async () => { const since = performance.now();"
            " document.querySelector('.row').click();"
            " while (!document.body.dataset.opened) await new Promise(requestAnimationFrame);"
            " return performance.now() - since; })()",
        )["result"]["value"]
        heap = browser.call("Runtime.getHeapUsage")
        figures["heap_mib"] = heap["usedSize"] / 1024**2
    return figures


def _search(browser: Any, text: str) -> float:
    """Milliseconds from the end of typing until every trajectory was looked through."""
    browser.evaluate(
        "(() => { performance.clearMarks(); const field = document.querySelector('#search');"
        f" field.value = {json.dumps(text)}; field.dispatchEvent(new Event('input')); }})()"
    )
    _until(browser, "document.body.dataset.state === 'ready'")
    if not text:
        return 0.0
    return float(
        browser.evaluate(
            "performance.getEntriesByName('vepa-found')[0].startTime"
            " - performance.getEntriesByName('vepa-asked')[0].startTime"
        )
    )


def _until(browser: Any, wanted: str) -> None:
    end = time.monotonic() + 120
    while not browser.evaluate(wanted):
        if time.monotonic() > end:
            raise TimeoutError(wanted)
        time.sleep(0.01)


def take_pictures(page: Path, folder: Path) -> None:
    """The page with a trajectory open: wide and light, and on a phone."""
    from chromium import opened

    folder.mkdir(parents=True, exist_ok=True)
    with opened() as browser:
        browser.call("Emulation.setFocusEmulationEnabled", enabled=True)
        for name, width, height in (("viewer", 1180, 760), ("viewer-phone", 390, 760)):
            browser.open("about:blank", width=width, height=height, dark=False)
            browser.open(page.as_uri(), width=width, height=height, dark=False)
            _until(browser, "document.body.dataset.state === 'ready'")
            _search(browser, '"list of salaries"')
            browser.evaluate("document.querySelectorAll('.row')[1].click()")
            _until(browser, "document.body.dataset.opened")
            browser.evaluate(
                "(() => { const mark = document.querySelector('article a.request');"
                " mark.closest('article').scrollIntoView({block: 'center'}); })()"
            )
            time.sleep(0.3)
            taken = browser.call("Page.captureScreenshot", format="png")["data"]
            (folder / f"{name}.png").write_bytes(b64decode(taken))


def show(figures: dict[str, Any]) -> None:
    """Print the table to stderr, so that stdout is the JSON alone."""
    rows = [
        {
            name: value["median"] if isinstance(value, dict) else value
            for name, value in page.items()
        }
        for page in figures["pages"]
    ]
    first = figures["pages"][0]
    paint = first["paint_ms"]["worst"] / 1000
    goal = Goal(
        f"first paint, {first['trajectories']:,} trajectories, worst of the loads",
        f"< {PAINT:g} s",
        f"{paint:.2f} s",
        paint < PAINT,
    )
    notes = ["Medians over the loads, each in a fresh browser; search: from the end of typing."]
    section = Section("viewer", "The viewer's page", rows, notes, [goal])
    with redirect_stdout(sys.stderr):
        print_section(section)


if __name__ == "__main__":
    sys.exit(main())
