"""Hashed n-grams: local, the same in every process, near where words are shared."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from vepa.errors import InputError, SettingError
from vepa.llm import Budget, Ledger, open_embedder

TEXTS = ["Sends a mail to an outside address.", "ＭＡＩＬ über Straße 7", "!!!", "日本語"]


def test_the_same_vectors_in_another_process_with_another_hash_seed():
    code = (
        "import json, sys\nfrom vepa.llm import open_embedder\n"
        "print(json.dumps(open_embedder('hashing/256').embed(sys.argv[1:]).tolist()))\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, *TEXTS],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert np.array_equal(json.loads(said.stdout), open_embedder("hashing/256").embed(TEXTS))


def test_a_known_vector_stays():
    found = open_embedder("hashing/16").embed(["mail"])[0]
    expected = [
        0.0,
        0.0,
        0.0,
        -0.169,
        -0.338,
        -0.169,
        -0.845,
        0.0,
        0.169,
        0.0,
        0.169,
        0.0,
        0.169,
        0.0,
        0.169,
        0.0,
    ]
    assert found.round(3).tolist() == expected


def test_texts_that_share_words_are_nearer_and_all_have_length_one():
    embedder = open_embedder("hashing/1024")
    base, near, far = embedder.embed(
        ["send a mail to a stranger", "send mails to some stranger", "delete the backup"]
    )
    assert base @ near > 0.4 > abs(base @ far)
    assert np.allclose(np.linalg.norm(embedder.embed(TEXTS), axis=1), 1.0)
    alone, together = embedder.embed(TEXTS[:1]), embedder.embed(TEXTS)
    assert np.array_equal(alone[0], together[0])


def test_it_is_written_down_and_costs_nothing(tmp_path):
    ledger = Ledger(tmp_path / "l.jsonl")
    open_embedder("hashing/64", ledger=ledger, budget=Budget(dollars=0, tokens=0)).embed(["a"])
    (entry,) = ledger.entries()
    assert (entry.source, entry.requests, entry.dollars) == ("hashing", 0, 0.0)


@pytest.mark.parametrize("name", ["hashing/", "hashing/15", "hashing/0064", "hashing/1e3", "hashing/65537", "hashing", "hashing/64/2", "hashing/-64"])  # fmt: skip  # noqa: E501
def test_a_wrong_number_of_dimensions(name):
    with pytest.raises(SettingError) as caught:
        open_embedder(name)
    assert "hashing/1024" in str(caught.value)
    assert caught.value.where.field == "embedder"


def test_a_blank_text_has_no_vector():
    with pytest.raises(InputError, match="blank"):
        open_embedder("hashing/64").embed([" \u3000\n"])
