from __future__ import annotations

import numpy as np
import pytest
from evolving import WORLD, drawn
from hypothesis import given
from hypothesis import strategies as st

from vepa.evolution.beliefs import LEAST, believe
from vepa.evolution.ground import (
    PREDICATE_COST,
    Aim,
    Ground,
    constrained,
    overlaps,
)

CODES = drawn(150, lambda e: "allow", seed=9).codes
GROUND = Ground(WORLD, CODES)

conjunctions = st.tuples(*(st.integers(1, full) for full in WORLD.full))


def an_aim(seed, cost=4.0):
    """Weights as the bench makes them: multiples of a power of two."""
    rng = np.random.default_rng(seed)
    right = rng.integers(0, 2, len(CODES))
    known = rng.random(len(CODES)) < 0.6
    guessed = rng.integers(0, 17, len(CODES)) / 32
    wanted = np.where(known, right, guessed).astype(np.float32)
    unwanted = np.where(known, 1 - right, 0.5 - guessed).astype(np.float32)
    return Aim(wanted, unwanted, cost)


def naive(masks, aim):
    total, predicates = 0.0, sum(m != f for m, f in zip(masks, WORLD.full, strict=True))
    for row, wanted, unwanted in zip(CODES.tolist(), aim.wanted, aim.unwanted, strict=True):
        if all(mask >> code & 1 for mask, code in zip(masks, row, strict=True)):
            total += float(wanted) - aim.cost * float(unwanted)
    return total - PREDICATE_COST * predicates


@pytest.mark.property
@given(conjunctions, st.integers(0, 99))
def test_utility_is_what_counting_gives(masks, seed):
    aim = an_aim(seed)
    assert GROUND.utility(masks, aim) == naive(masks, aim)


@pytest.mark.parametrize("seed", range(6))
def test_the_beam_lists_conjunctions_best_first(seed):
    found = GROUND.beam(an_aim(seed, cost=2.0))
    assert found
    order = [(-item.utility, item.masks) for item in found]
    assert order == sorted(order)
    assert len({item.masks for item in found}) == len(found)
    for item in found:
        assert 1 <= len(constrained(WORLD, item.masks)) <= 4
        assert all(item.masks)


@pytest.mark.parametrize("seed", range(6))
def test_the_beam_reports_the_utility_that_counting_gives(seed):
    aim = an_aim(seed, cost=2.0)
    for item in GROUND.beam(aim, depth=1):
        assert item.utility == naive(item.masks, aim)
    # A step that narrows a field once more pays for a predicate once more (three times at most).
    for item in GROUND.beam(aim):
        assert (naive(item.masks, aim) - item.utility) / PREDICATE_COST in {0, 1, 2, 3}


def test_the_beam_finds_the_best_single_predicate_and_a_planted_conjunction():
    hit = (CODES[:, 0] == 1) & (CODES[:, 2] == 3)
    aim = Aim(hit.astype(np.float32), (~hit).astype(np.float32), 4.0)
    best = GROUND.beam(aim)[0]
    assert GROUND.members(best.masks).tolist() == hit.tolist()
    assert best.utility == hit.sum() - 2 * PREDICATE_COST


def test_the_beam_refines_what_it_is_given():
    aim = an_aim(1, cost=1.0)
    start = (*WORLD.full[:2], 0b00110, WORLD.full[3])
    found = GROUND.beam(aim, start, depth=2)
    assert found
    for item in found:
        assert all(mask | whole == whole for mask, whole in zip(item.masks, start, strict=True))


def test_examples_outside_an_aim_count_nothing():
    aim, inside = an_aim(2), CODES[:, 1] == 1
    small = (WORLD.full[0], 0b010, *WORLD.full[2:])
    large = (WORLD.full[0], 0b100, *WORLD.full[2:])
    assert GROUND.utility(small, aim.within(inside)) == GROUND.utility(small, aim)
    assert GROUND.utility(large, aim.within(inside)) == -PREDICATE_COST


