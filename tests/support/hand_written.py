"""Traces written by hand, one YAML file a format, and how a test reads and tells them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from vepa.corpus.importing import Import, ImportReport
from vepa.corpus.trajectory import Step, Trajectory

__all__ = ["Malformed", "Trace", "imported", "malformed", "told", "traces", "write_record"]

FOLDER = Path(__file__).parents[1] / "corpus" / "importing" / "traces"


@dataclass(frozen=True)
class Trace:
    """A good record and what must come of it.

    `expect`: list of told steps (see `told`), or a mapping with any of `steps`, `id`, `model`,
    `system`, `label`, `marked`, `offered` (names), `meta`, `unknown`, `remarks`, or `trajectories`
    (a list of such mappings) where a record holds several.
    """

    format: str
    about: str
    record: Any
    expect: Any

    def __str__(self) -> str:
        return f"{self.format}: {self.about}"


@dataclass(frozen=True)
class Malformed:
    """A bad record, the field that is named, and a part of the message."""

    format: str
    about: str
    record: Any
    field: str | None
    says: str

    def __str__(self) -> str:
        return f"{self.format}: {self.about}"


@cache
def _files() -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """Read once a process: four test files are parametrised with them."""
    return tuple(
        (path.stem, yaml.load(path.read_text(), yaml.CSafeLoader))
        for path in sorted(FOLDER.glob("*.yaml"))
    )


def traces() -> list[Trace]:
    """All good traces: `traces: [{about, record, expect}]` in each file."""
    return [
        Trace(name, each["about"], each["record"], each["expect"])
        for name, data in _files()
        for each in data["traces"]
    ]


def malformed() -> list[Malformed]:
    """All bad ones: `malformed: [{about, record, field, says}]` in each file."""
    return [
        Malformed(name, each["about"], each["record"], each["field"], each["says"])
        for name, data in _files()
        for each in data["malformed"]
    ]


def write_record(path: Path, record: Any) -> Path:
    """A record as one JSON document; a text stands for itself (what is no JSON)."""
    path.write_text(record if isinstance(record, str) else json.dumps(record, ensure_ascii=False))
    return path


def imported(path: Path, format: str = "auto") -> tuple[list[Trajectory], ImportReport]:
    """All trajectories of a file, with the report."""
    source = Import(path, format)
    found = list(source)
    return found, source.report


def told(step: Step) -> str:
    """A step in one line: what a person would write down to say what happened.

    `user: …`, `answer: …`, `observation: …`, `call NAME {json} -> result`, `-> ! error: …`; with
    `(thought) ` and `[speaker] ` in front and `#N ` for the conversation.
    """
    head = "" if step.conversation is None else f"#{step.conversation} "
    head += f"[{step.speaker}] " if step.speaker else ""
    head += f"({step.thought}) " if step.thought else ""
    if step.call is None:
        return f"{head}{step.kind}: {step.text}"
    given = step.call.arguments if step.call.text is None else step.call.text
    line = f"{head}call {step.call.tool} {json.dumps(given, ensure_ascii=False)}"
    if step.result is None:
        return line
    sign = "" if step.result.ok else f"! {step.result.error or 'error'}: "
    return f"{line} -> {sign}{step.result.content}"
