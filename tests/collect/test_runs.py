"""A corpus stage by stage, without Prefect: planned, played, ended, and what it leaves behind."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny_corpus import as_model, planned, played, tiny_project, where, write_profile
from tiny_office import ROOT, cache_folder, write_environment

from vepa.bench.runs.profile import load_profile
from vepa.cli import main
from vepa.collect.runs import stages
from vepa.collect.runs.products import content_sha256, labelled_events
from vepa.collect.runs.session import plan_corpus
from vepa.corpus.episode import Episode
from vepa.corpus.events import read_events
from vepa.corpus.trajectory import stream_trajectories
from vepa.errors import RunError, SettingError
from vepa.files import canonical_json
from vepa.project import Project
from vepa.services.places import Places
from vepa.services.runtimes import processes

TRIGGER = "unconfirmed_or_over_privileged_action"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    """A cache of these tests, and no content of the package but the prompts: plans load fast."""
    content = tmp_path_factory.mktemp("content")
    shutil.copytree(ROOT / "prompts", content / "prompts")
    with cache_folder() as places, pytest.MonkeyPatch.context() as patch:
        patch.setenv("VEPA_CACHE", str(places.root))
        patch.delenv("VEPA_ARTIFACTS", raising=False)
        patch.setattr("vepa.project.package_content", lambda: content)
        patch.chdir(content)
        yield places


@pytest.fixture(autouse=True)
def _bare(cache: Places) -> None:
    """Every test."""


@pytest.fixture(scope="module")
def corpus(cache: Places, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose corpus is played and written; look, do not touch."""
    folder = tiny_project(tmp_path_factory.mktemp("corpus"))
    rows, ended = played(folder)
    assert [row["episodes"] for row in rows] == [1, 2]
    assert ended == {"played": 3, "kept": 0, "endings": {"answer": 3}}
    stages.write_products(*where(folder), seconds=12.5)
    return folder


@pytest.fixture
def copied(corpus: Path, tmp_path: Path) -> Path:
    """A project of its own with the same episodes: nothing is to be played."""
    folder = tiny_project(tmp_path / "project")
    _keep(folder, _episodes(corpus))
    return folder


def _episodes(folder: Path) -> list[Episode]:
    plan = planned(folder)
    found = [plan.collection.kept(order) for order in plan.all_orders]
    assert None not in found
    return [episode for episode in found if episode is not None]


def _keep(folder: Path, episodes: list[Episode]) -> None:
    plan = planned(folder)
    known = {episode.id: episode for episode in episodes}
    for order in plan.all_orders:
        if order.id in known:
            plan.collection.keep(order, known[order.id])


def _nothing_runs(cache: Places) -> None:
    """No process and no office; snapshots may stay."""
    assert [*processes.launchers(cache.root), *processes.leftovers(cache.root)] == []
    assert [path.name for path in cache.offices.glob("*")] == []


def _products(folder: Path) -> dict[str, bytes]:
    place = planned(folder).folder
    return {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}


# --- planning


def test_a_plan_names_every_episode_and_starts_nothing(tmp_path: Path) -> None:
    folder = tiny_project(tmp_path)
    before = sorted(folder.rglob("*"))
    plan = planned(folder)
    assert {task: len(orders) for task, orders in plan.orders.items()} == {
        "memo-milk": 1,
        "memo-rent": 2,
    }
    assert [each.name for each in plan.environments] == ["memos"]
    assert plan.missing() == plan.all_orders
    assert plan.folder == folder / "artifacts" / "corpus" / "tiny"
    assert sorted(folder.rglob("*")) == before


def test_a_profile_without_the_block_collects_nothing(tmp_path: Path) -> None:
    folder = tiny_project(tmp_path, {"corpus": None})
    assert plan_corpus(Project(folder), "tiny") is None
    with pytest.raises(SettingError, match="collects nothing") as caught:
        stages.begin_corpus(*where(folder))
    assert caught.value.where.field == "corpus"


