from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from vepa.bench.streams import (
    FlipTarget,
    StreamSettings,
    join_tables,
    make_stream,
    mask_generator,
)
from vepa.bench.views import stream_in_view
from vepa.corpus.events import EventTable
from vepa.errors import EventError, SettingError, UnitMismatchError


def same_draws(a, b):
    return all(
        np.array_equal(x.indices, y.indices) and np.array_equal(x.feedback, y.feedback)
        for x, y in zip(a.rounds, b.rounds, strict=True)
    )


def observed(stream):
    return np.concatenate([part.observed for part in stream.rounds])


def revealed(stream):
    return np.concatenate([part.feedback for part in stream.rounds])


def test_rounds_are_array_split_of_one_permutation(build):
    table = build.table(103)
    stream = make_stream(table, StreamSettings(rounds=10), 3)
    assert sorted(stream.order) == list(range(103))
    sizes = [len(part.indices) for part in stream.rounds]
    assert sizes == [len(part) for part in np.array_split(np.arange(103), 10)]
    assert [part.number for part in stream.rounds] == list(range(1, 11))
    assert not np.array_equal(stream.order, np.arange(103))


@pytest.mark.parametrize("share", [0.0, 0.05, 0.25, 0.5, 1.0])
def test_feedback_is_rounded_share_without_replacement(build, share):
    stream = make_stream(build.table(103), StreamSettings(feedback=share), 0)
    for part in stream.rounds:
        assert len(part.feedback) == round(share * len(part.indices))
        assert len(set(part.feedback)) == len(part.feedback)
        assert set(part.feedback) <= set(part.indices)
        assert np.array_equal(part.indices[part.revealed], part.feedback)
        assert np.array_equal(part.observed, stream.table.labels[part.feedback])


def test_same_seed_same_stream_other_seed_another(build):
    table, settings = build.table(), StreamSettings(flip=0.3)
    first, again = make_stream(table, settings, 5), make_stream(table, settings, 5)
    assert same_draws(first, again)
    assert np.array_equal(observed(first), observed(again))
    assert not same_draws(first, make_stream(table, settings, 6))


def test_flips_leave_order_and_feedback_alone_and_are_nested(build):
    table = build.table(400)
    streams = [make_stream(table, StreamSettings(flip=rate), 1) for rate in (0.0, 0.1, 0.3, 1.0)]
    assert all(same_draws(streams[0], other) for other in streams)
    wrong = [observed(stream) != table.labels[revealed(stream)] for stream in streams]
    assert wrong[0].sum() == 0
    assert wrong[3].all()
    assert 0 < wrong[1].sum() < wrong[2].sum()
    assert not (wrong[1] & ~wrong[2]).any()
    assert abs(wrong[2].mean() - 0.3) < 0.1


def test_more_feedback_reveals_a_superset_and_flips_the_same_events(build):
    table = build.table(200)
    some = make_stream(table, StreamSettings(feedback=0.2, flip=0.4), 2)
    more = make_stream(table, StreamSettings(feedback=0.6, flip=0.4), 2)
    assert set(revealed(some)) < set(revealed(more))
    seen = dict(zip(revealed(more), observed(more), strict=True))
    assert all(seen[at] == label for at, label in zip(revealed(some), observed(some), strict=True))


def test_order_feedback_flips_and_masks_have_random_sources_of_their_own(build):
    table = build.table(100)
    order, choice, wrong, masks = (
        np.random.default_rng(child) for child in np.random.SeedSequence(9).spawn(4)
    )
    stream = make_stream(table, StreamSettings(rounds=4, flip=0.3), 9)
    assert np.array_equal(stream.order, order.permutation(100))
    flipped = wrong.random(100) < 0.3
    for part in stream.rounds:
        chosen = np.sort(choice.permutation(25)[: round(0.5 * 25)])
        assert np.array_equal(part.feedback, part.indices[chosen])
        assert np.array_equal(part.observed != table.labels[part.feedback], flipped[part.feedback])
    assert mask_generator(9).random() == masks.random()


