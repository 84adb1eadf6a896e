"""A release against the one before: numbers in the summary, in a line and on the page."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_release import CANARIES, STORIES, small_corpus, small_source
from small_runs import PROFILE, SmallProject

from vepa.cli.console import Output
from vepa.cli.run_lifecycle import _changes
from vepa.cli.run_views import _tell_corpus
from vepa.corpus.labels import Label, stream_labels, write_labels
from vepa.lifecycle import stages
from vepa.lifecycle.compared import changes_told, release_changes
from vepa.lifecycle.plan import Lifecycle, plan_lifecycle
from vepa.lifecycle.profile import LifecycleProfile, ReleaseProfile
from vepa.lifecycle.report.changes import changes
from vepa.project import Project, package_content
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


# --- in a lifecycle: from run to run

#: What a policy leaves; no stage of these tests reads it.
_RUN: dict[str, Any] = {
    "id": "small-1",
    "folder": "runs/small-1",
    "policy_hash": "0" * 64,
    "rules": {"archive": 2, "active": 1},
    "figures": dict.fromkeys(stages._TOLD, 0.5),
    "confusion": {row: {"allow": 1, "refuse": 1} for row in ("allow", "refuse", "abstain")},
    "standing": "VEPA is above the best single field.",
}


@pytest.fixture
def lifecycle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, versions: tuple[Path, Path]
) -> tuple[Lifecycle, list[Path]]:
    """A lifecycle that releases, and the release that its next summary finds (the last one)."""
    project = SmallProject(tmp_path)
    for file in (project.profile, project.events):
        file.parent.mkdir(parents=True)
    project.profile.write_text(PROFILE)
    source = package_content() / "data" / "assebench_security.events.jsonl"
    project.events.write_text("".join(source.read_text().splitlines(keepends=True)[:60]))
    planned = plan_lifecycle(Project(tmp_path), "small", artifacts=tmp_path / "artifacts")
    whole = replace(planned, profile=LifecycleProfile(release=ReleaseProfile()))
    released = [versions[0]]
    monkeypatch.setattr(stages, "_planned", lambda *_: whole)
    monkeypatch.setattr(stages, "_run", lambda _: _RUN)
    monkeypatch.setattr(stages, "release", lambda *_: {"folder": str(released[-1])})
    return whole, released


def test_a_summary_keeps_what_changed_since_the_last_run(
    lifecycle: tuple[Lifecycle, list[Path]], versions: tuple[Path, Path]
) -> None:
    whole, released = lifecycle
    assert "changes" not in stages.summarise("small")["release"]
    released.append(versions[1])
    summary = stages.summarise("small")
    written = json.loads((whole.folder / "lifecycle.json").read_text())
    assert written["release"]["changes"]["tables"]["trajectories"]["added"] == 1
    assert "1 added" in Path(summary["page"]).read_text()
    assert _changes(whole, versions[1].name) == written["release"]["changes"]
    assert _changes(whole, versions[0].name) is None
    assert "changes" not in stages.summarise("small")["release"]  # the same once more


def test_what_is_made_again_by_name_is_compared_too(
    lifecycle: tuple[Lifecycle, list[Path]], versions: tuple[Path, Path]
) -> None:
    whole, released = lifecycle
    stages.summarise("small")
    whole.forget("report")
    whole.forget("report")  # asked for once more before it was made
    assert not whole.done("report")
    released.append(versions[1])
    summary = stages.summarise("small")
    assert summary["before"]["release"]["version"] == versions[0].name
    assert summary["release"]["changes"]["before"] == versions[0].name
    assert sorted(each.name for each in whole.folder.iterdir()) == [
        "lifecycle.json", "report.html"
    ]  # fmt: skip


def test_the_terminal_tells_it_in_a_line(
    versions: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = versions
    corpus: dict[str, Any] = {
        "played": 1, "episodes": 8, "tasks": 6, "steps": 24, "by_model": {},
        "steps_by_trigger": {}, "episodes_by_tripped": {}, "calls_by_environment": {},
        "spent": {"prompt": 0, "completion": 0, "dollars": 0.0}, "content_sha256": "0" * 64,
        "folder": "corpus", "report": "corpus/report.html",
        "release": {"version": new.name, "changes": release_changes(_before(old.name), new)},
    }  # fmt: skip
    _tell_corpus(Output(), corpus)
    told = capsys.readouterr().out
    assert f"since {old.name}: trajectories 1 added" in told
    corpus["release"]["changes"] = None
    _tell_corpus(Output(), corpus)
    assert "since" not in capsys.readouterr().out
