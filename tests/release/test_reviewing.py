"""Finds that a person looked at may stand, nothing else may, and idle entries are told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from small_release import CANARIES

from vepa.errors import InputError
from vepa.files import sha256_of
from vepa.project import Project
from vepa.release.reviewing import FILE, NOTHING, Review, load_review, read_review
from vepa.release.scanning import scan, scan_or_refuse

pytestmark = pytest.mark.xdist_group("release")

ADDRESS = "jane@gmail.com"
ENTRY = {
    "file": "data/*/train.jsonl",
    "kind": "a mail address that may be real",
    "sha256": sha256_of(ADDRESS),
    "reason": "Invented for a task; ada looked.",
}


def review_of(folder: Path, *changes: dict[str, object]) -> Review:
    """A list with an entry for each of these changes to `ENTRY`."""
    file = folder / FILE
    file.write_text(yaml.safe_dump({"reviewed": 1, "finds": [ENTRY | each for each in changes]}))
    return read_review(file)


def release_of(folder: Path, *texts: str) -> Path:
    """Files of a release: a record a text, each in two tables."""
    for table in ("steps", "trajectories"):
        file = folder / "release/data" / table / "train.jsonl"
        file.parent.mkdir(parents=True)
        file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return folder / "release"


def test_a_reviewed_find_may_stand_wherever_its_entry_says(tmp_path: Path) -> None:
    release = release_of(tmp_path, f"Write to {ADDRESS} today.", f"mail={ADDRESS}")
    with pytest.raises(InputError, match="mail address"):
        scan_or_refuse(release, CANARIES)
    assert scan_or_refuse(release, CANARIES, review_of(tmp_path, {})) == ()


@pytest.mark.parametrize(
    "change",
    [
        {"file": "data/steps/train.jsonl"},
        {"kind": "a host that may be real"},
        {"sha256": sha256_of("joe@gmail.com")},
    ],
)
def test_whatever_differs_from_its_entry_is_refused(
    tmp_path: Path, change: dict[str, object]
) -> None:
    release = release_of(tmp_path, ADDRESS)
    with pytest.raises(InputError, match="mail address") as refused:
        scan_or_refuse(release, CANARIES, review_of(tmp_path, change))
    assert refused.value.where.file == "data/trajectories/train.jsonl" or "file" not in change


def test_another_find_beside_a_reviewed_one_is_refused(tmp_path: Path) -> None:
    release = release_of(tmp_path, ADDRESS, "hf" + "_" + "aB3d" * 9)
    with pytest.raises(InputError, match="model vendor") as refused:
        scan_or_refuse(release, CANARIES, review_of(tmp_path, {}))
    assert "mail" not in f"{refused.value}"


def test_a_refusal_writes_the_entries_that_would_let_it_pass(tmp_path: Path) -> None:
    release = release_of(tmp_path, ADDRESS, "see 8.8.8.8")
    (release / "picture.bin").write_bytes(b"\x00\x01")
    with pytest.raises(InputError) as refused:
        scan_or_refuse(release, CANARIES)
    told = str(refused.value.remedy)
    assert ADDRESS not in told
    entries = yaml.safe_load(told.partition("reviewed.yaml:\n")[2])
    assert len(entries) == 3, "a find in several files is one entry"
    assert all(entry["reason"] is None for entry in entries), "that is for whoever looked"
    changes = [entry | {"reason": ENTRY["reason"]} for entry in entries]
    assert scan_or_refuse(release, CANARIES, review_of(tmp_path, *changes)) == ()


def test_an_entry_that_matches_nothing_is_told_with_its_line(tmp_path: Path) -> None:
    release = release_of(tmp_path, ADDRESS)
    review = review_of(tmp_path, {}, {"sha256": "0" * 64})
    (told,) = scan_or_refuse(release, CANARIES, review)
    assert told.startswith(f"{tmp_path / FILE}:{review.lines[1]}: ")
    assert "matches nothing in this release" in told
    assert review.lines[1] != review.lines[0]
    assert review.unmatched(scan(release, CANARIES)) == (told,)
    assert NOTHING.unmatched(scan(release, CANARIES)) == ()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"sha256": "abc"}, "finds.0.sha256"),
        ({"reason": "fine"}, "finds.0.reason"),
        ({"words": ADDRESS}, "finds.0.words"),
        ({"file": ""}, "finds.0.file"),
    ],
)
def test_a_wrong_entry_is_told(tmp_path: Path, change: dict[str, object], field: str) -> None:
    with pytest.raises(InputError) as caught:
        review_of(tmp_path, change)
    error = caught.value
    assert (error.where.file, error.where.field) == (str(tmp_path / FILE), field)
    assert error.where.line is not None
    assert error.remedy is not None


def test_an_entry_stands_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the same as finds\.0"):
        review_of(tmp_path, {}, {"reason": "For another reason."})


def test_the_list_is_the_projects_and_the_one_that_comes_along_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_review(Project(None)).finds == ()
    (tmp_path / "data").mkdir()
    review_of(tmp_path / "data", {})
    assert [each.reason for each in load_review(Project(None)).finds] == [ENTRY["reason"]]
    monkeypatch.setattr("vepa.project.package_content", lambda: tmp_path / "nowhere")
    (tmp_path / "data" / FILE).unlink()
    assert load_review(Project(None)) == NOTHING
