"""Large files of other people's traces through `vepa import`: speed and memory of every format.

`python -m benchmarks.trace_files` writes a file of each format from `benchmarks/traces/`, imports
it in a process of its own and tells MB/s (megabytes of 1,000,000 bytes) and the peak of its memory.
The same is done with a smaller file: a format whose peak grows with the file is refused, and the
exit code is 1. Beside it, on the same file and in processes of their own: `json.loads` a line, the
least that any reader does, and pandas reading a thousand lines at a time. The table goes to stderr,
one JSON document to stdout.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import traces
from benchmarks.suite import machine
from benchmarks.suite.report import print_section
from benchmarks.suite.section import Goal, Section
from vepa.corpus.importing import FORMATS

Example = Callable[[int], Any]
MIB = 1024 * 1024
_IMPORT = "import runpy\nrunpy.run_module('vepa', run_name='__main__', alter_sys=True)\n"
_JSON_LINES = "import json\nfor line in open(sys.argv[1], 'rb'):\n    json.loads(line)\n"
_PANDAS = (
    "import pandas\n"
    "for part in pandas.read_json(sys.argv[1], lines=True, chunksize=1000):\n    len(part)\n"
)
#: A process tells its own peak at its end: what its parent is told begins with the parent's own.
_TOLD = """
import atexit, os, sys
@atexit.register
def tell(file=os.environ["VEPA_PEAK_FILE"]):
    with open("/proc/self/status") as status, open(file, "w") as told:
        told.write(next(line.split()[1] for line in status if line.startswith("VmHWM:")))