@pytest.mark.parametrize(
    ("changes", "field", "told"),
    [
        ({"corpus.tasks": ["nothing-*"]}, "corpus.tasks", "nothing-*"),
        ({"corpus.tsks": ["memo-*"]}, "corpus.tsks", "tasks"),
        ({"corpus.runtime": "podman"}, "corpus.runtime", "process"),
        ({"corpus.collect.offices": 0}, "corpus.collect.offices", "1"),
        ({"corpus.collect.models": ["scripted/lazy"]}, "models", "careful"),
    ],
)
def test_a_wrong_block_is_told_with_its_place(
    tmp_path: Path, changes: dict[str, Any], field: str, told: str
) -> None:
    folder = tiny_project(tmp_path, changes)
    with pytest.raises(SettingError) as caught:
        plan_corpus(Project(folder), "tiny")
    assert caught.value.where.field == field
    assert told in str(caught.value)


# --- playing


def test_what_is_there_is_not_played_again(copied: Path, cache: Places) -> None:
    rows, ended = played(copied)
    assert ended == {"played": 0, "kept": 3, "endings": {"answer": 3}}
    assert [(row["task"], row["episodes"], row["kept"]) for row in rows] == [
        ("memo-milk", 1, 1),
        ("memo-rent", 2, 2),
    ]
    _nothing_runs(cache)


def test_a_folder_is_held_by_one(copied: Path) -> None:
    begun = stages.begin_corpus(*where(copied))
    try:
        with pytest.raises(SettingError, match="another process collects"):
            stages.begin_corpus(*where(copied))
    finally:
        stages.leave_corpus(begun["folder"])
    stages.leave_corpus(begun["folder"])  # does nothing any more
    for call in (stages.end_corpus, lambda folder: stages.collect_task(folder, "memo-milk")):
        with pytest.raises(RunError, match="no corpus is being collected"):
            call(begun["folder"])
    again = stages.begin_corpus(*where(copied))
    stages.leave_corpus(again["folder"])


def test_once_left_no_episode_is_begun(tmp_path: Path, cache: Places) -> None:
    folder = tiny_project(tmp_path)
    begun = stages.begin_corpus(*where(folder))
    session = stages.session_of(begun["folder"])
    stages.leave_corpus(begun["folder"])
    assert session.settle("memo-milk") == []
    assert len(planned(folder).missing()) == 3
    _nothing_runs(cache)


def test_episodes_that_cannot_be_played_are_told(tmp_path: Path, cache: Places) -> None:
    folder = tiny_project(tmp_path)
    write_environment(folder, mode="refuses")  # its seed is not taken
    with pytest.raises(RunError) as caught:
        played(folder)
    told = str(caught.value)
    assert told.startswith("3 of 3 episodes are missing")
    assert "memo-milk/scripted-careful/0: " in told
    assert "no memos today" in told
    assert "the same command again" in told
    assert caught.value.exit_code == 1
    assert list(planned(folder).folder.rglob("*.episode.json")) == []
    _nothing_runs(cache)
    with pytest.raises(RunError, match="3 episodes are missing"):
        stages.write_products(*where(folder))


# --- products


def test_everything_is_written(corpus: Path) -> None:
    place, episodes = planned(corpus).folder, _episodes(corpus)
    assert set(_products(corpus)) - {".lock", "ledger.jsonl"} == {
        "corpus.json",
        "episodes.json",
        "evolve.yaml",
        "events.call.jsonl",
        "events.step.jsonl",
        "report.html",
        "trajectories.jsonl",
    }
    assert [each.id for each in stream_trajectories(place / "trajectories.jsonl")] == [
        each.id for each in episodes
    ]
    figures = stages.read_figures(place)
    assert (figures["profile"], figures["episodes"], figures["unsafe"]) == ("tiny", 3, 1)
    assert figures["steps"] == sum(each.steps for each in episodes)
    assert figures["succeeded"] == 2 + episodes[-1].succeeded
    assert figures["steps_by_trigger"][TRIGGER] == 1
    assert figures["seconds"]["wall"] == 12.5
    assert figures["content_sha256"] == content_sha256(reversed(episodes))
    rows = json.loads((place / "episodes.json").read_text())
    assert [row["content_hash"] for row in rows] == [each.content_hash for each in episodes]


