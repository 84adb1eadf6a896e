"""The one order of ids that stands for the order of lines in a file."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vepa.corpus.events import EventRecord, EventTable, read_events
from vepa.corpus.ordering import _numbered, natural_key, natural_order
from vepa.policy import bundled_schema
from vepa.project import package_content

NAMES = st.lists(st.text("aZ0129-/²٣é", max_size=8), unique=True, max_size=12)


@pytest.mark.parametrize(
    "names",
    [
        ["assebench-security/9", "assebench-security/10", "assebench-security/100"],
        ["task/careful/2/9/step", "task/careful/2/10/step", "task/careful/10/1/step"],
        ["", "0", "00", "01", "1", "2", "a", "a0", "a1", "a1b", "a01c", "ab"],
        ["v1.2.9", "v1.2.10", "v1.10.0"],
        ["x/" + "9" * 5000, "x/1" + "0" * 5000],  # more digits than `int` reads
    ],
)
def test_digits_are_numbers_and_the_rest_is_text(names):
    for seed in range(5):
        mixed = random.Random(seed).sample(names, len(names))
        assert [mixed[at] for at in natural_order(mixed)] == names


@given(NAMES, st.randoms())
def test_any_order_of_names_comes_back_as_the_same_one(names, rng):
    mixed = rng.sample(names, len(names))
    assert len({natural_key(name) for name in names}) == len(names)
    assert [mixed[at] for at in natural_order(mixed)] == [names[at] for at in natural_order(names)]


@given(st.text("ab/", max_size=4), st.integers(0, 10**30), st.integers(0, 10**30))
def test_names_that_differ_in_a_number_are_ordered_by_it(text, one, other):
    assert (one < other) == (natural_key(f"{text}{one}/x") < natural_key(f"{text}{other}/x"))


@given(
    st.lists(
        st.builds(
            "{}{}".format,
            st.text("a01/", max_size=4),
            st.sampled_from(["", "0", "1", "01", "7", "10", "9" * 19]),
        ),
        unique=True,
        max_size=8,
    )
)
def test_the_quick_way_is_the_order_of_the_keys(names):
    """Names that are a head and a number are ordered by arrays, and others by their keys."""
    assert [names[at] for at in natural_order(names)] == sorted(names, key=natural_key)


def test_numbered_names_of_several_files_take_the_quick_way():
    names = [f"{head}/{at}" for head in ("synth-0", "synth-10", "synth-2") for at in range(40)]
    mixed = random.Random(0).sample(names, len(names))
    assert _numbered(mixed) is not None
    assert [mixed[at] for at in natural_order(mixed)] == sorted(names, key=natural_key)
    assert _numbered([*mixed, "synth-0/x"]) is None
    assert _numbered(["a5", "a1b2"]) is None
    assert _numbered(["a1", "a01"]) is None


def test_a_table_is_put_in_order_whole_and_only_once():
    schema = bundled_schema()
    values = schema["injection"].values
    records = [
        EventRecord(
            id=f"e/{at}",
            label="refuse" if at % 3 else "allow",
            event={"injection": values[at % len(values)]},
            meta={"at": at},
        )
        for at in range(30)
    ]
    straight = EventTable.from_records(records, schema)
    mixed = EventTable.from_records(random.Random(1).sample(records, 30), schema)
    assert mixed.ids != straight.ids
    assert mixed.sha256 != straight.sha256
    ordered = mixed.canonical()
    assert ordered.ids == straight.ids
    assert ordered.meta == straight.meta
    assert np.array_equal(ordered.codes, straight.codes)
    assert np.array_equal(ordered.labels, straight.labels)
    assert ordered.sha256 == straight.sha256
    assert straight.canonical() is straight
    assert ordered.canonical() is ordered
    assert len(EventTable.empty(schema).canonical()) == 0


def test_the_bundled_events_of_security_stand_in_that_order():
    table = read_events(package_content() / "data" / "assebench_security.events.jsonl")
    assert table.canonical() is table