"""


@dataclass(frozen=True)
class Measured:
    """One process over one file.

    Attributes
    ----------
    megabytes
        Size of the file.
    seconds, cpu_seconds
        Of the process with its start: on the clock, and on a processor.
    peak_mib
        The most memory that it held.
    """

    megabytes: float
    seconds: float
    cpu_seconds: float
    peak_mib: float

    def figures(self) -> dict[str, float]:
        """For the report."""
        return {
            "mb_per_s": round(self.megabytes / self.seconds, 2),
            "mb_per_cpu_s": round(self.megabytes / self.cpu_seconds, 2),
            "peak_mib": round(self.peak_mib, 1),
        }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when the memory of a format grows, or it read its file badly."""
    given = _options(arguments)
    examples = examples_of(given.formats)
    figures: dict[str, Any] = {
        "machine": machine.facts(),
        "load_before": machine.load(),
        "megabytes": given.megabytes,
        "small_megabytes": given.small,
        "allowed_mib": given.allowed_mib,
        "container": given.container,
        "without_example": sorted(set(FORMATS) - set(examples_of())),
        "formats": {},
    }
    with tempfile.TemporaryDirectory(prefix="vepa-traces-", dir=given.folder) as folder:
        for name, example in examples.items():
            print(f"== {name}", file=sys.stderr, flush=True)
            figures["formats"][name] = measure(name, example, Path(folder), given)
    figures["load_after"] = machine.load()
    with redirect_stdout(sys.stderr):
        print_section(section_of(figures))
    sys.stdout.write(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    return 1 if any(each["refused"] for each in figures["formats"].values()) else 0


def examples_of(wanted: Sequence[str] = ()) -> dict[str, Example]:
    """Name of a format -> what makes its records; of all formats that have an example.

    Raises
    ------
    SystemExit
        When a wanted one has none.
    """
    found = {
        each.name.replace("_", "-"): importlib.import_module(f"{traces.__name__}.{each.name}")
        for each in pkgutil.iter_modules(traces.__path__)
    }
    unknown = [name for name in wanted if name not in found]
    if unknown:
        raise SystemExit(f"no example of {', '.join(unknown)}; there are {', '.join(found)}")
    return {name: found[name].example for name in FORMATS if name in (wanted or found)
            and name in found}  # fmt: skip


def write_file(path: Path, example: Example, size: float, container: str = "lines") -> float:
    """Write records until the file has so many megabytes; its size in megabytes."""
    written = 0
    begin, between, end = ("[", ",\n", "]\n") if container == "array" else ("", "\n", "\n")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(begin)
        for text in _records(example):
            stream.write(text if not written else between + text)
            written += len(text.encode())
            if written >= size * 1e6:
                break
        stream.write(end)
    return path.stat().st_size / 1e6


def _records(example: Example) -> Iterator[str]:
    number = 0
    while True:
        yield json.dumps(example(number), ensure_ascii=False)
        number += 1


def measure(name: str, example: Example, folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    """What a format takes, what the peers take, and why it is refused, if it is."""
    small, report = _imported(name, example, given.small, folder, given.container)
    large, last = _imported(name, example, given.megabytes, folder, given.container)
    figures: dict[str, Any] = {
        "records": last["records"],
        "trajectories": last["trajectories"],
        **large.figures(),
        "peak_mib_of_small": round(small.peak_mib, 1),
        "grew_mib": round(large.peak_mib - small.peak_mib, 1),
        "refused": refusals(small, large, [report, last], given.allowed_mib),
    }
    source = folder / "traces.json"
    if given.container == "lines":
        for peer, code in (("json", _JSON_LINES), ("pandas", _PANDAS)):
            if find_spec(peer) is not None:
                took, ended = run(code, [str(source)], large.megabytes, folder)
                figures[peer] = took.figures() if ended == 0 else None
    source.unlink()
    return figures


def _imported(
    name: str, example: Example, size: float, folder: Path, container: str
) -> tuple[Measured, dict[str, Any]]:
    """Import a file of a size; what it took, and its report."""
    source, out, told = (folder / each for each in ("traces.json", "out.jsonl", "report.json"))
    megabytes = write_file(source, example, size, container)
    command = ["import", str(source), "--format", name, "--out", str(out), "--json"]
    took, code = run(_IMPORT, command, megabytes, folder, told)
    if code not in (0, 1):
        raise SystemExit(f"vepa import ended with exit code {code} on a file of {name}")
    report: dict[str, Any] = json.loads(told.read_text())["files"][0]
    out.unlink(missing_ok=True)
    return took, report


def run(
    code: str, arguments: Sequence[str], megabytes: float, folder: Path, stdout: Path | None = None
) -> tuple[Measured, int]:
    """Run Python code over a file of a size; what it took, and its exit code."""
    peak = folder / "peak"
    peak.unlink(missing_ok=True)
    told = _TOLD if sys.platform == "linux" else "import sys\n"
    with open(stdout or os.devnull, "wb") as stream:
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-c", told + code, *arguments],
            stdout=stream,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "VEPA_PEAK_FILE": str(peak)},
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    most = int(peak.read_text()) / 1024 if peak.exists() else usage.ru_maxrss / MIB
    cpu = usage.ru_utime + usage.ru_stime
    return Measured(megabytes, seconds, cpu, most), process.returncode


def refusals(
    small: Measured, large: Measured, reports: Sequence[dict[str, Any]], allowed_mib: float
) -> list[str]:
    """Why a format's figures do not count; nothing when they do."""
    found = []
    grew = large.peak_mib - small.peak_mib
    if grew > allowed_mib:
        found.append(
            f"memory is not constant: {small.peak_mib:.0f} MiB at {small.megabytes:.0f} MB, "
            f"{large.peak_mib:.0f} MiB at {large.megabytes:.0f} MB"
        )
    for report in reports:
        if report["skipped"]:
            found.append(f"{report['skipped']} of {report['records']} records skipped")
        if not report["trajectories"]:
            found.append("no trajectory came of it")
    return found


def section_of(figures: dict[str, Any]) -> Section:
    """The table."""
    sizes = f"{figures['megabytes']:g} MB a format"
    section = Section("trace_files", f"`vepa import`, {sizes} ({figures['container']})")
    for name, each in figures["formats"].items():
        row: dict[str, Any] = {"format": name}
        row |= {key: each[key] for key in ("mb_per_s", "mb_per_cpu_s", "peak_mib", "grew_mib")}
        for peer in ("json", "pandas"):
            known = each.get(peer) or {}
            row[f"{peer} MB/cpu s"] = known.get("mb_per_cpu_s", "-")
            row[f"{peer} MiB"] = known.get("peak_mib", "-")
        section.rows.append(row)
        constant = not each["refused"]
        measured = "; ".join(each["refused"]) or f"{each['grew_mib']:+.1f} MiB"
        goal = f"at most {figures['allowed_mib']:g} MiB more"
        section.goals.append(Goal(f"{name}: memory", goal, measured, constant))
    section.notes = [
        (
            f"peak: resident memory of the process, {figures['small_megabytes']:g} MB against "
            f"{figures['megabytes']:g} MB; times include the start of the process."
        ),
        f"Load of the machine before {figures['load_before']}, after {figures['load_after']}.",
    ]
    if figures["without_example"]:
        section.notes.append(f"No example of: {', '.join(figures['without_example'])}.")
    return section


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trace_files", description=__doc__)
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help="these; all without any")
    parser.add_argument("--megabytes", type=float, default=100.0, help="of each file (100)")
    parser.add_argument("--small", type=float, help="of the file to compare with (a fifth)")
    parser.add_argument("--allowed-mib", type=float, default=16.0, help="growth of the peak (16)")
    parser.add_argument("--container", choices=("lines", "array"), default="lines")
    parser.add_argument("--folder", type=Path, help="where the files are written for a while")
    given = parser.parse_args(arguments)
    if given.small is None:
        given.small = given.megabytes / 5
    if not 0 < given.small < given.megabytes:
        parser.error("--small must be less than --megabytes, and both more than 0")
    return given


if __name__ == "__main__":
    raise SystemExit(main())
