"""Documents that a console printed one after another."""

from __future__ import annotations

import json

import pytest

from vepa.corpus.importing.containers import records


def _read(tmp_path, text):
    (tmp_path / "printed.json").write_text(text)
    return list(records(tmp_path / "printed.json"))


@pytest.mark.parametrize("between", ["", "\n", "\n\n  "])
def test_documents_of_several_lines_in_a_row_are_records(tmp_path, between):
    given = [{"a": "}{", "b": [number]} for number in range(3)]
    found = _read(tmp_path, between.join(json.dumps(each, indent=1) for each in given))
    assert [each.data for each in found] == given
    assert [each.number for each in found] == [1, 2, 3]


def test_a_broken_one_ends_them_with_its_number(tmp_path):
    *good, bad = _read(tmp_path, '{\n "a": 1\n}\n{\n "a": 2\n}\n{\n "a": \n')
    assert [each.data for each in good] == [{"a": 1}, {"a": 2}]
    assert (bad.number, bad.final) == (3, True)
    assert "after record 2" in bad.error.message


def test_one_document_with_rubbish_behind_it_stays_a_bad_document(tmp_path):
    (bad,) = _read(tmp_path, '{\n "a": 1\n}\nrubbish\n')
    assert bad.final
    assert "Extra data (line 4" in bad.error.message
