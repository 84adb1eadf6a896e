"""Splits: what belongs together stays together, everything occurs everywhere, order is nothing."""

import itertools
import random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from vepa.release.duplicates import SHINGLE, THRESHOLD, Sets, jaccard, near_duplicates, shingles
from vepa.release.grouping import Group, groups_of
from vepa.release.splits import ENOUGH, SHARES, Outline, place, place_groups

FROZEN = {"test": ["g4", "g7", "g8"], "validation": ["g10", "g13", "g25"]}
#: Examples are small as they are; making them smaller still takes minutes.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
TRIGGERS = ("a", "b", "c", "d")
WORDS = ["pay", "mail", "send", "the", "invoice", "to", "anna", "before", "noon", "and", "tell"]


def outline(name, task="t", words="", planted=(), steps=5, refuse=0, triggers=()):
    return Outline(name, task, words, tuple(planted), steps, refuse, tuple(triggers))


def group(name, steps=5, refuse=0, triggers=()):
    return Group(name, (f"{name}/x",), steps, refuse, frozenset(triggers))


def texts(draw, count):
    """Texts with twins: others with a word changed or their end cut, near the border or far."""
    words = st.lists(st.sampled_from(WORDS), max_size=24)
    found = [draw(words) for _ in range(count)]
    for at in range(1, count):
        if draw(st.booleans()):
            twin = list(found[draw(st.integers(0, at - 1))])
            if twin and draw(st.booleans()):
                twin[draw(st.integers(0, len(twin) - 1))] = draw(st.sampled_from(WORDS))
            elif len(twin) > SHINGLE:
                twin = twin[: -draw(st.integers(1, 5))]
            found[at] = twin
    return [" ".join(words) for words in found]


@st.composite
def outlines(draw):
    count = draw(st.integers(1, 12))
    return [
        outline(
            f"e{at}",
            task=f"t{draw(st.integers(0, 8))}",
            words=words,
            planted=draw(st.sets(st.sampled_from("pqrs"), max_size=1)) if at % 3 == 0 else (),
            steps=draw(st.integers(0, 9)),
            triggers=sorted(draw(st.sets(st.sampled_from(TRIGGERS), max_size=2))),
        )
        for at, words in enumerate(texts(draw, count))
    ]


def twins(one, other):
    return jaccard(shingles(one.words), shingles(other.words)) >= THRESHOLD


@pytest.mark.property
@settings(max_examples=50, deadline=None, phases=PHASES)
@given(outlines(), st.randoms(use_true_random=False))
def test_what_is_shared_is_never_shared_across_splits_whatever_the_order(given_, rng):
    placed = place(given_)
    assert set(placed) == {each.id for each in given_}
    for one, other in itertools.combinations(given_, 2):
        linked = one.task == other.task or set(one.planted) & set(other.planted)
        if linked or twins(one, other):
            assert placed[one.id] == placed[other.id]
    shuffled = list(given_)
    rng.shuffle(shuffled)
    assert place(shuffled) == placed


@pytest.mark.property
@settings(max_examples=50, deadline=None, phases=PHASES)
@given(outlines())
def test_groups_are_as_small_as_the_links_allow(given_):
    """An oracle without an index: unite what is linked until nothing changes."""
    groups = [{each.id} for each in given_]
    for one, other in itertools.combinations(given_, 2):
        linked = one.task == other.task or set(one.planted) & set(other.planted)
        if linked or twins(one, other):
            joined = [g for g in groups if one.id in g or other.id in g]
            groups = [g for g in groups if g not in joined] + [set().union(*joined)]
    assert sorted(map(sorted, groups)) == sorted(list(g.episodes) for g in groups_of(given_))


@pytest.mark.property
@settings(max_examples=50, deadline=None, phases=PHASES)
@given(st.data())
def test_every_near_duplicate_of_another_set_is_found(data):
    sets_of = [shingles(text) for text in texts(data.draw, data.draw(st.integers(2, 14)))]
    kinds = [data.draw(st.integers(0, 3)) for _ in sets_of]
    sets = Sets(len(sets_of))
    for one, other in itertools.combinations(range(len(sets_of)), 2):
        if kinds[one] == kinds[other]:
            sets.join(one, other)
    wanted = [
        (one, other)
        for one, other in itertools.combinations(range(len(sets_of)), 2)
        if kinds[one] != kinds[other] and jaccard(sets_of[one], sets_of[other]) >= THRESHOLD
    ]
    found = near_duplicates(sets_of, sets, join=False)
    assert [(pair.first, pair.second) for pair in found] == wanted


def corpus(seed, count):
    """Groups as a real corpus has them: of unlike sizes, triggers from frequent to rare."""
    rng = random.Random(seed)
    chances = {f"trigger-{at:02}": 0.35 / (1 + at / 2) for at in range(14)}
    found = []
    for at in range(count):
        triggers = [key for key, chance in chances.items() if rng.random() < chance]
        steps = rng.randint(4, 25)
        found.append(group(f"task-{at}", steps, min(steps, 2 * len(triggers)), triggers))
    return found


