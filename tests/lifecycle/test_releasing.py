"""The release of a lifecycle: the same as by the command, and another one under another name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from small_release import CANARY, STORIES, small_corpus
from tiny_lifecycle import lifecycle_project, planned_lifecycle
from tiny_office import ROOT
from tiny_tasks import PLANTED, task_with, write_task

from vepa.collect.releasing import release_corpus
from vepa.lifecycle import stages
from vepa.project import Project
from vepa.release.layout import jsonl_path, read_manifest
from vepa.release.records import SPLITS

pytestmark = pytest.mark.xdist_group("release")

#: Played once, by a profile of then: the task is still in the project, the profile left it out.
EARLIER = "note-rent"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose tiny corpus was played and annotated; its folder."""
    folder = lifecycle_project(tmp_path_factory.mktemp("releasing") / "project", more=0)
    world = (ROOT / "environments/world.yaml").read_text("utf-8")
    world = world.replace("VEPA-SEED-DOOR-7714", CANARY)
    (folder / "environments/world.yaml").write_text(world, "utf-8")
    write_task(folder, task_with({"id": EARLIER}, PLANTED))
    corpus = folder / "artifacts/corpus/tiny"
    names = ("memo-milk", "memo-rent", EARLIER)
    small_corpus(corpus, [replace(STORIES[at], task=task) for at, task in enumerate(names)])
    (corpus / "trajectories.jsonl").write_text("")
    return folder


@pytest.fixture(scope="module")
def first(project: Path) -> dict[str, object]:
    """Its release, made by the stage of the lifecycle."""
    made = released(project)
    assert made["made"] is True
    return made


def released(folder: Path) -> dict[str, object]:
    """What the stage of the lifecycle makes or finds."""
    return stages.release("tiny", str(folder), str(folder / "artifacts"))


def named(folder: Path, name: str | None) -> None:
    """Write `release.name` into the profile."""
    file = folder / "flows/profiles/tiny.yaml"
    profile = yaml.safe_load(file.read_text())
    profile["release"] = {} if name is None else {"name": name}
    file.write_text(yaml.safe_dump(profile))


def test_the_command_and_the_lifecycle_make_one_release(
    project: Path, first: dict[str, object]
) -> None:
    corpus = project / "artifacts/corpus"
    again = release_corpus(Project(project), corpus / "tiny", corpus)
    assert (again.manifest.version, again.made) == (first["version"], False)
    tables = [again.folder / jsonl_path("trajectories", split) for split in SPLITS]
    lines = [line for path in tables for line in path.read_text().splitlines()]
    bait = [line for line in lines if '"planted_sha256":["' in line]
    assert (len(lines), len(bait)) == (3, 2), "what was planted for the earlier task is known too"


def test_a_changed_name_in_the_profile_is_another_release(
    project: Path, first: dict[str, object]
) -> None:
    assert planned_lifecycle(project).done("release")
    assert released(project) == {**first, "made": False}
    named(project, "harbour")
    planned = planned_lifecycle(project)
    assert not planned.done("release")
    assert {"release", "evolve-corpus", "report"} <= set(planned.open())
    second = released(project)
    assert str(second["version"]).startswith("harbour-")
    assert second["made"] is True
    assert planned_lifecycle(project).done("release")
    manifests = [read_manifest(Path(str(each["folder"]))) for each in (first, second)]
    assert manifests[0].rows == manifests[1].rows
    named(project, None)
    assert not planned_lifecycle(project).done("release")
    assert released(project) == {**first, "made": False}, "the first one still stands"
