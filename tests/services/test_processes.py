"""The client side: services that start, restart and stop, in one office or in several."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tiny_service import ask, gone, pids_of, running, spec, wait_for

from vepa.errors import InputError, RunError
from vepa.services.runtimes import processes
from vepa.services.runtimes.processes import (
    death,
    handle,
    launchers,
    log_tail,
    restart,
    start,
    status,
    stop,
)

pytestmark = pytest.mark.integration


@pytest.fixture
def snapshot(tmp_path):
    made = tmp_path / "snapshot"
    made.mkdir()
    (made / "note").write_text("seed")
    return made


class TestStart:
    def test_it_answers_and_all_of_it_stops(self, tmp_path):
        one = start(spec(tmp_path))
        pid, office, _ = ask(one.ports["main"])
        now = status(one.folder)
        assert (now.state, now.generation, now.process.pid) == ("running", 1, int(pid))
        assert (office, now.office, now.service) == ("alpha", "alpha", "tiny")
        assert death(one) is None
        stop(one)
        assert not pids_of(tmp_path)
        assert status(one.folder).state == "stopped"
        assert death(one) == "it was told to stop"
        stop(one)  # again: nothing to do, no error

    def test_no_zombie_and_no_descriptor_is_left(self, tmp_path):
        before = set(Path("/proc/self/fd").iterdir())
        one = start(spec(tmp_path))
        stop(one)
        with pytest.raises(ChildProcessError):
            os.waitpid(one.guard.pid, os.WNOHANG)
        assert set(Path("/proc/self/fd").iterdir()) == before

    def test_it_can_be_started_again_in_its_folder(self, tmp_path):
        for _ in range(2):
            with running(spec(tmp_path)) as one:
                assert status(one.folder).generation == 1
                ask(one.ports["main"])

    def test_not_twice_at_once(self, tmp_path):
        wanted = spec(tmp_path)
        with running(wanted) as one:
            with pytest.raises(InputError, match="'tiny' of office 'alpha' runs already"):
                start(wanted)
            assert status(one.folder).state == "running"
            ask(one.ports["main"])

    def test_another_process_can_go_on_with_it(self, tmp_path):
        one = start(spec(tmp_path))
        script = (
            "import sys; from pathlib import Path; "
            "from vepa.services.runtimes.processes import handle, stop; "
            "stop(handle(Path(sys.argv[1])))"
        )
        subprocess.run([sys.executable, "-c", script, one.folder], check=True)
        assert not pids_of(tmp_path)
        assert handle(one.folder) == one
        stop(one)

    def test_it_outlives_the_process_that_started_it(self, tmp_path):
        script = (
            "import sys, os; from pathlib import Path; sys.path.insert(0, sys.argv[2]); "
            "from tiny_service import spec, start; start(spec(Path(sys.argv[1]))); "
            "os.kill(os.getpid(), 9)"
        )
        support = Path(__file__).parents[1] / "support"
        subprocess.run([sys.executable, "-c", script, tmp_path, support], check=False)
        one = handle(tmp_path / "alpha" / "tiny")
        ask(one.ports["main"])
        assert death(one) is None
        stop(one)
        assert not pids_of(tmp_path)

    def test_nothing_is_known_of_a_folder_where_nothing_was_started(self, tmp_path):
        assert status(tmp_path) is None
        assert handle(tmp_path) is None
        assert log_tail(tmp_path) == ""


class TestBadInput:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"argv": []}, "'tiny' names no program"),
            ({"argv": ["no-such-program-anywhere"]}, "no-such-program-anywhere: No such program"),
            ({"argv": ["/etc/passwd"]}, "/etc/passwd: Permission denied"),
            ({"argv": ["true", "@PORT:web@"]}, "unknown port in the placeholder '@PORT:web@'"),
            ({"files": {"a": "x @PORT:web@ y"}}, "unknown port in the placeholder '@PORT:web@'"),
            ({"env": {"A": "@PORT:web@"}}, "unknown port in the placeholder '@PORT:web@'"),
            ({"ports": {"main": 70000}}, "70000 is no port"),
            ({"stop_signal": "KILL"}, "'KILL' stops no service"),
            ({"cwd": Path("/no/such/folder")}, "/no/such/folder: No such file or directory"),
            ({"files": {"/proc/x/y": "z"}}, "/proc/x: No such file or directory"),
        ],
    )
    def test_it_is_refused_and_nothing_runs(self, tmp_path, changes, message):
        with pytest.raises(InputError, match=message) as caught:
            start(spec(tmp_path, **changes))
        assert str(tmp_path) in str(caught.value)
        assert not pids_of(tmp_path)

    def test_a_port_in_use(self, tmp_path):
        with socket.create_server(("127.0.0.1", 0)) as other:
            number = other.getsockname()[1]
            with pytest.raises(InputError, match=f"port {number}: Address already in use") as e:
                start(spec(tmp_path, ports={"free": 0, "main": number}))
        assert "port 0" in e.value.remedy
        assert not pids_of(tmp_path)

    def test_a_port_that_another_service_holds(self, tmp_path):
        with running(spec(tmp_path, argv=["sleep", "60"])) as one:
            port = one.ports["main"]
            with pytest.raises(InputError, match=f"port {port}: another service holds it"):
                start(spec(tmp_path, service="other", ports={"main": port}))

    @pytest.mark.skipif(os.geteuid() != 0, reason="needs root: only root changes accounts")
    def test_an_unknown_account(self, tmp_path):
        with pytest.raises(InputError, match="no account 'no-such-user'"):
            start(spec(tmp_path, user="no-such-user"))
        assert not pids_of(tmp_path)

    def test_a_launcher_that_says_nothing(self, tmp_path, monkeypatch):
        monkeypatch.setattr(sys, "executable", "/bin/false")
        with pytest.raises(RunError, match="gave no answer"):
            start(spec(tmp_path))

    def test_a_launcher_that_hangs(self, tmp_path, monkeypatch):
        slow = tmp_path / "python"
        slow.write_text("#!/bin/sh\nexec sleep 60\n")
        slow.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(slow))
        monkeypatch.setattr(processes, "PATIENCE", 0.2)
        with pytest.raises(RunError, match="gave no answer"):
            start(spec(tmp_path))
        assert not pids_of(tmp_path)


class TestRestart:
    def test_the_data_is_the_snapshot_again_on_the_same_port(self, tmp_path, snapshot):
        with running(spec(tmp_path, "forks", snapshot=snapshot)) as one:
            data, port = one.folder / "data", one.ports["main"]
            inode = data.stat().st_ino
            (data / "note").write_text("planted")
            (data / "more").mkdir()
            old = pids_of(tmp_path)
            assert ask(port)[2] == "planted"
            now = restart(one)
            assert (now.state, now.generation, now.ports) == ("running", 2, one.ports)
            pid, _, note = ask(port)
            assert (int(pid), note) == (now.process.pid, "seed")
            assert not (data / "more").exists()
            assert data.stat().st_ino == inode
            assert pids_of(tmp_path) & old == {one.launcher.pid, one.guard.pid}

    def test_data_can_be_saved_while_the_service_is_down(self, tmp_path):
        with running(spec(tmp_path)) as one:
            (one.folder / "data" / "note").write_text("made")
            now = restart(one, restore=False, save=tmp_path / "saved")
            assert now.generation == 2
            assert (tmp_path / "saved" / "note").read_text() == "made"
            assert ask(one.ports["main"])[2] == "made"

    def test_a_service_that_died_comes_back(self, tmp_path, snapshot):
        with running(spec(tmp_path, snapshot=snapshot)) as one:
            ask(one.ports["main"])
            os.kill(status(one.folder).process.pid, signal.SIGKILL)
            wait_for(lambda: death(one))
            assert death(one) == "it was ended by SIGKILL"
            assert restart(one).state == "running"
            assert death(one) is None
            assert ask(one.ports["main"])[2] == "seed"

    def test_restarts_at_once_are_done_one_after_the_other(self, tmp_path, snapshot):
        with running(spec(tmp_path, snapshot=snapshot)) as one:
            with ThreadPoolExecutor(4) as pool:
                done = list(pool.map(lambda _: restart(one).generation, range(4)))
            assert sorted(done) == [2, 3, 4, 5]
            assert status(one.folder).generation == 5

    def test_without_a_snapshot_the_service_is_left_alone(self, tmp_path):
        with running(spec(tmp_path, snapshot=tmp_path / "absent")) as one:
            with pytest.raises(InputError, match="no snapshot to restore from"):
                restart(one)
            assert status(one.folder).generation == 1
            ask(one.ports["main"])

    def test_one_that_cannot_be_carried_out_is_told(self, tmp_path):
        target = tmp_path / "file"
        target.write_text("")
        with running(spec(tmp_path)) as one:
            with pytest.raises(RunError, match="was not restarted"):
                restart(one, restore=False, save=target)
            assert status(one.folder).state == "failed"
            assert restart(one, restore=False).state == "running"

    def test_a_stopped_one_is_told(self, tmp_path):
        one = start(spec(tmp_path))
        stop(one)
        with pytest.raises(RunError, match="is stopped"):
            restart(one, restore=False)

    def test_stop_in_the_middle_of_a_restart_ends_it(self, tmp_path, snapshot):
        one = start(spec(tmp_path, "deaf", snapshot=snapshot, grace=1))
        ask(one.ports["main"])
        failed: list[str] = []

        def again() -> None:
            try:
                restart(one)
            except RunError as error:
                failed.append(str(error))

        thread = threading.Thread(target=again)
        thread.start()
        wait_for(lambda: status(one.folder).state == "starting")
        stop(one)
        thread.join(10)
        assert failed
        assert not pids_of(tmp_path)


class TestSideBySide:
    def test_two_offices_of_nine_started_at_once(self, tmp_path):
        wanted = [
            spec(tmp_path, office=office, service=f"s{number}")
            for office in ("alpha", "beta")
            for number in range(9)
        ]
        with ThreadPoolExecutor(18) as pool:
            made = list(pool.map(start, wanted))
            assert len({one.ports["main"] for one in made}) == 18
            answers = list(pool.map(lambda one: ask(one.ports["main"], 20), made))
            assert [answer[1] for answer in answers] == [one.office for one in made]
            list(pool.map(stop, [one for one in made if one.office == "alpha"]))
            assert not pids_of(tmp_path / "alpha")
            assert all(death(one) is None for one in made if one.office == "beta")
            list(pool.map(stop, made))
        assert not pids_of(tmp_path)

    def test_launchers_are_found_by_cache_and_office(self, tmp_path):
        with running(spec(tmp_path / "one")) as one, running(spec(tmp_path / "two", office="beta")):
            found = launchers(tmp_path / "one")
            assert {each.process for each in found} == {one.launcher, one.guard}
            assert {each.folder for each in found} == {one.folder}
            assert launchers(tmp_path / "one", ["beta"]) == []
            assert {each.office for each in launchers(tmp_path)} == {"alpha", "beta"}


def test_a_launcher_is_small(tmp_path):
    """Nine launchers and nine guards have to fit beside nine services."""
    with running(spec(tmp_path)) as one:
        anonymous = 0
        for process in (one.launcher, one.guard):
            for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss_Anon:"):
                    anonymous += int(line.split()[1])
        assert anonymous < 10_000  # KiB; what is not shared with every other Python
    gone(tmp_path)