def test_true_labels_stay(build):
    table = build.table(100)
    stream = make_stream(table, StreamSettings(flip=1.0), 1)
    assert np.array_equal(stream.table.labels, table.labels)
    shown = stream.shown(stream.rounds[0])
    assert np.array_equal(shown.labels, 1 - table.labels[stream.rounds[0].feedback])


def test_a_method_is_shown_neither_true_labels_nor_annotations(build):
    table = build.table(40)
    noted = replace(table, meta=tuple({"risk_type": "x"} for _ in table.ids))
    stream = make_stream(noted, StreamSettings(rounds=2, flip=1.0), 0)
    part = stream.rounds[0]
    asked, told = stream.asked(part), stream.told(part)
    assert asked.ids == tuple(stream.table.ids[row] for row in part.indices)
    assert set(asked.labels.tolist()) == {-1}
    assert np.array_equal(told.labels, 1 - stream.table.labels[part.feedback])
    assert (asked.meta, told.meta) == ((), ())


def test_targeted_flips_stay_in_their_slice(build):
    table = build.table(400)
    target = FlipTarget(key="kind", value="odd", share=1.0)
    stream = make_stream(table, StreamSettings(flip=0.0, target=target), 1)
    assert same_draws(stream, make_stream(table, StreamSettings(), 1))
    for part in stream.rounds:
        odd = np.array([table.meta[at]["kind"] == "odd" for at in part.feedback])
        assert np.array_equal(part.observed != table.labels[part.feedback], odd)


def test_a_target_without_events_is_an_error_that_names_the_values(build):
    target = FlipTarget(key="kind", value="strange", share=0.5)
    with pytest.raises(SettingError) as caught:
        make_stream(build.table(), StreamSettings(target=target), 0)
    assert "even, odd" in str(caught.value)


@pytest.mark.parametrize("unit", ["step", "call"])
def test_no_task_stands_in_two_rounds(build, unit):
    table = build.table(200, unit=unit, tasks=37)
    stream = make_stream(table, StreamSettings(rounds=6), 4)
    assert sorted(stream.order) == list(range(200))
    tasks = [{table.meta[at]["task"] for at in part.indices} for part in stream.rounds]
    assert sum(len(part) for part in tasks) == 37
    assert len(set().union(*tasks)) == 37
    other = make_stream(table, StreamSettings(rounds=6), 5)
    assert {table.meta[at]["task"] for at in other.rounds[0].indices} != tasks[0]


def test_a_step_without_task_is_named(build):
    table = build.table(20, unit="step", tasks=5)
    meta = (*table.meta[:7], {}, *table.meta[8:])
    with pytest.raises(EventError) as caught:
        make_stream(replace(table, meta=meta), StreamSettings(rounds=2), 0)
    assert table.ids[7] in str(caught.value)
    assert "meta.task" in str(caught.value)


def test_an_unlabelled_event_is_named(build):
    table = build.table(30)
    labels = table.labels.copy()
    labels[[11, 20]] = -1
    with pytest.raises(EventError) as caught:
        make_stream(table.with_labels(labels), StreamSettings(), 0)
    assert table.ids[11] in str(caught.value)
    assert "1 more" in str(caught.value)


def test_fewer_events_than_rounds(build):
    with pytest.raises(SettingError, match="5 events cannot fill 10 rounds"):
        make_stream(build.table(5), StreamSettings(), 0)
    with pytest.raises(SettingError, match="3 tasks cannot fill 10 rounds"):
        make_stream(build.table(50, unit="step", tasks=3), StreamSettings(), 0)


def test_several_tables_form_one_stream(build):
    a, b = build.table(50, seed=1), build.table(30, seed=2)
    stream = make_stream([a, b], StreamSettings(), 0)
    assert len(stream.table) == 80
    first = {name.split("-")[0] for name in (stream.table.ids[at] for at in stream.order[:20])}
    assert first == {"s1", "s2"}


def test_tables_that_share_an_id_or_differ_in_unit(build):
    a = build.table(50, seed=1)
    with pytest.raises(EventError, match="s1-0"):
        join_tables([a, a])
    with pytest.raises(UnitMismatchError):
        join_tables([a, build.table(50, seed=2, unit="step", tasks=9)])


