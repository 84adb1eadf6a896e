"""Pieces of several trajectories, gathered in any order."""

from __future__ import annotations

import tempfile

import pytest

from vepa.corpus.importing.grouping import Gathered, Link
from vepa.errors import SettingError


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


def test_nothing_is_left_behind_however_the_process_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Gathered() as gathered:
        assert list(tmp_path.iterdir()) == []  # while it is open: what is killed leaves nothing
        for number in range(3000):
            gathered.add(f"k{number % 7}", "x" * 10_000, number)
        assert [len(pieces) for _, _, pieces in gathered.groups()] == [429] * 4 + [428] * 3
        assert list(tmp_path.iterdir()) == []


def _too_much():
    with Gathered() as gathered:
        gathered._base.execute("PRAGMA max_page_count=10")
        for number in range(100):
            gathered.add("k", "x" * 10_000, number)


def test_a_full_disk_is_told():
    with pytest.raises(SettingError, match="disk is full") as error:
        _too_much()
    assert "TMPDIR" in error.value.remedy


def test_a_folder_of_temporary_files_that_cannot_be_written_is_told(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere/at/all")
    with pytest.raises(SettingError, match="cannot be gathered"):
        Gathered()
