"""The real benchmark traces, where they are: enough held out, and nothing shared."""

from __future__ import annotations

import pytest
from raw_files import DATA, needs_raw, raw_file

from vepa.corpus.importing import Import
from vepa.release.duplicates import Sets, near_duplicates, requested, shingles
from vepa.tuning import build, stream_examples
from vepa.tuning.manifest import split_file

pytestmark = pytest.mark.integration


@needs_raw
def test_at_least_eighty_are_held_out_and_share_no_template(request_for, tmp_path):
    raw = raw_file("assebench_security")
    built = build(
        request_for([raw], [str(DATA / "assebench_security.events.jsonl")], trace_tokens=200),
        tmp_path,
    )
    ids = {
        split: {each.id for each in stream_examples(built.folder / split_file(split))}
        for split in ("train", "validation", "test")
    }
    assert len(ids["test"]) >= 80
    assert sum(map(len, ids.values())) == 817
    traces = list(Import(raw))
    operators = {
        split: {each.system for each in traces if each.id in found} for split, found in ids.items()
    }
    assert not operators["test"] & (operators["train"] | operators["validation"])
    asked = [shingles(requested(each.steps)) for each in traces]
    sets = Sets(len(traces))
    first = {}
    for at, each in enumerate(traces):
        sets.join(first.setdefault(each.id in ids["test"], at), at)
    assert near_duplicates(asked, sets, join=False) == []


@needs_raw
def test_atbench_is_in_no_other_split_than_the_test(request_for, tmp_path):
    names = ("rjudge_dev", "atbench_dev")
    built = build(
        request_for(
            [raw_file(name) for name in names],
            [str(DATA / f"{name}.events.jsonl") for name in names],
        ),
        tmp_path,
    )
    held = [each.id for each in stream_examples(built.folder / "test.jsonl")]
    assert sum(name.startswith("atbench") for name in held) == 150
