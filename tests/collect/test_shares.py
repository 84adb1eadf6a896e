"""A corpus that several processes collect: what one process would play, each episode once."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tiny_corpus import planned, played, tiny_project, where, write_profile
from tiny_office import ROOT, write_environment

from vepa.bench.runs.board import Board
from vepa.collect.runs import sharing, stages
from vepa.collect.runs.products import content_sha256
from vepa.collect.settings import CollectSettings
from vepa.errors import RunError, SettingError
from vepa.llm.settings import ModelSettings, Rates
from vepa.services.places import Places
from vepa.services.runtimes import processes


@pytest.fixture(autouse=True)
def _bare(cache: Places, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No content of the package but the prompts: plans load fast."""
    content = tmp_path_factory.mktemp("content")
    shutil.copytree(ROOT / "prompts", content / "prompts")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("VEPA_ARTIFACTS", raising=False)
        patch.setattr("vepa.project.package_content", lambda: content)
        patch.chdir(content)
        yield


@contextmanager
def shared(folder: Path, workers: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """A collection that is held, and its board."""
    begun = stages.begin_corpus(*where(folder))["folder"]
    try:
        yield begun, sharing.share_out(begun, str(folder), workers)
    finally:
        stages.leave_corpus(begun)


def played_apart(begun: str, run: dict[str, Any], workers: int) -> list[dict[str, Any]]:
    """All shares, as workers do them; the rows of the tasks."""
    with ThreadPoolExecutor(workers) as threads:
        shares: list[Future[int]] = [
            threads.submit(sharing.collect_share, run["where"], run["token"], number)
            for number in range(workers)
        ]
    assert sum(share.result() for share in shares) == len(planned_tasks(run))
    return sharing.gather(begun, run["token"])


def planned_tasks(run: dict[str, Any]) -> list[str]:
    return list(planned(Path(run["where"][1])).orders)


def hash_of(folder: Path) -> str:
    plan = planned(folder)
    episodes = [plan.collection.kept(order) for order in plan.all_orders]
    return content_sha256([each for each in episodes if each is not None])


def at_work(cache: Places) -> set[processes.Marked]:
    """What runs in the cache; other tests may hold an office of their own there."""
    return {*processes.launchers(cache.root), *processes.leftovers(cache.root)}


def stamps(folder: Path) -> dict[str, int]:
    found = folder.rglob("*.episode.json")
    return {f"{path.parent.name}/{path.name}": path.stat().st_mtime_ns for path in found}


def test_shares_play_what_one_process_plays_and_one_goes_on_where_others_stopped(
    tmp_path: Path, cache: Places
) -> None:
    plain, apart = tiny_project(tmp_path / "plain", more=2), tiny_project(tmp_path / "a", more=2)
    others = at_work(cache)
    rows, _ = played(plain)
    with shared(apart, 2) as (begun, run):
        assert sharing.missing(begun) == 5
        found = played_apart(begun, run, 2)
        assert stages.end_corpus(begun) == {"played": 5, "kept": 0, "endings": {"answer": 5}}
    told = [{key: row[key] for key in row if key != "seconds"} for row in found]
    assert told == sorted(
        ({key: row[key] for key in row if key != "seconds"} for row in rows),
        key=lambda row: str(row["task"]),
    )
    assert hash_of(plain) == hash_of(apart)
    place = planned(apart).folder
    assert {path.name for path in place.iterdir()} == {".lock", "episodes"}
    before = stamps(apart)
    assert len(before) == 5
    next(place.rglob("memo-1/*.episode.json")).unlink()
    with shared(apart, 3) as (begun, run):
        played_apart(begun, run, 3)
        assert stages.end_corpus(begun)["played"] == 1
    new = {name for name, at in stamps(apart).items() if before[name] != at}
    assert new == {"memo-1/scripted-careful-0.episode.json"}
    assert hash_of(plain) == hash_of(apart)
    assert at_work(cache) <= others


def test_what_somebody_else_is_at_is_waited_for_and_not_played_twice(tmp_path: Path) -> None:
    folder = tiny_project(tmp_path)
    with shared(folder, 1) as (begun, run), ThreadPoolExecutor(1) as threads:
        board = Board(Path(begun), run["token"])
        with board.claim("memo-milk") as mine:
            assert mine
            share = threads.submit(sharing.collect_share, run["where"], run["token"], 0)
            while not board.done("memo-rent"):
                assert not share.done()
                time.sleep(0.02)
            assert (sharing.settled(begun, run["token"]), share.done()) == (1, False)
            assert {path.parent.name for path in folder.rglob("*.episode.json")} == {"memo-rent"}
        # Whoever was at it is dead: its lock is free.
        assert share.result() == 2
        sharing.gather(begun, run["token"])
        assert stages.end_corpus(begun)["played"] == 3


def test_a_service_that_fails_ends_it_and_the_reasons_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny_project(tmp_path, more=2)
    write_environment(folder, mode="refuses")  # its seed is not taken
    monkeypatch.setattr(sharing, "TOO_MANY", 2)
    with shared(folder, 1) as (begun, run):
        assert sharing.collect_share(run["where"], run["token"], 0) == 2
        sharing.gather(begun, run["token"])
        with pytest.raises(RunError) as caught:
            stages.end_corpus(begun)
    told = str(caught.value)
    assert told.startswith("5 of 5 episodes are missing\n  2 episodes failed in a row: ")
    assert "memo-0/scripted-careful/0: " in told
    assert "no memos today" in told


def test_a_worker_that_sees_another_folder_or_profile_plays_nothing(tmp_path: Path) -> None:
    folder = tiny_project(tmp_path)
    with shared(folder, 1) as (begun, run):
        profile, project, _ = run["where"]
        with pytest.raises(SettingError, match="does not see this folder as the run does"):
            sharing.collect_share((profile, project, str(tmp_path / "local")), run["token"], 0)
        assert not (tmp_path / "local").exists()
        write_profile(folder, {"corpus.collect.calls": 7})
        with pytest.raises(SettingError, match="would make something else"):
            sharing.collect_share(run["where"], run["token"], 0)
        sharing.withdraw(begun, run["token"])
        with pytest.raises(SettingError, match="does not see this folder"):
            sharing.collect_share(run["where"], run["token"], 0)
    assert list(folder.rglob("*.episode.json")) == []


def test_episodes_that_do_not_come_here_are_told(tmp_path: Path) -> None:
    folder = tiny_project(tmp_path)
    with shared(folder, 1) as (begun, run):
        board = Board(Path(begun), run["token"])
        board.put("memo-milk", {"row": {}, "played": 1, "kept": 0, "failures": [], "endings": {}})
        with pytest.raises(RunError, match="workers told of 1 episodes, and 0 are in"):
            sharing.gather(begun, run["token"])


def test_workers_that_leave_early_are_no_whole_corpus(tmp_path: Path) -> None:
    folder = tiny_project(tmp_path)
    with shared(folder, 1) as (begun, run):
        sharing.gather(begun, run["token"])
        with pytest.raises(RunError, match="the workers left before all tasks were settled"):
            stages.end_corpus(begun)


def test_an_error_of_a_task_ends_its_share(tmp_path: Path) -> None:
    folder, seen = tiny_project(tmp_path, more=2), threading.Event()

    @contextmanager
    def around() -> Iterator[None]:
        if seen.is_set():
            raise RunError("the server of the limits is gone")
        seen.set()
        yield

    with shared(folder, 1) as (begun, run):
        with pytest.raises(RunError, match="the server of the limits is gone"):
            sharing.collect_share(run["where"], run["token"], 0, around)
        assert sharing.settled(begun, run["token"]) == 1


def test_a_share_gets_its_part_of_offices_and_limits() -> None:
    settings = CollectSettings(
        models=["openai/a"], user="openai/b", offices=5,
        model_settings={"openai/a": ModelSettings(concurrency=6, rates=Rates(tokens=1000))},
    )  # fmt: skip
    part = sharing.shared_settings(settings, 2)
    assert part.offices == 2
    assert part.settings_of("openai/a").concurrency == 3
    assert part.settings_of("openai/a").rates.tokens == 500
    assert part.settings_of("openai/b").concurrency == ModelSettings().concurrency // 2
    assert sharing.shared_settings(settings, 9).offices == 1
    assert part.about("openai/a") == settings.about("openai/a"), "no other episode"
