"""The same events and seed give the same bytes: in every process, whatever else it did before."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from evolving import WORLD, Scripted, adding, archive_of, drawn, rule

from vepa.bench.prequential import Prequential
from vepa.bench.streams import StreamSettings, make_stream
from vepa.corpus.events import read_events
from vepa.evolution import Archive, EvolutionSettings, update
from vepa.policy import Policy, authority
from vepa.project import Project

SCRIPT = """
import hashlib, json, sys
from vepa.bench.prequential import Prequential
from vepa.bench.streams import StreamSettings, make_stream
from vepa.corpus.events import read_events
from vepa.evolution import EvolutionSettings
from vepa.policy import authority

table = read_events(sys.argv[1])
stream = make_stream(table.take(range(300)), StreamSettings(rounds=4), 1)
for outcome in Prequential(stream, authority(), EvolutionSettings()).run():
    record = json.dumps(outcome.record).encode()
    print(outcome.after.to_json(), outcome.verdicts.tolist(), hashlib.sha256(record).hexdigest())
"""


def events():
    return Project().find("data", "assebench_security.events.jsonl")


def run(hash_seed, threads):
    known = {"PYTHONHASHSEED": hash_seed, "OPENBLAS_NUM_THREADS": threads}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(events())],
        env={**os.environ, **known},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout


@pytest.mark.integration
def test_every_process_makes_the_same_policies_decisions_and_records():
    first = run("0", "1")
    assert '"status": "active"' in first
    assert '"probability": 0.' in first  # so what is believed of labels is part of it
    assert run("1", "2") == first
    assert run("12345", "1") == first


def law(event):
    return "refuse" if event["colour"] == "red" and event["size"] == "large" else "allow"


def other_law(event):
    return "refuse" if event["shape"] == "rod" else "allow"


def learned(archive, seed=0):
    settings = EvolutionSettings()
    result = update(
        Policy(WORLD), archive, round=1, authority=authority(), settings=settings, seed=seed
    )
    return json.dumps(result.to_dict()), result.policy.to_json()


@pytest.mark.slow
def test_archives_that_were_made_before_play_no_part():
    alone = learned(archive_of(drawn(100, law, seed=1)))
    for seed in range(12):  # of the same size, gone at once: their places in memory are used again
        learned(archive_of(drawn(100, other_law, seed=seed)))
        gc.collect()
        assert learned(archive_of(drawn(100, law, seed=1))) == alone
    assert learned(archive_of(drawn(100, other_law, seed=0))) != alone


def test_an_archive_filled_at_once_equals_one_that_was_looked_at_in_between():
    parts = [drawn(40, law, seed=seed, prefix=f"p{seed}-") for seed in range(3)]
    seen = [drawn(15, law, seed=9 + seed, prefix=f"s{seed}-") for seed in range(3)]
    quiet, watched = Archive(WORLD), Archive(WORLD)
    for number, (part, context) in enumerate(zip(parts, seen, strict=True), 1):
        unsure = np.full(len(part), -1, dtype=np.int8)
        quiet.add(part, unsure, number, context)
        watched.add(part, unsure, number, context)
        learned(watched)
    # A round without feedback: only what was seen grows.
    for archive in (quiet, watched):
        archive.add(parts[0].take([]), np.zeros(0, dtype=np.int8), 4, drawn(60, law, seed=50))
    assert learned(watched) == learned(quiet)


def test_an_update_changes_neither_parent_nor_archive():
    archive = archive_of(drawn(120, law, seed=1))
    parent = Policy(WORLD)
    before = parent.document_hash, archive.table.sha256, archive.failed.tobytes(), len(archive)
    first = learned(archive)
    assert learned(archive) == first
    after = parent.document_hash, archive.table.sha256, archive.failed.tobytes(), len(archive)
    assert after == before


def test_a_run_of_rounds_is_repeated_to_the_letter():
    table = read_events(events()).take(range(200))

    def digest(seed):
        stream = make_stream(table, StreamSettings(rounds=3), seed)
        found = hashlib.sha256()
        for outcome in Prequential(stream, authority(), EvolutionSettings()).run():
            found.update(json.dumps(outcome.record).encode() + outcome.verdicts.tobytes())
        return found.hexdigest()

    assert digest(0) == digest(0) != digest(1)


def test_what_is_drawn_follows_from_seed_and_round():
    archive = archive_of(drawn(200, law, seed=1))
    settings = EvolutionSettings(packet=10, scored="all")

    def packets(seed, round):
        source = Scripted(*[[adding(rule(f"r{at}", "refuse", noise=["p"]))] for at in range(3)])
        update(
            Policy(WORLD),
            archive,
            round=round,
            authority=authority(),
            settings=settings,
            seed=seed,
            source=source,
        )
        return [(asked.repair, asked.keep, asked.rng.random()) for asked in source.requests]

    assert packets(0, 1) == packets(0, 1)
    assert packets(0, 1) != packets(1, 1)
    assert packets(0, 1) != packets(0, 2)
