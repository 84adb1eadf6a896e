"""Ids in messages."""

from __future__ import annotations

from vepa.viewer.reading import near


def test_ids_of_other_people_stand_in_one_line_of_a_message():
    told = near("zzz", ["a\nb", "\x1b[31mred", "c" * 5000])
    assert told.startswith("there are: a\\nb, ")
    assert "\n" not in told
    assert "\x1b" not in told
    assert len(told) < 200
