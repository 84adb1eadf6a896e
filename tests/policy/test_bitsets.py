"""Bit sets over examples: grown ones, kept answers, weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vepa.policy import ExampleIndex, Schema, bitsets
from vepa.policy.bitsets import WeightIndex, pack, unpack

SCHEMA = Schema(1, {"a": list("xyz"), "b": list("pq"), "c": list("stuv")})


def codes_of(size: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack(
        [rng.integers(0, len(field.values), size) for field in SCHEMA.fields], axis=1
    ).astype(np.int8)


def conjunctions(count: int, seed: int) -> list[tuple[int, ...]]:
    rng = np.random.default_rng(seed)
    return [tuple(int(rng.integers(0, full + 1)) for full in SCHEMA.full) for _ in range(count)]


def by_hand(codes: np.ndarray, masks: tuple[int, ...]) -> int:
    hit = np.ones(len(codes), dtype=bool)
    for at, mask in enumerate(masks):
        hit &= np.array([mask >> int(code) & 1 for code in codes[:, at]], dtype=bool)
    return pack(hit)


@pytest.mark.property
@given(
    parts=st.lists(st.integers(0, 40), min_size=1, max_size=5),
    seed=st.integers(0, 1000),
    kept=st.sampled_from([0, 200, bitsets.KEPT_BITS]),
)
def test_a_grown_index_is_a_fresh_one_whatever_it_was_asked_before(parts, seed, kept):
    wanted = conjunctions(12, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bitsets, "KEPT_BITS", kept)
        every = codes_of(0, 0)
        index = ExampleIndex(SCHEMA, every)
        for number, size in enumerate(parts):
            more = codes_of(size, seed + number)
            before, every = index, np.concatenate([every, more])
            index = index.grown(more)
            assert index.having == ExampleIndex(SCHEMA, every).having
            for masks in wanted[
                number % 3 :: 2
            ]:  # some are asked in every round, some now and then
                assert index.covered(masks) == by_hand(every, masks)
            assert before.covered(wanted[0]) == by_hand(every[: before.size], wanted[0])
        assert (index.size, index.all) == (len(every), (1 << len(every)) - 1)


def test_what_was_asked_is_matched_against_the_new_examples_alone(monkeypatch):
    index = ExampleIndex(SCHEMA, codes_of(500, 1))
    masks = (0b0110, 0b011, 0b11110)
    index.covered(masks)
    grown = index.grown(codes_of(20, 2))
    matched: list[int] = []
    match = ExampleIndex._match
    monkeypatch.setattr(
        ExampleIndex, "_match", lambda self, key: matched.append(self.size) or match(self, key)
    )
    grown.covered(masks)
    grown.covered(masks)
    assert matched == [20]


@pytest.mark.property
@given(weights=st.lists(st.integers(0, 2**40), max_size=70), seed=st.integers(0, 99))
def test_weights_over_a_bit_set_add_up(weights, seed):
    array = np.array(weights, dtype=np.int64)
    members = np.random.default_rng(seed).random(len(array)) < 0.5
    assert WeightIndex(array).total(pack(members)) == sum(array[members].tolist())
    assert unpack(pack(members), len(array)).tolist() == members.tolist()
