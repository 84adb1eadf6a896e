"""What is believed of labels: the share of wrong feedback, and the true label behind each."""

from __future__ import annotations

import numpy as np
import pytest
from evolving import WORLD, drawn

from vepa.corpus.events import EventTable
from vepa.evolution.beliefs import GRID, LEAST, STEPS, believe, wrong_feedback
from vepa.policy import Schema


def law(event):
    return "refuse" if event["colour"] == "red" or event["shape"] == "rod" else "allow"


def flipped(size, rho, seed, schema=WORLD):
    """Events under the law, which of them get the wrong label, and the table that feedback made."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(1, len(f.values), size) for f in schema.fields], axis=1)
    labels = ((codes[:, 0] == 1) | (codes[:, 2] == 4)).astype(np.int8)  # `law`, on codes
    ids = tuple(f"e{at}" for at in range(size))
    table = EventTable(schema, ids, codes.astype(np.int8), labels)
    wrong = np.random.default_rng(100 + seed).random(size) < rho
    return table, wrong, table.with_labels(np.where(wrong, 1 - labels, labels).astype(np.int8))


#: Few events of a large world are alike, as in real ones: what tells their labels is the law.
LARGE = Schema(
    1,
    {field.name: [v for v in field.values if v != "unknown"] for field in WORLD.fields}
    | {f"noise{at}": list("pqrs") for at in range(2)},
)


@pytest.mark.parametrize("rho", [0.0, 0.1, 0.2])
def test_the_share_of_wrong_feedback_is_found_and_so_are_the_labels_behind_it(rho):
    missed, ranked, found = [], [], []
    for seed in range(3):
        table, wrong, shown = flipped(400, rho, seed, LARGE)
        known = believe(shown, table.take([]))
        missed.append(known.rate - wrong.mean())
        refuse, allow = known.true[table.labels == 1], known.true[table.labels == 0]
        ranked.append((refuse[:, None] > allow).mean() + (refuse[:, None] == allow).mean() / 2)
        if rho:
            found.append(((known.true > 0.5) == (table.labels == 1))[wrong].mean())
        assert known.wrong.sum() == pytest.approx(1.0)
        assert abs(known.wrong @ GRID - known.rate) < 1e-12
    assert abs(np.mean(missed)) <= 0.02
    assert np.mean(ranked) >= 0.99  # the area under the curve, by true labels
    assert not found or np.mean(found) >= 0.85  # of the flipped labels


def test_labels_by_chance_are_no_knowledge():
    """Where the fields tell nothing all feedback might be wrong, and no label is believed much."""
    table = drawn(300, law, seed=3)
    labels = np.random.default_rng(77).integers(0, 2, 300).astype(np.int8)
    known = believe(table.with_labels(labels), table.take([]))
    assert known.rate > 0.25
    assert np.abs(known.claimed - 0.5).max() < 0.35


def test_probabilities_are_bounded_and_in_steps_of_a_power_of_two():
    _, _, shown = flipped(200, 0.1, 1)
    known = believe(shown, drawn(70, law, seed=5))
    assert known.true.shape == known.claimed.shape == (200,)
    assert known.context.shape == (70,)
    assert known.imagined_codes.shape == (len(known.imagined), len(WORLD))
    for part in (known.true, known.claimed, known.context, known.imagined):
        assert np.array_equal(part * STEPS, np.rint(part * STEPS))
        assert part.min() >= LEAST - 1 / STEPS
        assert part.max() <= 1 - LEAST + 1 / STEPS
        assert 0.0 < part.min() <= part.max() < 1.0


def test_feedback_moves_belief_towards_itself():
    """Joined with the committee's view, a label is believed more than the view alone says."""
    _, _, shown = flipped(300, 0.1, 2)
    known = believe(shown, shown.take([]))
    side = np.where(shown.labels == 1, 1.0, -1.0)
    assert (side * (known.true - known.claimed) >= 0.0).all()
    assert (side * (known.true - known.claimed) > 0.05).any()


def test_the_committee_judges_events_that_nobody_labelled():
    _, _, shown = flipped(300, 0.1, 4)
    seen = drawn(200, law, seed=9)
    known = believe(shown, seen.with_labels(1 - seen.labels))  # labels of the context play no part
    assert ((known.context > 0.5) == (seen.labels == 1)).mean() > 0.95
    assert np.array_equal(known.context, believe(shown, seen).context)


