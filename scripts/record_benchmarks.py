"""Record the bundled events of the benchmarks as a model's answers about their raw traces.

    .venv/bin/python scripts/record_benchmarks.py FOLDER

FOLDER holds the raw files (assebench_security.json, rjudge_dev.json, atbench_dev.json), which do
not ship with the project. Each trace is imported, its content hash is taken, and the bundled event
of the same id becomes the recorded answer about it in data/recorded/benchmarks. Run again, it
changes nothing; after a change to an importer that changes a hash, it writes the recording anew.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from vepa.corpus.events import stream_events
from vepa.corpus.importing import read_traces
from vepa.corpus.trajectory import Trajectory
from vepa.errors import VepaError
from vepa.files import write_atomic
from vepa.llm import Manifest, Message, Recording
from vepa.llm.prompts import load_prompt
from vepa.parsing.llm import TEMPLATE, item_of
from vepa.project import Project

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "data/recorded/benchmarks"
#: Raw file and format; the events are `data/STEM.events.jsonl`.
FILES = {"assebench_security": "assebench", "rjudge_dev": "rjudge", "atbench_dev": "atbench"}
MANIFEST = Manifest(
    model="a large language model that the source of the events does not name",
    date="2026-11-30",
    made=(
        "The events in data/*.events.jsonl: the model read each trace (long turns shortened) under "
        "the event schema, label-blind, in one pass, without a repair. It was not asked with the "
        "template parse 1.0: its events are filed under that template by "
        "scripts/record_benchmarks.py, so that they can be replayed. The date is the day on which "
        "they were bundled; when they were made is not known."
    ),
    licence="Apache-2.0, as the events; the traces themselves are not in here",
)


def pairs(folder: Path) -> Iterator[tuple[Trajectory, dict[str, str]]]:
    """Every trace with its event, in the order of the bundled files."""
    for stem, kind in FILES.items():
        traces = {each.id: each for each in read_traces(folder / f"{stem}.json", kind)}
        events = list(stream_events(ROOT / f"data/{stem}.events.jsonl"))
        if set(traces) != {each.id for each in events}:
            odd = sorted(set(traces) ^ {each.id for each in events})
            raise SystemExit(f"{stem}: traces and events do not have the same ids: {odd[:5]} …")
        for record in events:
            yield traces[record.id], record.event


def record(folder: Path, target: Path) -> tuple[int, list[str]]:
    """Write the recording; returns how many answers, and the ids that needed a name.

    Two traces may be the same to the letter, under two ids, and have been read differently: the
    second answer is filed under its id.
    """
    prompt = load_prompt(Project(ROOT), TEMPLATE)
    recording = Recording.create(target, MANIFEST)
    named = []
    for trajectory, event in pairs(folder):
        item = item_of(trajectory, prompt, name=trajectory.id)
        answer = Message(role="assistant", content=json.dumps(event))
        known = recording.get(item)
        differs = known is not None and known.message != answer
        if differs:
            named.append(trajectory.id)
        recording.add(item, answer, named=differs)
    return len(recording), named


def main() -> int:
    """Record; 0 when the recording is there and whole."""
    parser = argparse.ArgumentParser(description=__doc__, usage="%(prog)s FOLDER")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as room:
        made = Path(room) / TARGET.name
        try:
            count, named = record(folder, made)
        except VepaError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        if TARGET.is_dir() and _same(made, TARGET):
            print(f"{count} answers, nothing changed")
        else:
            shutil.rmtree(TARGET, ignore_errors=True)
            for path in sorted(made.iterdir()):
                write_atomic(TARGET / path.name, path.read_bytes())
            print(f"{count} answers written to {TARGET.relative_to(ROOT)}")
    if named:
        print(f"same trace under two ids, read differently: {', '.join(named)}")
    return 0


def _same(one: Path, other: Path) -> bool:
    files = [sorted(path.name for path in each.iterdir()) for each in (one, other)]
    return files[0] == files[1] and all(
        (one / name).read_bytes() == (other / name).read_bytes() for name in files[0]
    )


if __name__ == "__main__":
    sys.exit(main())
