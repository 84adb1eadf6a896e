"""Checking bytes, files and version: whatever changed anywhere is found."""

from __future__ import annotations

import random

import polars as pl
import pytest
from small_release import CANARIES
from spoilt_release import a_file, spoilt, told

from vepa.errors import InputError
from vepa.release.checking import check, write_sums
from vepa.release.frames import parquet_of
from vepa.release.layout import (
    CARD,
    LEAKAGE,
    MANIFEST,
    PROVENANCE,
    SUMS,
    jsonl_path,
    parquet_path,
)
from vepa.release.records import SPLITS, TABLES
from vepa.release.sums import sums_of, wrong_sums

pytestmark = pytest.mark.xdist_group("release")


def test_a_release_is_whole(release):
    found = check(release, CANARIES)
    assert found.ok
    assert found.problems == ()
    assert not [each for each in found.unchecked if "Croissant" not in each]


def test_what_is_left_out_is_told(copy, without_croissant):
    assert check(copy, None).unchecked == ("secrets: the scan was left out",)


def test_no_release_at_all(tmp_path):
    with pytest.raises(InputError, match=f"neither {MANIFEST} nor {SUMS}"):
        check(tmp_path, CANARIES)


def test_the_list_is_one_that_other_programs_read(release):
    lines = (release / SUMS).read_text("utf-8").splitlines()
    names = [line.split("  ", 1)[1] for line in lines]
    every = {each.relative_to(release).as_posix() for each in release.rglob("*") if each.is_file()}
    assert names == sorted(every - {SUMS})
    assert {jsonl_path(table, split) for table in TABLES for split in SPLITS} < every


def every_position(size, some):
    """Positions of a file: the first, the last and others."""
    if size <= some:
        return range(size)
    return sorted({0, size - 1, *random.Random(size).sample(range(size), some)})


@pytest.mark.parametrize("some", [2, pytest.param(150, marks=pytest.mark.slow)])
def test_a_flipped_byte_is_found_in_every_file(copy, some):
    count, good = 0, sums_of(copy)
    for path in sorted(copy.rglob("*")):
        name = path.relative_to(copy).as_posix()
        if not path.is_file() or name == SUMS:
            continue
        whole = path.read_bytes()
        for at in every_position(len(whole), some):
            spoilt(path, at, 1 << at % 8)
            # One folder's hashes are worked out anew; those of others are as they were.
            now = {**good, name: sums_of(path.parent)[path.name]}
            assert [each.file for each in wrong_sums(copy, now)] == [name], (name, at)
            path.write_bytes(whole)
            count += 1
    assert count > some * 20
    assert list(wrong_sums(copy, sums_of(copy))) == []


@pytest.mark.parametrize("some", [40, pytest.param(700, marks=pytest.mark.slow)])
def test_a_flipped_byte_is_found_in_the_list_of_hashes_itself(copy, some):
    path, found = copy / SUMS, sums_of(copy)
    whole = path.read_bytes()
    for at in every_position(len(whole), some):
        for mask in (1, 0x20, 0x80):
            spoilt(path, at, mask)
            assert list(wrong_sums(copy, found)), (at, mask, whole[at])
            path.write_bytes(whole)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-1], lambda data: data + b"\n", lambda data: b"",
        lambda data: b" " + data,
        lambda data: data.replace(b"\n", b"\r\n"), lambda data: data.replace(b"  ", b" *", 1),
        lambda data: b"".join(reversed(data.splitlines(keepends=True))),
        lambda data: data + data.splitlines(keepends=True)[0], lambda data: data.upper(),
        lambda data: b"\xef\xbb\xbf" + data,
    ],
)  # fmt: skip
def test_a_list_of_hashes_that_was_touched_is_told(copy, change):
    path = copy / SUMS
    path.write_bytes(change(path.read_bytes()))
    assert list(wrong_sums(copy, sums_of(copy)))


def test_files_that_came_or_went_are_told(copy, without_croissant):
    (copy / "notes.txt").write_text("hello", "utf-8")
    (copy / CARD).unlink()
    (copy / "data" / "link.jsonl").symlink_to(copy / MANIFEST)
    lines = told(copy)
    assert f"notes.txt:None:None: not listed in {SUMS}" in lines
    assert any(line.startswith(f"{CARD}:") and "missing" in line for line in lines)
    assert any("link.jsonl" in line and "link" in line for line in lines)


@pytest.mark.parametrize("name", [MANIFEST, PROVENANCE, LEAKAGE, CARD, SUMS])
def test_a_missing_document_is_told_and_the_rest_still_checked(copy, name, without_croissant):
    (copy / name).unlink()
    assert any(line.startswith(f"{name}:") for line in told(copy, None))


def test_another_name_is_another_version(copy, without_croissant):
    moved = copy.rename(copy.with_name("mine"))
    (line,) = told(moved)
    assert "the folder is called 'mine'" in line


def test_the_version_comes_from_the_records(copy, without_croissant):
    path, split = a_file(copy, "settled")
    path.write_text(path.read_text("utf-8").replace("As asked.", "As ASKED."), "utf-8")
    write_sums(copy)
    lines = told(copy)
    assert any("the files make it" in line and ":version:" in line for line in lines)
    assert any("content_sha256" in line for line in lines)
    assert any("not the one of the manifest" in line for line in lines)
    assert any(line.startswith(parquet_path("settled", split)) for line in lines)


def test_parquet_that_says_something_else_is_told(copy, without_croissant):
    for split in SPLITS:
        path = copy / parquet_path("steps", split)
        frame = pl.read_parquet(path)
        if frame.height:
            path.write_bytes(parquet_of(frame.with_columns(seed=pl.col("seed") + 1)))
    (copy / parquet_path("labels", "train")).write_bytes(b"PAR1 no")
    write_sums(copy)
    lines = told(copy)
    assert any("says something else than the JSON Lines: seed" in line for line in lines)
    assert any("no parquet that can be read" in line for line in lines)
    assert not any(":version:" in line for line in lines)