def test_imagined_events_lie_near_seen_ones():
    """Up to three fields are drawn at a time; values come from the field's own seen values."""
    table, context = drawn(80, law, seed=1), drawn(40, law, seed=2)
    known = believe(table, context)
    seen = np.concatenate([table.codes, context.codes])
    assert len(known.imagined_codes) == len(seen)
    for at in range(len(WORLD)):
        assert set(known.imagined_codes[:, at]) <= set(seen[:, at])
    again = believe(table.take(range(80)), context)
    assert np.array_equal(known.imagined_codes, again.imagined_codes)


def test_mirrored_labels_give_mirrored_beliefs():
    _, _, shown = flipped(200, 0.1, 6)
    one = believe(shown, shown.take([]))
    other = believe(shown.with_labels(1 - shown.labels), shown.take([]))
    assert one.rate == pytest.approx(other.rate, abs=0.01)
    assert np.allclose(one.true, 1.0 - other.true, atol=0.05)


def test_more_contradictions_mean_a_larger_share():
    odds = np.where(np.arange(100) % 2 == 0, 3.0, -3.0)
    target = (odds > 0.0).astype(np.float64)
    rates = []
    for against in (0, 3, 7, 14, 20):
        said = target.copy()
        said[:against] = 1.0 - said[:against]
        rates.append(float(wrong_feedback(odds, said) @ GRID))
    assert rates == sorted(rates)
    assert rates[0] < 0.005
    assert rates[-1] == pytest.approx(20 / 70, abs=0.06)  # all of them are among the surest 70


def test_contradictions_of_the_unsure_are_not_laid_to_feedback():
    """Where fewer contradict the surer, the fields tell the rest too little: errors, not lies."""
    rng = np.random.default_rng(5)
    odds = np.linspace(6.0, 0.1, 400) * np.where(np.arange(400) % 2 == 0, 1.0, -1.0)
    truth = (odds > 0.0).astype(np.float64)
    for lies in (0.0, 0.1):
        wrong = rng.random(400) < np.where(np.arange(400) < 140, lies, 0.35)
        even = rng.random(400) < lies
        told = float(wrong_feedback(odds, np.where(wrong, 1.0 - truth, truth)) @ GRID)
        plain = float(wrong_feedback(odds, np.where(even, 1.0 - truth, truth)) @ GRID)
        assert told == pytest.approx(lies, abs=0.06)
        assert plain == pytest.approx(lies, abs=0.04)  # alike whatever one thinks: all of it counts


def test_where_nothing_is_corrected_labels_are_what_feedback_said():
    _, _, shown = flipped(200, 0.2, 3)
    plain = believe(shown, drawn(30, law, seed=5), False)
    assert plain.rate == 0.0
    assert plain.true.tolist() == shown.labels.tolist()
    assert plain.context.shape == (30,)
    assert believe(shown, shown.take([])).rate > 0.1


def test_where_nobody_has_an_opinion_the_prior_holds():
    found = wrong_feedback(np.zeros(30), np.ones(30))
    assert found.sum() == pytest.approx(1.0)
    assert found[0] > 0.5
    assert (np.diff(found[1:]) < 0.0).all()


@pytest.mark.parametrize("label", ["allow", "refuse"])
@pytest.mark.parametrize("size", [1, 9, 40])
def test_labels_of_one_kind_are_believed_as_far_as_the_prior_goes(size, label):
    table = drawn(size, lambda e: label)
    known = believe(table, drawn(3, law, seed=8))
    for part in (known.true, known.claimed, known.context, known.imagined):
        assert np.isfinite(part).all()
    assert known.claimed.tolist() == [0.5] * size
    assert known.context.tolist() == [0.5] * 3
    right = known.true if label == "refuse" else 1.0 - known.true
    assert (right > 0.8).all()


@pytest.mark.parametrize("seen", [0, 20])
def test_no_examples_are_no_trouble(seen):
    known = believe(EventTable.empty(WORLD), drawn(seen, law))
    assert known.true.shape == known.claimed.shape == (0,)
    assert known.context.tolist() == [0.5] * seen
    assert len(known.imagined) == seen
    assert known.wrong.sum() == pytest.approx(1.0)
