"""A small release, and hand-written benchmark traces with their events."""

from __future__ import annotations

import json

import pytest
from small_release import built
from tuning_traces import event

from vepa.corpus.taxonomy import load_taxonomy
from vepa.corpus.trajectory import write_trajectories
from vepa.parsing.lora import Approximate
from vepa.policy.schema import bundled_schema
from vepa.project import Project
from vepa.tuning import Request

SCHEMA = bundled_schema()


@pytest.fixture(scope="session")
def release(tmp_path_factory):
    """The folder of a release that stands; nobody writes into it."""
    return built(tmp_path_factory.mktemp("release"))


@pytest.fixture
def written(tmp_path):
    """Writes traces and their events; their two paths."""

    def write(found, name="traces"):
        path, events = tmp_path / f"{name}.jsonl", tmp_path / f"{name}.events.jsonl"
        write_trajectories(path, found)
        lines = [
            json.dumps({"id": each.id, "label": each.label, "event": event(at)})
            for at, each in enumerate(found)
        ]
        events.write_text("\n".join(lines) + "\n", "utf-8")
        return str(path), str(events)

    return write


@pytest.fixture
def request_for():
    """A request with everything but its sources filled in."""

    def make(sources, events=(), kind="parser", **changes):
        given = {
            "kind": kind,
            "sources": [str(each) for each in sources],
            "events": list(events),
            "tokenizer": Approximate(),
            "trace_tokens": 96,
            "schema": SCHEMA,
            "taxonomy": load_taxonomy(Project()),
            "evaluation_only": frozenset({"atbench"}),
        }
        return Request(**{**given, **changes})

    return make
