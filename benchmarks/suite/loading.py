"""Reading policy files, and how long the command and the library take to start."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Any

from benchmarks.suite.section import Goal, Section, Settings
from benchmarks.suite.timing import best
from vepa.policy import CompiledPolicy, Policy, load_policy

__all__ = ["run"]


def run(policy: Policy, settings: Settings) -> Section:
    """Read `policy` from both spellings; start the command and the library."""
    size = len(policy)
    section = Section("loading", "Reading policies, and starting")
    for name, text in (("JSON", policy.to_json()), ("YAML", policy.to_yaml())):
        read = load_policy(text)
        assert read.policy_hash == policy.policy_hash, name
        assert read.document_hash == policy.document_hash, name
        seconds, median = best(partial(load_policy, text), settings.repeats)
        what = f"{size:,} rules in {name} ({len(text) / 1e6:.1f} MB) to a verified policy"
        section.rows.append(_row(what, seconds, median))
    seconds, median = best(lambda: CompiledPolicy(policy), settings.repeats)
    section.rows.append(_row(f"{size:,} rules to a compiled policy", seconds, median))
    for what, command in (
        ("the interpreter alone", ["-c", "pass"]),
        ("import vepa", ["-c", "import vepa"]),
        ("import vepa.policy", ["-c", "import vepa.policy"]),
        ("python -m vepa --help", ["-m", "vepa", "--help"]),
    ):
        seconds, median = best(partial(_start, command), max(3, settings.repeats))
        section.rows.append(_row(what, seconds, median))
    section.goals.append(Goal("`vepa --help`", "< 0.5 s", f"{seconds:.2f} s", seconds < 0.5))
    section.notes = [
        (
            "Reading includes parsing, the check of form and the verifier; the policy read has "
            "the hashes of the one written. Starting: a new process each time, files cached by "
            "the system."
        )
    ]
    return section


def _start(arguments: list[str]) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


def _row(what: str, seconds: float, median: float) -> dict[str, Any]:
    return {"what": what, "seconds": round(seconds, 6), "median_s": round(median, 6)}