def test_a_table_without_meta_can_be_joined(build):
    a, b = build.table(20, seed=1), replace(build.table(20, seed=2), meta=())
    joined: EventTable = join_tables([a, b])
    assert len(joined.meta) == 40
    assert len(joined.take(np.arange(40)).meta) == 40


@pytest.mark.parametrize("sizes", [(200, 200), (300, 90), (200, 60, 90)])
def test_shares_of_a_mixed_stream_move_linearly(build, sizes):
    tables = [build.table(size, seed=at) for at, size in enumerate(sizes)]
    stream = make_stream(tables, StreamSettings(rounds=10, shift=0.8), 3)
    assert sorted(stream.order) == list(range(sum(sizes)))
    lengths = [len(part.indices) for part in stream.rounds]
    assert max(lengths) - min(lengths) <= 1
    owner = np.repeat(np.arange(len(sizes)), sizes)
    shares = (
        np.array([np.bincount(owner[part.indices], minlength=len(sizes)) for part in stream.rounds])
        / np.array(lengths)[:, None]
    )
    whole = np.array(sizes) / sum(sizes)
    ends = shares[-1] - shares[0]
    assert ends[0] < -0.2
    assert ends[-1] > 0.1
    for at in range(len(sizes)):
        line = shares[0, at] + ends[at] * np.arange(10) / 9
        assert np.abs(shares[:, at] - line).max() < 2.5 / min(lengths)
        assert abs(shares[:, at].mean() - whole[at]) < 0.01


def test_two_equal_tables_at_full_shift_swap_places(build):
    tables = [build.table(100, seed=1), build.table(100, seed=2)]
    stream = make_stream(tables, StreamSettings(rounds=5, shift=1.0), 0)
    counts = [int((part.indices < 100).sum()) for part in stream.rounds]
    assert counts == [40, 30, 20, 10, 0]
    level = make_stream(tables, StreamSettings(rounds=5, shift=0.0), 0)
    assert [int((part.indices < 100).sum()) for part in level.rounds] == [20] * 5


def test_a_mixed_stream_of_steps_keeps_tasks_together(build):
    tables = [build.table(60, seed=at, unit="step", tasks=12) for at in (1, 2)]
    renamed = [
        replace(t, meta=tuple({"task": f"{at}-{m['task']}"} for m in t.meta))
        for at, t in enumerate(tables)
    ]
    stream = make_stream(renamed, StreamSettings(rounds=4, shift=1.0), 0)
    tasks = [{stream.table.meta[at]["task"] for at in part.indices} for part in stream.rounds]
    assert sum(map(len, tasks)) == len(set().union(*tasks)) == 24


def test_settings_out_of_range_are_refused():
    for wrong in ({"rounds": 0}, {"feedback": 1.5}, {"flip": -0.1}, {"shift": 2.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            StreamSettings(**wrong)


def test_the_draws_of_a_seed_stay_what_they_were(build):
    """Seeds are used in every figure that was ever told: written down once, never to change."""
    tables = [build.table(150, seed=1), build.table(90, seed=2)]
    steps = build.table(120, seed=3, unit="step", tasks=17)
    draws = hashlib.sha256()
    for parts, settings in (
        (tables, StreamSettings(rounds=7, flip=0.2)),
        (tables, StreamSettings(rounds=7, flip=0.2, shift=0.7)),
        ([steps], StreamSettings(rounds=5, feedback=0.3)),
    ):
        for view, masked in (("full", 0.0), ("full", 0.15)):
            stream = stream_in_view(parts, settings, 11, view=view, masked=masked)
            draws.update(stream.table.sha256.encode())
            for part in stream.rounds:
                for values in (part.indices, part.feedback, part.observed):
                    draws.update(values.astype("<i8").tobytes())
    assert draws.hexdigest()[:16] == "404e8810ae0fdc50"


@pytest.mark.slow
def test_a_hundred_thousand_events_whole_and_masked(build):
    table = build.table(100_000)
    stream = stream_in_view([table], StreamSettings(rounds=30), 5, view="full", masked=0.1)
    assert sorted(stream.order) == list(range(100_000))
    masks = mask_generator(5).random(table.codes.shape) < 0.1
    assert np.array_equal(stream.table.codes == 0, masks)
