"""Whole runs over the bundled events, made once."""

from __future__ import annotations

import pytest

from vepa.bench.prequential import Prequential
from vepa.bench.streams import StreamSettings, make_stream
from vepa.corpus.events import read_events
from vepa.evolution import EvolutionSettings
from vepa.evolution import update as evolve
from vepa.policy import authority
from vepa.project import Project


class Played:
    """A run, and the update of each round."""

    def __init__(self, name: str, mode: str):
        self.updates: list[object] = []

        def kept(parent, archive, **known):
            self.updates.append(evolve(parent, archive, **known))
            return self.updates[-1]

        events = read_events(Project().find("data", f"{name}.events.jsonl"))
        stream = make_stream(events, StreamSettings(), 0)
        run = Prequential(stream, authority(mode), EvolutionSettings(), evolve=kept)
        self.outcomes = run.run()


# Of a module, so that the tests stay on one worker: on two the runs would be made twice.
@pytest.fixture(
    scope="module",
    params=[
        ("assebench_security", "paper"),
        ("assebench_security", "prospective"),
        ("rjudge_dev", "default"),
    ],
    ids="-".join,
)
def played(request) -> Played:
    """Ten rounds over bundled events."""
    return Played(*request.param)
