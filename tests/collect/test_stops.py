"""Stops of all kinds: interrupts, full disks, offices that cannot be used, closed pools."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from model_servers import ModelServer, Say, Seen, Slow
from tiny_office import ROOT, cache_folder
from tiny_service import wait_for
from tiny_tasks import materials_of, write_project
from wire_collecting import Answers, Desk, opened, say, turn_of

from vepa.collect import collecting, playing
from vepa.collect.collecting import Collection
from vepa.collect.journal import NotKeptError
from vepa.collect.orders import orders_of
from vepa.collect.playing import Player
from vepa.collect.pool import OfficePool
from vepa.collect.settings import CollectSettings
from vepa.collect.stopping import StoppableModel, StoppedError
from vepa.errors import RunError, ServiceError
from vepa.llm import Ledger, Message, ModelRequest
from vepa.services import Office

ADD = ("memos_add", '{"text": "buy milk"}')
DONE = say("Added; the first says: water the plants.")
SETTINGS = CollectSettings(models=["made/up"], offices=1)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Answers:
    model = Answers(say("", ADD), DONE)
    monkeypatch.setattr(playing, "open_model", opened(up=model))
    return model


def _collect(tiny: Any, pool: OfficePool, folder: Path) -> Any:
    tasks, materials = tiny
    orders = orders_of(tasks, SETTINGS, materials)
    return Collection(folder).collect(orders, materials, SETTINGS, pool)


# --- interrupts


class Silent:
    """A model that answers after a while, and tells when it was asked."""

    name = "made/up"

    def __init__(self, seconds: float):
        self.asked = threading.Event()
        self._seconds = seconds

    def ask(self, request: ModelRequest) -> Any:
        self.asked.set()
        time.sleep(self._seconds)
        return Answers(DONE).ask(request)


def test_an_answer_on_its_way_is_waited_for_a_little(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ModelRequest(messages=(Message(role="user", content="u"),))
    for seconds, comes in ((0.4, True), (20.0, False)):
        monkeypatch.setattr("vepa.collect.stopping._GRACE", 1.0)
        stopping, model = threading.Event(), Silent(seconds)
        threading.Timer(0.1, stopping.set).start()
        began = time.monotonic()
        if comes:
            assert StoppableModel(model, stopping).ask(asked).message == DONE
        else:
            with pytest.raises(StoppedError):
                StoppableModel(model, stopping).ask(asked)
        assert time.monotonic() - began < 5
        with pytest.raises(StoppedError):
            StoppableModel(model, stopping).ask(asked)


def test_errors_come_through_the_thread() -> None:
    model = Answers(RunError("the ledger cannot be written"))
    asked = ModelRequest(messages=(Message(role="user", content="u"),))
    with pytest.raises(RunError, match="ledger"):
        StoppableModel(model, threading.Event()).ask(asked)


def _agent(seen: Seen) -> Any:
    turn = turn_of(seen)
    if turn < 2:
        return Say(calls=[("memos_list", {}), ("memos_add", {"text": "buy milk"})][turn : turn + 1])
    return Slow("Added; the first says: water the plants.", before=30)


@pytest.mark.slow  # tests/flows/test_corpus_flow.py interrupts `vepa run`
def test_an_interrupt_ends_the_command_at_once(
    tmp_path: Path, pool: OfficePool, keys: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 130, offices gone, nothing half; what was answered is not asked again."""
    project = write_project(tmp_path)
    out = project / "out"
    with ModelServer(_agent) as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.openai)
        with cache_folder() as cache:
            command = subprocess.Popen(
                [sys.executable, "-m", "vepa", "collect", "--model", "openai/gpt-4o-mini",
                 "--tasks", "memo-*", "--project", str(project), "--out", str(out)],
                cwd=ROOT, env={**os.environ, "VEPA_CACHE": str(cache.root)}, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            wait_for(lambda: server.requests == 6 or command.poll() is not None, 120)
            command.send_signal(signal.SIGINT)
            began = time.monotonic()
            _, told = command.communicate(timeout=60)
            assert command.returncode == 130, told
            assert time.monotonic() - began < 30
            assert list(cache.offices.iterdir()) == []
        assert list(out.rglob("*.episode.json")) == []
        server.play([Say("Added; the first says: water the plants.")])
        tasks, materials = materials_of(project)
        settings = CollectSettings(models=["openai/gpt-4o-mini"])
        orders = orders_of(tasks, settings, materials)
        assert Collection(out).collect(orders, materials, settings, pool).played == 2
    assert server.requests == 2  # the answers that never came, and nothing else
    assert list(out.rglob("*.journal")) == []


# --- disks


def test_a_full_disk_is_told_and_the_answer_kept(
    tiny: Any, pool: OfficePool, folder: Path, made: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(collecting, "write_atomic", full)
    with pytest.raises(NotKeptError, match="No space left on device"):
        _collect(tiny, pool, folder)
    assert list(folder.rglob("*.episode.json")) == []
    monkeypatch.undo()
    again = Answers(BaseException("nothing is asked again"))
    monkeypatch.setattr(playing, "open_model", opened(up=again))
    tasks, materials = tiny
    orders = orders_of(tasks[:1], SETTINGS, materials)
    assert Collection(folder).collect(orders, materials, SETTINGS, pool).played == 1
    assert again.asked == []


def test_a_ledger_that_cannot_be_written_asks_nothing_more(
    tiny: Any, pool: OfficePool, folder: Path, keys: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It used to count as a failing service: the episode was paid for three times."""

    def full(*_: object, **__: object) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    tasks, materials = tiny
    with ModelServer([Say("Added.")]) as server:
        desk = Desk(folder, tasks, materials, pool, server)
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "_append", full)
            with pytest.raises(NotKeptError, match="ledger"):
                desk.collect()
        assert server.requests == 1


# --- offices


def test_an_office_that_was_handed_in_stays_in_its_place(
    tiny: Any, office: Office, pool: OfficePool, folder: Path, made: Answers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """An empty office used to be started in its place."""

    def broken(*_: object, **__: object) -> Any:
        raise RunError("memos cannot be reset")

    with monkeypatch.context() as patch:
        patch.setattr(Office, "reset", broken)
        result = _collect(tiny, pool, folder)
    assert [each.reason.partition(": ")[2] for each in result.failures] == [
        f"office {office.id} cannot be reset; start it again"
    ] * 2
    with pool.lent() as lent:
        assert lent.given is office
    assert _collect(tiny, pool, folder).whole


def test_an_office_that_does_not_start_is_a_failure_of_its_orders(
    tiny: Any, folder: Path, made: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(*_: object, **__: object) -> Any:
        raise ServiceError("memos does not come up")

    monkeypatch.setattr(Office, "start", start)
    with OfficePool([], tiny[1].world_file, 1) as pool:
        result = _collect(tiny, pool, folder)
    assert ["memos does not come up" in each.reason for each in result.failures] == [True, True]


class Counted:
    """In the place of an office."""

    running: list[Counted]

    def __init__(self, running: list[Counted]):
        self.id = f"counted-{len(running)}"
        self.running = running
        running.append(self)

    def stop(self) -> None:
        self.running.remove(self)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Counted]]:
    running: list[Counted] = []
    monkeypatch.setattr(Office, "start", lambda *_, **__: Counted(running))
    yield running
    assert running == []


def test_a_closed_pool_starts_nothing(tiny: Any, counted: list[Counted]) -> None:
    pool = OfficePool([], tiny[1].world_file, 2)
    pool.close()
    with pool.lent() as lent, pytest.raises(RunError, match="closed"):
        _ = lent.office


def test_an_office_that_comes_up_after_the_end_is_stopped(
    tiny: Any, counted: list[Counted], monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = OfficePool([], tiny[1].world_file, 1)

    def late(*_: object, **__: object) -> Any:
        pool.close()
        return Counted(counted)

    monkeypatch.setattr(Office, "start", late)
    with pool.lent() as lent, pytest.raises(RunError, match="closed"):
        _ = lent.office


def test_a_replacement_that_fails_leaves_a_place_for_another(
    tiny: Any, counted: list[Counted], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> Any:
        raise RunError("no room")

    with OfficePool([], tiny[1].world_file, 1) as pool:
        with pool.lent() as lent:
            first = lent.office
            with monkeypatch.context() as patch:
                patch.setattr(Office, "start", fails)
                with pytest.raises(RunError, match="no room"):
                    lent.replace()
            assert first not in counted
        with pool.lent() as lent:
            assert lent.office in counted


# --- one folder


def test_a_journal_that_a_kill_left_beside_its_episode_is_removed(
    tiny: Any, pool: OfficePool, folder: Path, made: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Player, "settle", lambda *_: None)
        assert _collect(tiny, pool, folder).played == 2
    assert len(list(folder.rglob("*.journal"))) == 2
    assert _collect(tiny, pool, folder).kept == 2
    assert list(folder.rglob("*.journal")) == []


def test_an_episode_of_another_version_is_played_again(
    tiny: Any, pool: OfficePool, folder: Path, made: Answers
) -> None:
    _collect(tiny, pool, folder)
    for file in folder.rglob("*.episode.json"):
        text = file.read_text()
        file.write_text(text.replace('"schema_version":1', '"schema_version":2', 1))
    assert _collect(tiny, pool, folder).played == 2


def test_two_threads_on_one_folder(
    tiny: Any, pool: OfficePool, folder: Path, made: Answers
) -> None:
    done: list[Any] = []

    def work() -> None:
        try:
            done.append(_collect(tiny, pool, folder))
        except Exception as error:  # noqa: BLE001 - looked at below
            done.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    good = [each for each in done if not isinstance(each, Exception)]
    assert good
    assert sum(each.played for each in good) == 2
    assert {str(each).partition(": ")[2].splitlines()[0] for each in done if each not in good} <= {
        "another process collects into this folder"
    }