@pytest.mark.property
@given(conjunctions, st.lists(conjunctions, max_size=4), st.integers(0, 9))
def test_a_repaired_conjunction_lies_inside_and_overlaps_no_rival(masks, rivals, seed):
    cut = GROUND.repaired(masks, rivals, an_aim(seed))
    if cut is None:
        assert any(overlaps(masks, rival) for rival in rivals)
        return
    assert all(cut)
    assert all(after & before == after for after, before in zip(cut, masks, strict=True))
    for rival in rivals:
        assert not all(one & other for one, other in zip(cut, rival, strict=True))
    if not any(overlaps(masks, rival) for rival in rivals):
        assert cut == masks


def test_a_repair_costs_as_little_as_can_be():
    aim = Aim(np.ones(len(CODES), np.float32), np.zeros(len(CODES), np.float32), 4.0)
    rival = (0b0010, 0b010, *WORLD.full[2:])
    assert CODES.min() > 0  # `unknown` occurs nowhere here, so no cut leaves it to the rule
    cuts = [
        (WORLD.full[0] & ~0b0011, *WORLD.full[1:]),
        (WORLD.full[0], WORLD.full[1] & ~0b011, *WORLD.full[2:]),
    ]
    cut = GROUND.repaired(WORLD.full, [rival], aim)
    assert cut == max(cuts, key=lambda masks: naive(masks, aim))
    assert GROUND.repaired(rival, [WORLD.full], aim) is None


@pytest.mark.property
@given(conjunctions, conjunctions)
def test_overlap_is_a_common_event(one, two):
    common = [
        set(range(8)) & {c for c in range(8) if a >> c & 1} & {c for c in range(8) if b >> c & 1}
        for a, b in zip(one, two, strict=True)
    ]
    assert overlaps(one, two) == all(common)


# The committee


def law(event):
    return "refuse" if event["colour"] == "red" or event["shape"] == "rod" else "allow"


def test_guesses_are_probabilities_and_the_same_every_time():
    known, others = drawn(80, law, seed=1), drawn(50, law, seed=2)
    found = guess(known.codes, known.labels, others.codes)
    assert found.shape == (50,)
    assert found.min() >= LEAST
    assert found.max() <= 1 - LEAST
    assert np.array_equal(found, guess(known.codes, known.labels, others.codes))


def test_guesses_are_right_where_the_fields_tell():
    known, others = drawn(120, law, seed=1), drawn(200, law, seed=2)
    found = guess(known.codes, known.labels, others.codes)
    assert ((found > 0.5) == (others.labels == 1)).mean() > 0.95
    rng = np.random.default_rng(0)
    noise = guess(known.codes, rng.integers(0, 2, 120).astype(np.int8), others.codes)
    assert np.abs(noise - 0.5).mean() < np.abs(found - 0.5).mean() / 1.5


def test_guesses_follow_the_labels():
    known, others = drawn(120, law, seed=1), drawn(60, law, seed=2)
    found = guess(known.codes, known.labels, others.codes)
    mirrored = guess(known.codes, 1 - known.labels, others.codes)
    assert np.allclose(found, 1 - mirrored, atol=0.02)


@pytest.mark.parametrize("size", [0, 1, 9, 40])
@pytest.mark.parametrize("label", ["allow", "refuse"])
def test_labels_of_one_kind_tell_nothing(size, label):
    known, others = drawn(size, lambda e: label), drawn(7, law)
    assert guess(known.codes, known.labels, others.codes).tolist() == [0.5] * 7


def test_a_few_labels_tell_nothing_and_no_events_need_no_guess():
    known = drawn(9, law, seed=4)
    assert set(known.labels) == {0, 1}
    assert guess(known.codes, known.labels, known.codes).tolist() == [0.5] * 9
    many = drawn(40, law)
    assert guess(many.codes, many.labels, many.codes[:0]).shape == (0,)


def test_one_odd_label_is_no_trouble():
    known = drawn(30, lambda e: "allow")
    labels = known.labels.copy()
    labels[3] = 1
    found = guess(known.codes, labels, drawn(20, law).codes)
    assert np.isfinite(found).all()
    assert found.mean() < 0.5
