"""A bounded archive: what is kept exactly, and what a search sees of it."""

from __future__ import annotations

import numpy as np
import pytest
from evolving import WORLD, drawn, rule
from hypothesis import given, settings
from hypothesis import strategies as st

from vepa.evolution import Archive, sampling
from vepa.evolution.bounding import bounded
from vepa.policy import Policy, authority
from vepa.policy.matching import ALLOW, REFUSE

RULES = Policy(
    WORLD,
    (
        rule("reds", "refuse", 1, colour=["red", "green"]),
        rule("rods", "refuse", 2, shape=["rod"]),
        rule("blues", "allow", 2, colour=["blue"]),
        rule("nothing", "allow", 3, colour=["unknown"]),
    ),
)


POOL = drawn(1200, lambda e: "refuse" if e["shape"] == "rod" else "allow")


def filled(sizes, seed=0, most=None, mode="paper") -> Archive:
    """An archive that was bounded after each round."""
    rng = np.random.default_rng(seed)
    found = Archive(WORLD)
    for number, size in enumerate(sizes, 1):
        part = POOL.take(rng.integers(0, len(POOL), 2 * size))
        wrong = rng.random(2 * size) < 0.2
        told = part.with_labels(np.where(wrong, 1 - part.labels, part.labels))
        verdicts = rng.integers(-1, 2, size).astype(np.int8)
        found.add(told.take(range(size)), verdicts, number, told.take(range(size, 2 * size)))
        if most is not None:
            found = bounded(found, most, RULES, authority(mode))
    return found


def shown(archive: Archive, mode: str) -> list:
    """Evidence of the rules, labels and failures."""
    gate = authority(mode)
    judged = archive.judged(RULES, gate)
    count = archive.count
    totals = [count(archive.allow), count(archive.refuse), count(archive.failures)]
    return [(found.status, found.evidence) for found in judged.rules] + totals


@pytest.mark.property
@settings(max_examples=40)
@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=4),
    most=st.integers(16, 60),
    mode=st.sampled_from(["paper", "prospective", "held-out"]),
)
def test_the_evidence_of_standing_rules_is_kept_exactly(sizes, most, mode):
    whole = filled(sizes)
    kept = filled(sizes, most=most, mode=mode)
    assert shown(kept, mode) == shown(whole, mode)
    assert len(kept) <= max(most, 64)  # strata: some 50 at most
    assert kept.known_weights.sum() == sum(sizes)
    assert kept.known_weights.min() >= 1


def test_examples_that_nothing_tells_apart_become_one_and_nothing_is_lost():
    whole = filled([400, 400])
    kept = bounded(whole, 300, RULES, authority("paper"))
    assert len(kept) < 300  # few events differ in this world
    rng = np.random.default_rng(1)
    for _ in range(50):
        masks = tuple(int(full & rng.integers(1, full + 1)) for full in WORLD.full)
        for archive_bits in ("allow", "refuse", "failures"):
            before = whole.index.covered(masks) & getattr(whole, archive_bits)
            after = kept.index.covered(masks) & getattr(kept, archive_bits)
            assert kept.count(after) == before.bit_count()


def test_a_small_archive_stays_as_it_is():
    whole = filled([30])
    assert bounded(whole, 30, RULES, authority("paper")) is whole


def test_a_search_sees_the_same_units_whatever_is_kept(monkeypatch):
    monkeypatch.setattr(sampling, "SAMPLE", 40)
    whole, kept = filled([90, 50, 70]), filled([90, 50, 70], most=60)
    one, other = whole.sampled(), kept.sampled()
    assert len(one) == len(other) == len(one.context) == 40
    assert np.array_equal(one.table.codes, other.table.codes)
    assert np.array_equal(one.table.labels, other.table.labels)
    assert np.array_equal(one.failed, other.failed)
    assert np.array_equal(one.context.codes, other.context.codes)
    assert len(kept.context) <= 60
    gate = authority("noise-aware")
    before = [(r.status, r.evidence) for r in whole.judged(RULES, gate).rules]
    assert [(r.status, r.evidence) for r in kept.judged(RULES, gate).rules] == before


def test_where_less_is_kept_than_a_search_sees_late_units_are_not_favoured(monkeypatch):
    monkeypatch.setattr(sampling, "SAMPLE", 1000)
    kept = filled([200], most=40)
    first = len(kept.sampled())
    part = drawn(200, lambda e: "allow", seed=9)
    kept.add(part, np.full(200, -1, dtype=np.int8), 2, part)
    late = int((kept.sampled().rounds == 2).sum())
    assert first < 200
    assert 0.5 * first < late < 2.0 * first
    assert len(kept.sampled().context) < 200


def test_labels_are_shared_out_by_weight():
    kept = filled([300, 300, 300], most=40)
    assert 16 <= len(kept) <= 40
    share = (kept.table.labels == REFUSE).mean()
    weight = kept.known_weights[kept.table.labels == REFUSE].sum() / 900
    assert abs(share - weight) < 0.15
    assert {ALLOW, REFUSE} == set(kept.table.labels.tolist())