def splits_of(groups, placed, key):
    return {placed[each.name] for each in groups if key in each.triggers}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("count", [180, 600])
def test_shares_refusals_and_triggers_are_alike_in_every_split(seed, count):
    groups = corpus(seed, count)
    placed = place_groups(groups)
    total = sum(each.steps for each in groups)
    refused = sum(each.refuse for each in groups) / total
    for split, share in SHARES.items():
        there = [each for each in groups if placed[each.name] == split]
        steps = sum(each.steps for each in there)
        assert steps / total == pytest.approx(share, abs=0.01)
        rate = sum(each.refuse for each in there) / steps
        assert rate == pytest.approx(refused, abs=0.04)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("count", [60, 180])
def test_a_trigger_in_three_groups_or_more_occurs_in_every_split(seed, count):
    groups = corpus(seed, count)
    placed = place_groups(groups)
    for key in {key for each in groups for key in each.triggers}:
        if sum(key in each.triggers for each in groups) >= ENOUGH:
            assert splits_of(groups, placed, key) == set(SHARES), key


def test_a_trigger_in_three_groups_occurs_in_every_split_and_in_two_it_does_not():
    groups = [group(f"g{at}") for at in range(40)]
    rare = [group(f"r{at}", refuse=1, triggers=["rare"]) for at in range(3)]
    placed = place_groups(groups + rare)
    assert splits_of(rare, placed, "rare") == set(SHARES)
    placed = place_groups(groups + rare[:2])
    assert len(splits_of(rare[:2], placed, "rare")) < 3


@pytest.mark.parametrize("name", [f"huge-{at}" for at in range(8)])
def test_a_group_that_holds_most_steps_stands_in_train_whole_and_takes_no_trigger_away(name):
    """Wherever its hash puts it."""
    huge = group(name, steps=900, refuse=90, triggers=["a", "b"])
    small = [group(f"s{at}", refuse=1, triggers=["ab"[at % 2]]) for at in range(9)]
    placed = place_groups([huge, *small])
    assert placed[name] == "train"
    for key in "ab":
        assert splits_of([huge, *small], placed, key) == set(SHARES)


def test_near_duplicates_of_unlike_length_are_found_up_to_the_border():
    words = [f"w{at}" for at in range(104)]  # 100 shingles; the first 74 words are 70 of them
    for count, wanted in ((74, 1), (73, 0)):
        pair = [shingles(" ".join(words[:count])), shingles(" ".join(words))]
        assert len(near_duplicates(pair, Sets(2), join=False)) == wanted


def test_the_same_names_stand_where_they_always_stood():
    """A frozen placement: another hash would move every group of every corpus."""
    placed = place_groups([group(f"g{at}") for at in range(30)])
    small = {split: [n for n in placed if placed[n] == split] for split in ("test", "validation")}
    assert {split: sorted(names) for split, names in small.items()} == FROZEN


def test_three_episodes_of_three_tasks_stand_in_three_splits():
    few = [outline(f"e{at}", task=f"t{at}", words=f"task {at}") for at in range(3)]
    assert {placement.split for placement in place(few).values()} == set(SHARES)
    assert place([]) == {}


def test_groups_without_any_judged_step_are_divided_by_episodes():
    placed = place_groups([group(f"g{at}", steps=0) for at in range(100)])
    counts = {split: list(placed.values()).count(split) for split in SHARES}
    assert counts == {"train": 80, "validation": 10, "test": 10}


def test_a_chain_of_near_duplicates_is_one_group_named_after_its_first_task():
    words = [f"w{at}" for at in range(60)]
    chain = [
        outline(f"e{at}", task=f"t{9 - at}", words=" ".join(words[2 * at : 2 * at + 40]))
        for at in range(10)
    ]
    assert not twins(chain[0], chain[-1])
    assert {placement.group for placement in place(chain).values()} == {"t0"}


@pytest.mark.parametrize("seed", range(4))
def test_a_corpus_that_grows_keeps_nearly_all_groups_where_they_were(seed):
    groups = corpus(seed, 200)
    before, after = place_groups(groups[:190]), place_groups(groups)
    moved = sum(before[name] != after[name] for name in before)
    assert moved <= 0.08 * len(before)
    assert set(before.values()) == set(SHARES)


@pytest.mark.slow
def test_ten_thousand_episodes_of_which_all_are_near_duplicates():
    same = " ".join(f"w{at}" for at in range(120))
    many = [outline(f"e{at}", f"t{at}", f"{at} {same} {at % 97}") for at in range(10_000)]
    assert {placement.group for placement in place(many).values()} == {"t0"}
