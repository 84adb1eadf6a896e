"""A release against the one before: numbers in the summary, in a line and on the page."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from small_release import CANARIES, STORIES, small_corpus, small_source

from vepa.corpus.labels import Label, stream_labels, write_labels
from vepa.lifecycle.compared import changes_told, release_changes
from vepa.lifecycle.report.changes import changes
from vepa.release.building import make_release

pytestmark = pytest.mark.xdist_group("release")


def _flipped(label: Label) -> Label:
    """What `a` said of one step, as a refusal is put for another step."""
    if (label.trajectory, label.step, label.annotator) != (STORIES[1].id, 2, "a"):
        return label
    allowed = {"triggers": [], "decision": "allow", "risk_source": None, "harm": None,
               "severity": None}  # fmt: skip
    return label.model_copy(update={"judgement": label.judgement.model_copy(update=allowed)})


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The release of all stories but the last, and the next one: a story more, a label less."""
    folder = tmp_path_factory.mktemp("versions")
    found = []
    for name, stories in (("old", STORIES[:-1]), ("new", STORIES)):
        corpus = small_corpus(folder / name, stories)
        if name == "new":
            labels = corpus / "labels" / "labels.jsonl"
            write_labels(labels, list(map(_flipped, stream_labels(labels))))
        made = make_release(small_source(corpus), folder / "corpus", CANARIES)
        found.append(made.folder)
    return found[0], found[1]


def _before(version: str) -> dict[str, Any]:
    return {"release": {"version": version, "folder": "/gone/since"}}


def test_what_changed_is_counted(versions: tuple[Path, Path]) -> None:
    old, new = versions
    found = release_changes(_before(old.name), new)
    assert found is not None
    assert (found["before"], found["after"]) == (old.name, new.name)
    assert found["same_content"] is False
    assert found["tables"]["trajectories"]["added"] == 1
    assert found["tables"]["trajectories"]["removed"] == 0
    assert found["tables"]["settled"]["added"] == 3
    assert found["tables"]["labels"]["added"] == 7  # two a step, and a person's
    assert found["tables"]["labels"]["changed"] >= 1
    assert found["flips"] == {"steps": 0, "decisions": {}, "gained": {}, "lost": {}}
    shared = 3 * (len(STORIES) - 2)  # what scripts said of one story counts for nothing
    assert (found["drift"]["items_both"], found["drift"]["judged_both"]) == (shared, 2 * shared)
    assert found["drift"]["decision_changed"] == pytest.approx(1 / (2 * shared))
    told = changes_told(found)
    assert told.startswith(f"since {old.name}: trajectories 1 added")
    assert "settled 3 added" in told


def test_there_is_nothing_to_tell_of_a_first_or_of_the_same(versions: tuple[Path, Path]) -> None:
    old, _ = versions
    assert release_changes(None, old) is None
    assert release_changes({"profile": "tiny"}, old) is None
    assert release_changes(_before(old.name), old) is None
    assert changes_told(None) == ""


def test_one_that_is_gone_or_broken_is_said(versions: tuple[Path, Path], tmp_path: Path) -> None:
    old, new = (Path(shutil.copytree(each, tmp_path / each.name)) for each in versions)
    gone = release_changes(_before("small-000000000000"), new)
    assert gone == {"before": "small-000000000000", "after": new.name, "missing": True}
    assert changes_told(gone).endswith("not compared, its folder is gone")
    (old / "data/steps/train.jsonl").write_text("{half\n")
    broken = release_changes(_before(old.name), new)
    assert broken is not None
    assert "no record of the table 'steps'" in broken["failed"]
    assert broken["failed"] in changes_told(broken)
    assert release_changes(_before("../" + old.name), new) == {**broken, "before": f"../{old.name}"}


def test_the_page_tells_records_flips_and_drift(versions: tuple[Path, Path]) -> None:
    old, new = versions
    found = release_changes(_before(old.name), new)
    assert found is not None
    found["flips"] = {"steps": 2, "decisions": {"allow -> refuse": 2}, "gained": {}, "lost": {}}
    rows = {"trajectories": {"train": 7}}, {"trajectories": {"train": 8}}
    summary = {
        "release": {"version": new.name, "rows": rows[1], "changes": found},
        "before": {"release": {"version": old.name, "rows": rows[0]}},
    }
    told = {change.what: change for change in changes(summary) or ()}
    trajectories = told["rows of trajectories"]
    assert (trajectories.before, trajectories.now) == ("7", "8")
    assert trajectories.by.startswith("1 added")
    flips = told["steps of both about which something else stands"]
    assert (flips.now, flips.by) == ("2", "allow -> refuse 2")
    assert "2.8" in told["labels of the same content and annotator: another decision"].now


def test_the_page_says_why_nothing_was_compared() -> None:
    missing = {"before": "a-1", "after": "a-2", "missing": True}
    summary = {
        "release": {"version": "a-2", "changes": missing},
        "before": {"release": {"version": "a-1"}},
    }
    told = {change.what: change for change in changes(summary) or ()}
    assert told["not compared with the one before"].by == "its folder is gone"
