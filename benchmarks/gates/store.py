"""Figures that were worked out once, kept by what they depend on, so that a run can be resumed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from vepa.bench.streams import Stream, StreamSettings
from vepa.bench.views import stream_in_view
from vepa.corpus import EventTable, read_events
from vepa.files import canonical_json, sha256_of

__all__ = ["FILES", "Spec", "Store", "stream_of", "table_of", "work_off"]

ROOT = Path(__file__).parents[2]
#: Stream -> the file of its events.
FILES = {
    "Security": "assebench_security.events.jsonl",
    "R-Judge": "rjudge_dev.events.jsonl",
    "ATBench": "atbench_dev.events.jsonl",
}
#: What figures depend on beside their spec and the events.
CODE = (
    "vepa/policy/**/*.py",
    "vepa/evolution/**/*.py",
    "vepa/bench/*.py",
    "vepa/bench/baselines/*.py",
    "vepa/corpus/events.py",
)
#: To be counted up when a benchmark works its figures out another way.
VERSION = 1

#: What is worked out: `kind`, `stream`, `flip`, `seed` and what the kind asks for.
Spec = Mapping[str, Any]


class Store:
    """Figures by the hash of spec, events and code; one line of JSON each.

    Parameters
    ----------
    folder
        Where the files lie, one a kind of figures.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._known: dict[str, dict[str, Any]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(folder.glob("*.jsonl")):
            # An interrupted run may leave half a line, which is worked out again.
            for line in path.read_text("utf-8").split("\n")[:-1]:
                entry = json.loads(line)
                self._known[entry["key"]] = entry["found"]

    def get(self, spec: Spec, work: Callable[[Spec], dict[str, Any]]) -> dict[str, Any]:
        """The figures of a spec, worked out where they are not known."""
        key = _key(spec)
        if key not in self._known:
            found = work(spec)
            line = json.dumps({"key": key, "spec": dict(spec), "found": found})
            path = self.folder / f"{spec['kind']}.jsonl"
            if path.exists() and not path.read_bytes().endswith(b"\n"):
                path.write_bytes(path.read_bytes().rpartition(b"\n")[0] + b"\n")
            with path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
            self._known[key] = json.loads(line)["found"]
        return self._known[key]


def work_off(
    store: Store, specs: Iterable[Spec], work: Callable[[Spec], dict[str, Any]]
) -> list[tuple[Spec, dict[str, Any]]]:
    """The specs with their figures, in order."""
    return [(spec, store.get(spec, work)) for spec in specs]


@cache
def table_of(stream: str) -> EventTable:
    """The bundled events of a stream."""
    return read_events(ROOT / "data" / FILES[stream])


def stream_of(spec: Spec) -> Stream:
    """The stream of a spec: 10 rounds, half of the labels told, some of them wrong."""
    settings = StreamSettings(flip=spec["flip"])
    return stream_in_view(
        [table_of(spec["stream"])], settings, spec["seed"], view=spec.get("view", "full")
    )


def _key(spec: Spec) -> str:
    return sha256_of(
        canonical_json(
            [VERSION, dict(spec), _hash_of_events(spec["stream"]), _hash_of_code()]
        ).encode()
    )


@cache
def _hash_of_events(stream: str) -> str:
    return sha256_of((ROOT / "data" / FILES[stream]).read_bytes())


@cache
def _hash_of_code() -> str:
    paths = sorted(path for pattern in CODE for path in ROOT.glob(pattern))
    return sha256_of(b"".join(path.read_bytes() for path in paths))
