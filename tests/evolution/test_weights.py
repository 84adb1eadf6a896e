"""What events weigh in a search: labels as given, or as they are believed to be."""

from __future__ import annotations

import numpy as np
import pytest
from evolving import WORLD, drawn, rows

from vepa.corpus.events import EventTable
from vepa.evolution import beliefs, weights
from vepa.evolution.beliefs import believe
from vepa.evolution.weights import IMAGINED, SEEN, weigh


def law(event):
    return "refuse" if event["colour"] == "red" or event["shape"] == "rod" else "allow"


def two(size=120, seen=50):
    table = drawn(size, law, seed=1)
    wrong = np.random.default_rng(3).random(size) < 0.1
    table = table.with_labels(np.where(wrong, 1 - table.labels, table.labels))
    return table, drawn(seen, law, seed=2, prefix="c")


def spread(found, weights):
    """Weights of the distinct events by their codes."""
    codes = np.full((found.ground.size, len(WORLD)), -1)
    for at in range(len(WORLD)):
        for code in range(len(WORLD.fields[at].values)):
            masks = (*WORLD.full[:at], 1 << code, *WORLD.full[at + 1 :])
            codes[found.ground.members(masks), at] = code
    return dict(zip(map(tuple, codes.tolist()), weights.tolist(), strict=True))


def by_hand(known, table, context, believed):
    """What speaks for `allow` and for `refuse`, event by event."""
    parts = [(table.codes, known.true if believed else table.labels, 1.0)]
    parts.append((context.codes, known.context, SEEN))
    if believed:
        parts.append((known.imagined_codes, known.imagined, IMAGINED))
    allow, refuse = {}, {}
    for codes, share, weight in parts:
        for row, p in zip(map(tuple, codes.tolist()), share.tolist(), strict=True):
            allow[row] = allow.get(row, 0.0) + weight * (1.0 - p)
            refuse[row] = refuse.get(row, 0.0) + weight * p
    return allow, refuse


@pytest.mark.parametrize("believed", [False, True])
def test_weights_are_those_of_every_event_added_up(believed):
    table, context = two()
    found = weigh(table, context, believed)
    allow, refuse = by_hand(believe(table, context, believed), table, context, believed)
    assert spread(found, found.allow) == allow  # exactly: weights are parts of a power of two
    assert spread(found, found.refuse) == refuse
    total = len(table) + SEEN * len(context)
    total += IMAGINED * (len(table) + len(context)) if believed else 0.0
    assert found.allow.sum() + found.refuse.sum() == total
    assert found.of("allow") is found.allow
    assert found.of("refuse") is found.refuse


def test_the_order_of_events_makes_no_difference_to_what_labels_weigh():
    table, context = two()
    order = np.random.default_rng(0).permutation(len(context))
    plain, shuffled = weigh(table, context, False), weigh(table, context.take(order), False)
    assert spread(plain, plain.allow) == spread(shuffled, shuffled.allow)


def test_labels_of_seen_events_weigh_nothing():
    table, context = two()
    turned = context.with_labels(1 - context.labels)
    for believed in (False, True):
        one, other = weigh(table, context, believed), weigh(table, turned, believed)
        assert np.array_equal(one.allow, other.allow)
        assert np.array_equal(one.refuse, other.refuse)


def test_fewer_imagined_events_weigh_as_much_together(monkeypatch):
    """However large an archive grows, what nobody saw weighs the same beside what was seen."""
    table, context = two(100, 60)
    monkeypatch.setattr(beliefs, "MOST_IMAGINED", 40)
    monkeypatch.setattr(weights, "believe", believe.__wrapped__)
    found = weigh.__wrapped__(table, context, True)
    assert len(found.ground.place) == 160 + 40
    seen = 100 + SEEN * 60
    assert found.allow.sum() + found.refuse.sum() == seen + IMAGINED * 160


@pytest.mark.parametrize("believed", [False, True])
def test_what_contradicts_itself_and_nothing_at_all_are_no_trouble(believed):
    twins = rows([({"colour": "red"}, "allow"), ({"colour": "red"}, "refuse")] * 20)
    found = weigh(twins, twins.take([]), believed)
    assert found.ground.size == 1
    assert found.allow[0] == pytest.approx(found.refuse[0], rel=0.2)
    none = weigh(EventTable.empty(WORLD), EventTable.empty(WORLD), believed)
    assert none.allow.shape == none.refuse.shape == (0,)