def test_the_hash_is_of_all_that_happened(corpus: Path) -> None:
    first, *rest = _episodes(corpus)
    whole = content_sha256([first, *rest])
    assert content_sha256(rest) != whole
    assert content_sha256([first, first, *rest]) != whole
    later = first.model_copy(update={"started": "2001-01-01T00:00:00Z", "seconds": 99.0})
    assert content_sha256([later, *rest]) == whole
    document = first.model_dump(mode="json")
    document["ending"]["reason"] = "refusal"
    other = Episode.model_validate_json(json.dumps(document))
    assert content_sha256([other, *rest]) != whole


def test_written_again_nothing_is_touched(corpus: Path) -> None:
    place = planned(corpus).folder
    before = {path: path.stat().st_mtime_ns for path in place.iterdir() if path.is_file()}
    figures = stages.write_products(*where(corpus))
    assert {path: path.stat().st_mtime_ns for path in place.iterdir() if path.is_file()} == before
    assert figures["report"] == str(place / "report.html")
    assert figures["seconds"]["wall"] == 12.5, "of the collection, not of this"


def test_a_damaged_product_is_made_again(copied: Path) -> None:
    stages.write_products(*where(copied))
    before = _products(copied)
    place = planned(copied).folder
    (place / "events.step.jsonl").write_text("half a li")
    (place / "corpus.json").unlink()
    stages.write_products(*where(copied))
    assert _products(copied) == before


# --- labels and what evolves


def test_labels_come_from_scripts_and_leave_the_events_alone(corpus: Path) -> None:
    episodes = _episodes(corpus)
    records = list(labelled_events(episodes, "step"))
    assert [record.label for record in records].count("refuse") == 1
    (bad,) = [record for record in records if record.label == "refuse"]
    assert bad.meta["trigger"] == TRIGGER
    assert (bad.meta["model"], bad.meta["task"]) == ("scripted/gullible", "memo-rent")
    assert {record.meta["labelled_by"] for record in records} == {"script"}
    raw = [event for each in episodes for event in each.events if event.unit == "step"]
    assert [record.id for record in records] == [event.id for event in raw]
    assert [canonical_json(record.event) for record in records] == [
        canonical_json(event.event) for event in raw
    ]
    tool = {
        step.index: step.call.tool
        for step in episodes[-1].trajectory.steps
        if step.call is not None
    }
    assert tool[bad.meta["step"]] == "memos_remove"


@pytest.mark.parametrize("unit", ["call", "step"])
def test_events_are_the_same_whatever_a_script_meant(corpus: Path, unit: Any) -> None:
    def bare(episodes: list[Episode]) -> list[bytes | str]:
        return [canonical_json(each.event) for each in labelled_events(episodes, unit)]

    episodes = _episodes(corpus)
    turned = [
        each.model_copy(
            update={"intended": [None if meant else TRIGGER for meant in each.intended]}
        )
        for each in episodes
    ]
    silent = [each.model_copy(update={"intended": []}) for each in episodes]
    assert bare(turned) == bare(episodes) == bare(silent)
    flipped = {"allow": "refuse", "refuse": "allow"}
    labels = [each.label for each in labelled_events(episodes, unit)]
    assert [each.label for each in labelled_events(turned, unit)] == [
        flipped[str(label)] for label in labels
    ]
    assert {each.label for each in labelled_events(silent, unit)} == {None}
    assert all("labelled_by" not in each.meta for each in labelled_events(silent, unit))


def test_the_profile_of_the_corpus_policy(corpus: Path) -> None:
    place = planned(corpus).folder
    profile = load_profile(place / "evolve.yaml")
    assert profile.view == "instrumented", "its own key"
    assert (profile.rounds, profile.baselines) == (2, ["lookup"]), "the outer profile's"
    assert profile.evolution.patches == 4
    assert profile.corpus is None
    assert profile.events == [str(place / "events.step.jsonl")]
    assert "corpus tiny" in profile.title
    assert len(read_events(place / "events.step.jsonl").ids) == sum(
        each.steps for each in _episodes(corpus)
    )


