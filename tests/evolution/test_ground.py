from __future__ import annotations

import numpy as np
import pytest
from evolving import WORLD, drawn
from hypothesis import given
from hypothesis import strategies as st

from vepa.evolution.ground import PREDICATE_COST, Aim, Ground, constrained, overlaps

CODES = drawn(150, lambda e: "allow", seed=9).codes
GROUND = Ground(WORLD, CODES)

conjunctions = st.tuples(*(st.integers(1, full) for full in WORLD.full))


def weights(seed):
    """Weights of the events as the bench makes them: multiples of a power of two."""
    rng = np.random.default_rng(seed)
    right = rng.integers(0, 2, len(CODES))
    known = rng.random(len(CODES)) < 0.6
    guessed = rng.integers(0, 129, len(CODES)) / 256
    return np.where(known, right, guessed), np.where(known, 1 - right, 0.5 - guessed)


def an_aim(seed, cost=4.0):
    wanted, unwanted = weights(seed)
    return Aim(GROUND.gathered(wanted), GROUND.gathered(unwanted), cost)


def naive(masks, seed, cost=4.0):
    """Event by event, repeated ones as often as they come."""
    total, predicates = 0.0, sum(m != f for m, f in zip(masks, WORLD.full, strict=True))
    for row, wanted, unwanted in zip(CODES.tolist(), *weights(seed), strict=True):
        if all(mask >> code & 1 for mask, code in zip(masks, row, strict=True)):
            total += float(wanted) - cost * float(unwanted)
    return total - PREDICATE_COST * predicates


def test_events_that_agree_in_every_field_are_one():
    assert (
        GROUND.size == GROUND.index.size == len({tuple(row) for row in CODES.tolist()}) < len(CODES)
    )
    distinct = np.unique(CODES, axis=0)
    assert np.array_equal(distinct[GROUND.place], CODES)
    counts = GROUND.gathered(np.ones(len(CODES)))
    assert counts.dtype == np.float64
    assert counts.tolist() == [int((row == CODES).all(axis=1).sum()) for row in distinct]
    assert Ground(WORLD, CODES[:0]).size == 0


def test_order_and_repetition_of_events_make_no_difference():
    """What the bench finds on shuffled events, each split in two, is the same to the bit."""
    wanted, unwanted = weights(3)
    rng = np.random.default_rng(1)
    order = rng.permutation(2 * len(CODES))
    ground = Ground(WORLD, np.concatenate([CODES, CODES])[order])
    halves = [ground.gathered(np.tile(part / 2, 2)[order]) for part in (wanted, unwanted)]
    found = ground.beam(Aim(*halves, 4.0))
    assert found == GROUND.beam(an_aim(3))
    assert found


@pytest.mark.property
@given(conjunctions, st.integers(0, 99))
def test_utility_is_what_counting_gives(masks, seed):
    assert GROUND.utility(masks, an_aim(seed)) == naive(masks, seed)


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
        assert item.utility == naive(item.masks, seed, 2.0)
    # A step that narrows a field once more pays for a predicate once more (three times at most).
    for item in GROUND.beam(aim):
        assert (naive(item.masks, seed, 2.0) - item.utility) / PREDICATE_COST in {0, 1, 2, 3}


def test_the_beam_finds_the_best_single_predicate_and_a_planted_conjunction():
    hit = (CODES[:, 0] == 1) & (CODES[:, 2] == 3)
    aim = Aim(GROUND.gathered(hit), GROUND.gathered(~hit), 4.0)
    best = GROUND.beam(aim)[0]
    assert GROUND.members(best.masks)[GROUND.place].tolist() == hit.tolist()
    assert best.utility == hit.sum() - 2 * PREDICATE_COST


def test_the_beam_refines_what_it_is_given():
    aim = an_aim(1, cost=1.0)
    start = (*WORLD.full[:2], 0b00110, WORLD.full[3])
    found = GROUND.beam(aim, start, depth=2)
    assert found
    for item in found:
        assert all(mask | whole == whole for mask, whole in zip(item.masks, start, strict=True))


def test_examples_outside_an_aim_count_nothing():
    aim, inside = an_aim(2), np.unique(CODES, axis=0)[:, 1] == 1
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
    counts = GROUND.gathered(np.ones(len(CODES)))
    aim = Aim(counts, 0.0 * counts, 4.0)
    rival = (0b0010, 0b010, *WORLD.full[2:])
    assert CODES.min() > 0  # `unknown` occurs nowhere here, so no cut leaves it to the rule
    cuts = [
        (WORLD.full[0] & ~0b0011, *WORLD.full[1:]),
        (WORLD.full[0], WORLD.full[1] & ~0b011, *WORLD.full[2:]),
    ]
    cut = GROUND.repaired(WORLD.full, [rival], aim)
    assert cut == max(cuts, key=lambda masks: GROUND.utility(masks, aim))
    assert GROUND.repaired(rival, [WORLD.full], aim) is None


@pytest.mark.property
@given(conjunctions, conjunctions)
def test_overlap_is_a_common_event(one, two):
    common = [
        set(range(8)) & {c for c in range(8) if a >> c & 1} & {c for c in range(8) if b >> c & 1}
        for a, b in zip(one, two, strict=True)
    ]
    assert overlaps(one, two) == all(common)
