"""Checking records: whoever spoils them and signs everything anew is found out all the same."""

from __future__ import annotations

import json

import pytest
from small_release import CANARIES
from spoilt_release import a_file, full, rewrite, signed, told

from vepa.release.checking import write_sums
from vepa.release.frames import frame_of, parquet_of
from vepa.release.layout import (
    CROISSANT,
    MANIFEST,
    SUMS,
    jsonl_path,
    parquet_path,
)
from vepa.release.records import SPLITS

pytestmark = pytest.mark.xdist_group("release")


def first(**changes):
    """Change fields of the first record."""

    def change(records):
        for path, value in changes.items():
            *inner, last = path.split("__")
            data = records[0]
            for key in inner:
                data = data[key]
            data[last] = value

    return change


def twice(records):
    """The first record again."""
    records.append(records[0])


def shorter(records):
    """Without the last record."""
    records.pop()


#: Table, how it is spoilt, and what must be told of it.
SPOILT = {
    "a field more": ("steps", first(mood="fine"), "mood"),
    "a field of another type": ("steps", first(step="one"), "step"),
    "an unknown trajectory": ("labels", first(trajectory="nobody/x/0"), "no trajectory"),
    "an unknown step": ("settled", first(step=99), "has no step 99"),
    "a trajectory twice": ("trajectories", twice, "occurs twice"),
    "a step twice": ("steps", twice, "occurs twice"),
    "a label twice": ("labels", twice, "judged this step twice"),
    "a step settled twice": ("settled", twice, "settled twice"),
    "an event twice": ("events_step", twice, "occurs twice"),
    "a step without a row": ("steps", shorter, "has no row"),
    "an event of another unit": ("events_call", first(unit="step"), "of unit 'step'"),
    "an event outside the schema": ("events_step", first(event__recipient="moon"), "moon"),
    "an event of no step": ("events_step", first(meta={}), "of which step"),
    "another decision": ("events_step", first(label="refuse"), "not the settled one"),
    "another decision of a step": ("steps", first(decision="refuse"), "not those of the settled"),
    "another kind": ("steps", first(kind="answer"), "of kind"),
    "no group": ("trajectories", first(meta={}), "which group"),
    "no model": ("labels", first(model=None), "which model"),
    "no prompt": ("labels", first(meta={"role": "annotator"}), "by which prompt"),
    "another prompt": ("labels", first(meta__template_sha256="0" * 64), "prompt is not the one"),
    "an unknown reader": ("labels", first(annotator="z"), "'z' is not in the provenance"),
    "no role": ("labels", first(meta__role="guest"), "annotator or an arbiter"),
    "another taxonomy": ("labels", first(taxonomy="mine/1"), "taxonomy 'mine/1'"),
    "another taxonomy settled": ("settled", first(taxonomy="mine/1"), "taxonomy 'mine/1'"),
    "a reader who said nothing": ("settled", first(by=["q"]), "rests on q"),
    "a secret": ("steps", first(text="VEPA-SEED-OTHER-1234"), "canary"),
}  # fmt: skip


#: The others are like one of these.
OFTEN = {
    "a field more", "an unknown trajectory", "a trajectory twice", "a step without a row",
    "another decision", "another decision of a step", "another prompt", "an unknown reader",
    "another taxonomy settled", "a reader who said nothing", "a secret",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [n if n in OFTEN else pytest.param(n, marks=pytest.mark.slow) for n in SPOILT]
)
def test_a_promise_that_is_not_kept_is_told_though_all_hashes_are_right(
    copy, without_croissant, name
):
    table, change, wanted = SPOILT[name]
    folder = rewrite(copy, table, change, parquet=name != "a field of another type")
    lines = told(folder, CANARIES if name == "a secret" else None)
    assert any(wanted in line for line in lines), lines
    assert not any(SUMS in line or ":version:" in line for line in lines)


def test_splits_that_share_something_are_told(copy, without_croissant):
    split_of = {split: copy / jsonl_path("trajectories", split) for split in SPLITS}
    one, other = [split for split in SPLITS if full(split_of[split])][:2]
    record = json.loads(split_of[one].read_text("utf-8").splitlines()[0])
    about = record["meta"]["release"]

    def share(records):
        records[0]["task"] = record["task"]
        records[0]["meta"]["release"]["group"] = about["group"]
        about["planted_sha256"] = records[0]["meta"]["release"]["planted_sha256"] = ["0" * 64]

    for path, split in ((split_of[other], other), (split_of[one], one)):
        records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        share(records)
        text = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records)
        path.write_text(text, "utf-8")
        frame = frame_of("trajectories", records)
        (copy / parquet_path("trajectories", split)).write_bytes(parquet_of(frame))
    lines = told(signed(copy))
    for what in ("task", "group", "planted text"):
        assert any(f"the {what} " in line and "stands in" in line for line in lines), what


def test_rows_and_lines_are_counted(copy, without_croissant):
    path, split = a_file(copy, "labels")
    manifest = json.loads((copy / MANIFEST).read_text("utf-8"))
    manifest["rows"]["labels"][split] += 1
    (copy / MANIFEST).write_text(json.dumps(manifest), "utf-8")
    with path.open("a", encoding="utf-8") as file:
        file.write("{no json\n")
    lines = told(signed(copy))
    assert any("the line is no JSON" in line for line in lines)
    assert any("the manifest says" in line for line in lines)


def test_many_problems_of_one_kind_are_told_as_a_number(copy, without_croissant):
    def all_wrong(records):
        for record in records:
            record["taxonomy"] = "mine/1"

    lines = told(rewrite(copy, "labels", all_wrong), None)
    assert any("more of this kind" in line for line in lines)
    assert len(lines) < 60


def test_metadata_that_loaders_would_trip_over_are_told(copy):
    pytest.importorskip("mlcroissant", reason="NOT RUN: the extra `release` is missing")
    data = json.loads((copy / CROISSANT).read_text("utf-8"))
    del data["distribution"][0]["sha256"]
    data["recordSet"] = data["recordSet"][:1]
    (copy / CROISSANT).write_text(json.dumps(data), "utf-8")
    write_sums(copy)
    assert any(line.startswith(f"{CROISSANT}:") for line in told(copy))