def test_without_the_block_no_policy_evolves_on_it(copied: Path) -> None:
    stages.write_products(*where(copied))
    write_profile(copied, {"corpus.evolve": None})
    stages.write_products(*where(copied))
    assert "evolve.yaml" not in _products(copied), "the one of before is gone"


@pytest.mark.parametrize("scripts", [True, False])
def test_steps_of_real_models_have_no_label(copied: Path, scripts: bool) -> None:
    episodes = _episodes(copied)
    models = ["openai/some-model", *(["scripted"] if scripts else [])]
    write_profile(copied, {"corpus.collect.models": models})
    by_task = {each.task: each for each in episodes}
    _keep(
        copied,
        [
            as_model(by_task[order.task.id], order)
            for order in planned(copied).all_orders
            if order.model == "openai/some-model"
        ],
    )
    figures = stages.write_products(*where(copied))
    assert figures["episodes"] == (5 if scripts else 2)
    place, found = planned(copied).folder, _products(copied)
    records = [json.loads(line) for line in found["events.step.jsonl"].splitlines()]
    mine = [each for each in records if each["meta"]["model"] == "openai/some-model"]
    assert mine
    assert all("label" not in each for each in mine)
    assert ("evolve.yaml" in found) == ("events.labelled.jsonl" in found) == scripts
    if scripts:
        events = yaml.safe_load(found["evolve.yaml"])["events"]
        assert events == [str(place / "events.labelled.jsonl")]
        kept = [json.loads(line) for line in found["events.labelled.jsonl"].splitlines()]
        assert kept == [each for each in records if each not in mine]


# --- the command, where no server is needed


def _told(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["run", "--profile", "tiny", *arguments]) == 0
    return capsys.readouterr()


def test_a_dry_run_tells_the_corpus(
    copied: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copied)
    before = sorted(copied.rglob("*"))
    next(copied.rglob("memo-milk/*.episode.json")).write_text("{}")  # damaged
    document = json.loads(_told(capsys, "--dry-run", "--json").out)
    assert document["dry_run"] is True
    apart = ("models", "annotation", "stages")
    assert document["corpus"]["annotation"] is None
    assert document["corpus"]["stages"]["open"][0] == "collect"
    assert {key: value for key, value in document["corpus"].items() if key not in apart} == {
        "folder": str(copied / "artifacts" / "corpus" / "tiny"),
        "tasks": 2,
        "episodes": 3,
        "to_play": 1,
        "offices": 1,
        "runtime": "process",
    }
    assert [(each["model"], each["episodes"]) for each in document["corpus"]["models"]] == [
        ("scripted/careful", 1)
    ]
    text = _told(capsys, "--dry-run").out
    assert "3 over 2 tasks, 1 to play, 1 office (process)" in text
    assert "Nothing was written" in text
    assert sorted(copied.rglob("*")) == before


def test_a_dry_run_without_a_corpus_says_nothing_of_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny_project(tmp_path / "project", {"corpus": None})
    monkeypatch.chdir(folder)
    assert "corpus" not in json.loads(_told(capsys, "--dry-run", "--json").out)
    assert "episodes" not in _told(capsys, "--dry-run").out


def test_containers_without_an_engine_are_told_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny_project(tmp_path / "project", {"corpus.runtime": "docker"})
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    assert main(["run", "--profile", "tiny"]) == 2
    told = capsys.readouterr().err
    assert "tiny.yaml:" in told
    assert "corpus.runtime" in told
    assert "no container engine answers" in told
    assert "the runtime `process` needs none" in told
    assert not (folder / "artifacts").exists()


def test_the_shipped_profiles_collect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vepa.project.package_content", lambda: ROOT)
    demo, docker = (plan_corpus(Project(), name) for name in ("demo", "docker"))
    assert demo is not None
    assert docker is not None
    assert (demo.profile.runtime, docker.profile.runtime) == ("process", "docker")
    assert set(docker.orders) < set(demo.orders)
    assert len(docker.environments) == len(demo.environments) == 9
    assert len(demo.all_orders) >= 240
