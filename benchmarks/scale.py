"""What more events cost: `python -m benchmarks.scale`; docs/scale.md has a record.

Synthetic streams of 1,000 to 1,000,000 events. Two measurements of each method at each size, every
one in a process of its own that is stopped after 300 s. *Update*: the last of 30 rounds when all
events are labelled and in the archive. *Stream*: 30 rounds with half of the labels. Figures are
kept by size and method, so that a run can be made in parts.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from benchmarks.suite import machine
from vepa.files import write_atomic

ROOT = Path(__file__).parents[1]
PAGE, RECORD = ROOT / "docs/scale.md", ROOT / "benchmarks/scale.json"
SIZES = (1_000, 10_000, 100_000, 1_000_000)
METHODS = ("vepa", "vepa-bounded", "hoeffding", "hoeffding_tuned", "ripper")
TASKS = ("update", "stream")
BEGIN, END = "<!-- figures: python -m benchmarks.scale --record -->", "<!-- end of figures -->"
_POLL = 0.05


def child(spec: Mapping[str, Any], limit: float) -> dict[str, Any]:
    """Run one measurement; what it found, or where it was stopped.

    Raises
    ------
    RuntimeError
        When it fails.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.suite.scaling", json.dumps(spec)],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    end, peak = monotonic() + limit, None
    try:
        while process.poll() is None:  # the answer is one short line: it fits into the pipe
            peak = _peak(process.pid) or peak
            if monotonic() > end:
                return {"stopped_after_s": limit, "peak_mib": peak}
            sleep(_POLL)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{spec} ended with exit code {process.returncode}")
    found: dict[str, Any] = json.loads(said)
    return found


def _peak(process: int) -> float | None:
    """MiB at the peak so far; of one that is stopped nobody else can tell."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    return round(int(found[0]) / 1024, 1) if found else None


def events_of(size: int, folder: Path) -> tuple[Path, dict[str, Any]]:
    """The file with the events of a size, and what they are; made when it is not there."""
    file = folder / f"{size}.events.parquet"
    notes = folder / f"{size}.synth.json"
    if not (file.is_file() and notes.is_file()):
        child({"task": "make", "size": size, "file": str(file)}, 600)
    known: dict[str, Any] = json.loads(notes.read_text())
    return file, known


def table(parts: Mapping[str, Mapping[str, Any]]) -> str:
    """The figures as Markdown: a table for the update, one for the stream."""
    heads = {
        "update": "| Events in the archive | Method | Update, s (processor) | All before it |"
        " Peak (MiB) | Stored | Covered F1 | Coverage | Full F1 | Against the truth |",
        "stream": "| Events of the stream | Method | Stream, s (processor) | Peak (MiB) | Stored |"
        " Covered F1 | Coverage | Full F1 | Held out: covered F1 | Coverage | Full F1 |",
    }
    texts = []
    for task, head in heads.items():
        rows = [(key.split("/"), found) for key, found in parts.items() if key.startswith(task)]
        rows.sort(key=lambda row: (int(row[0][1]), METHODS.index(row[0][2])))
        if not rows:
            continue
        columns = head.count("|") - 1
        lines = [head, "|" + "---:|" * columns]
        lines += ["| " + " | ".join(_row(task, *key[1:], found)) + " |" for key, found in rows]
        texts.append("\n".join(lines))
    return "\n\n".join(texts) + "\n"


def _row(task: str, size: str, method: str, found: Mapping[str, Any]) -> list[str]:
    held, whole = found.get("held_out", {}), found.get("rounds", {})
    peak = _number(found.get("peak_mib"), ".0f")
    head = [f"{int(size):,}", method]
    if "stopped_after_s" in found:
        stopped = f"stopped after {found['stopped_after_s']:g} s"
        before, after = ([""], 5) if task == "update" else ([], 7)
        return [*head, stopped, *before, peak, *[""] * after]
    kept = _number(found.get("stored"), ",d")
    three = [_number(held.get(name), ".3f") for name in _HELD]
    if task == "update":
        against = _number(found.get("agreement", {}).get("against"), ".3f")
        times = [_seconds(found, name) for name in ("update", "before")]
        return [*head, *times, peak, kept, *three, against]
    rounds = [
        _number(whole.get(name), ".3f")
        for name in ("covered_macro_f1", "mean_coverage", "full_macro_f1")
    ]
    return [*head, _seconds(found, "stream"), peak, kept, *rounds, *three]


_HELD = ("covered_macro_f1", "coverage", "full_macro_f1")


def _seconds(found: Mapping[str, Any], name: str) -> str:
    """By the clock, and of the processor: on a busy machine only the latter can be compared."""
    return f"{found[f'{name}_s']:.3g} ({found[f'{name}_cpu_s']:.3g})"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for; keep it beside what was kept, print and write."""
    given = _parser().parse_args(arguments)
    out = given.out / "scale.json"
    kept = json.loads(out.read_text()) if out.exists() else {"parts": {}, "events": {}}
    facts = machine.facts()
    facts["packages"] |= {name: version(name) for name in ("river", "wittgenstein", "polars")}
    for size in given.sizes:
        file, known = events_of(size, given.out / "scale")
        kept["events"][str(size)] = known
        for task in given.tasks:
            for method in given.methods:
                spec = {
                    "task": task,
                    "method": method,
                    "file": str(file),
                    "archive": given.archive,
                }
                load = machine.load()
                found = child(spec, given.limit) | {
                    "load": load,
                    "date": datetime.now(UTC).strftime("%Y-%m-%d"),
                    "events_sha256": known["sha256"],
                }
                if method == "vepa-bounded":
                    found["archive"] = given.archive
                kept["parts"][f"{task}/{size}/{method}"] = found
                kept["machine"] = facts
                write_atomic(out, json.dumps(kept, indent=1, sort_keys=True) + "\n")
                print(task, size, method, json.dumps(found), flush=True)
    text = table(kept["parts"])
    print(text)
    write_atomic(out.with_suffix(".md"), text)
    if given.record:
        write_atomic(RECORD, json.dumps(kept, indent=1, sort_keys=True) + "\n")
        write_atomic(PAGE, filled(PAGE.read_text("utf-8"), text))
    return 0


def filled(page: str, text: str) -> str:
    """The page with the figures in their place."""
    if BEGIN not in page or END not in page:
        raise RuntimeError(f"{PAGE.name} has no place for the figures: {BEGIN} and {END}")
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}\n{text}{END}{rest.partition(END)[2]}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES), metavar="N")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--archive", type=int, default=5_000, help="what the bounded one keeps")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds a measurement (300)")
    parser.add_argument("--out", type=Path, default=ROOT / "artifacts/benchmarks")
    parser.add_argument("--record", action="store_true", help="rewrite the committed figures")
    return parser


if __name__ == "__main__":
    sys.exit(main())
