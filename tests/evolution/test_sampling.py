"""Beyond `SAMPLE` a search looks at a sample, and evidence counts all."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from evolving import WORLD, drawn, rule

from vepa.evolution import Archive, sampling, update
from vepa.evolution.sampling import CONTEXT, EXAMPLES, Units, numbers
from vepa.policy import Policy, authority

LAW = {"disc": "allow", "cube": "allow", "cone": "refuse", "rod": "refuse"}


def law(event) -> str:
    return LAW[event["shape"]]


def filled(sizes, seed=0) -> Archive:
    found = Archive(WORLD)
    for number, size in enumerate(sizes, 1):
        part = drawn(2 * size, law, seed=seed + number, prefix=f"{number}-")
        verdicts = np.full(size, -1, dtype=np.int8)
        found.add(part.take(range(size)), verdicts, number, part.take(range(size, 2 * size)))
    return found


def test_units_are_stable_from_round_to_round(monkeypatch):
    monkeypatch.setattr(sampling, "SAMPLE", 50)
    units, seen = Units.none(EXAMPLES), set()
    before: set[int] = set()
    for _ in range(20):
        units = units.and_new(np.arange(units.arrived, units.arrived + 30))
        now = set(units.arrivals.tolist())
        assert not now & seen - before  # what went never came again
        assert len(now) == min(50, units.arrived)
        assert units.arrivals.tolist() == sorted(now)
        seen |= before
        before = now
    every = numbers(np.arange(600), EXAMPLES)
    assert before == set(np.argsort(every)[:50].tolist())


def test_numbers_look_random_and_are_those_of_every_machine():
    some = numbers(np.arange(20_000), EXAMPLES).astype(np.float64) / 2.0**64
    assert abs(some.mean() - 0.5) < 0.01
    assert np.histogram(some, 10, (0, 1))[0].min() > 1800
    assert abs(np.corrcoef(some[1:], some[:-1])[0, 1]) < 0.03
    assert not np.array_equal(some, numbers(np.arange(20_000), CONTEXT))
    assert numbers(np.arange(2), EXAMPLES).tolist() == [7228127097271173291, 9260111509593155096]


def test_up_to_the_sample_an_archive_is_seen_as_it_is(monkeypatch):
    monkeypatch.setattr(sampling, "SAMPLE", 60)
    found = filled([30, 30])
    assert found.sampled() is found.searched(authority()) is found
    found.add(drawn(1, law), np.array([0], dtype=np.int8), 3)
    assert len(found.sampled()) == 60


def test_evidence_counts_all_examples_and_belief_is_of_the_sample(monkeypatch):
    monkeypatch.setattr(sampling, "SAMPLE", 80)
    found = filled([150, 150])
    known = rule("r", "refuse", 1, shape=["rod"])
    covered = (found.table.codes[:, 2] == 4).sum()
    for mode in ("paper", "noise-aware", "early"):
        evidence = found.evidence(known, authority(mode))
        assert (evidence.support, evidence.contradictions) == (covered, 0)
        again = found.sampled().evidence(known, authority(mode))
        assert again == evidence
    late = found.evidence(known, authority("noise-aware+prospective"))
    assert late.support == (found.table.codes[150:, 2] == 4).sum()
    assert len(found.sampled()) == len(found.sampled().context) == 80


def test_the_half_for_authority_is_hidden_in_the_sample_too(monkeypatch):
    monkeypatch.setattr(sampling, "SAMPLE", 80)
    found = filled([150, 150])
    gate = authority("noise-aware+held-out")
    seen = found.searched(gate)
    shown = {name for name, side in zip(found.table.ids, found.sides, strict=True) if not side}
    assert set(seen.table.ids) <= shown
    assert set(seen.whole.table.ids) == shown
    assert [seen.whole.table.ids[at] for at in seen.places] == list(seen.table.ids)
    known = rule("r", "refuse", 1, shape=["rod"])
    counted = seen.standing(gate).of("refuse", known.masks)
    inside = (found.table.codes[:, 2] == 4) & ~found.sides
    assert counted.support == inside.sum()
    held = found.evidence(known, gate)
    assert held.support == ((found.table.codes[:, 2] == 4) & found.sides).sum()


@pytest.mark.parametrize("mode", ["paper", "noise-aware", "held-out"])
def test_an_update_finds_the_law_in_a_sample_and_counts_it_on_all(monkeypatch, mode):
    monkeypatch.setattr(sampling, "SAMPLE", 100)
    found = filled([300])
    result = update(Policy(WORLD), found, round=1, authority=authority(mode))
    active = {rule.decision: rule.evidence for rule in result.policy.active}
    right = found.held_out if mode == "held-out" else found.index.all
    assert active["allow"].support == (found.allow & right).bit_count()
    assert active["refuse"].support == (found.refuse & right).bit_count()
    if mode == "paper":
        assert result.score.macro_f1 == 1.0


SCRIPT = """
import numpy as np
from evolving import WORLD, drawn
from vepa.evolution import Archive, sampling, update
from vepa.policy import Policy, authority

sampling.SAMPLE = 60
found = Archive(WORLD)
part = drawn(300, lambda e: "allow" if e["shape"] in ("disc", "cube") else "refuse", seed=5)
found.add(part.take(range(200)), np.full(200, -1, np.int8), 1, part.take(range(200, 300)))
print(update(Policy(WORLD), found, round=1, authority=authority()).policy.document_hash)
"""


def test_every_process_draws_the_same():
    said = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed},
        )
        said.add(done.stdout)
    assert len(said) == 1
