"""Pieces of several trajectories, gathered in any order."""

from __future__ import annotations

from vepa.corpus.importing.grouping import Gathered, Link


def _groups(*pieces):
    with Gathered() as gathered:
        for record, (key, piece) in enumerate(pieces, 1):
            gathered.add(key, piece, record)
        return list(gathered.groups())


def test_pieces_come_together_in_the_order_of_the_file():
    assert _groups(("b", 1), ("a", 2), ("b", {"x": "ü"})) == [
        ("b", 1, [1, {"x": "ü"}]),
        ("a", 2, [2]),
    ]


def test_a_link_joins_all_pieces_of_its_keys_also_those_before_it():
    found = _groups(("t1", 1), ("t2", 2), ("t1", Link("talk")), ("t3", 3), ("t3", Link("talk")))
    assert found == [("talk", 1, [1, 3]), ("t2", 2, [2])]


def test_the_first_link_of_a_key_counts_and_a_link_to_itself_is_none():
    found = _groups(("t", 1), ("t", Link("t")), ("t", Link("one")), ("t", Link("two")))
    assert found == [("one", 1, [1])]
