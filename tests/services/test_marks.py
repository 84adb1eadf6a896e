"""After a crash: what is left of a service is found and stopped, and nothing else is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_service import ask, pids_of, running, spec, wait_for

from vepa.errors import RunError
from vepa.services.runtimes.processes import (
    Process,
    alive,
    death,
    handle,
    leftovers,
    restart,
    start,
    started,
    status,
    stop,
    sweep,
)

pytestmark = pytest.mark.integration


class TestLeftovers:
    def crash(self, one) -> set[int]:
        """Kill launcher and guard at once, so that nobody cleans up; what is left."""
        os.kill(one.guard.pid, signal.SIGSTOP)
        os.kill(one.launcher.pid, signal.SIGKILL)
        os.kill(one.guard.pid, signal.SIGKILL)
        wait_for(lambda: not alive(one.launcher) and not alive(one.guard))
        main = status(one.folder)
        assert main.state == "failed"
        time.sleep(0.05)
        return pids_of(one.folder)

    @pytest.mark.parametrize("mode", ["forks", "scatters"])
    def test_they_are_found_and_stopped(self, tmp_path, mode):
        with running(spec(tmp_path, mode, office="beta")) as other:
            one = start(spec(tmp_path, mode))
            ask(one.ports["main"])
            ask(other.ports["main"])
            wait_for(lambda: len(list((one.folder / "data").glob("worker-*"))) == 2)
            left = self.crash(one)
            assert len(left) == 2  # the kernel killed the main process, nobody its workers
            assert {each.process.pid for each in leftovers(tmp_path)} == left
            assert leftovers(tmp_path, ["beta"]) == leftovers(tmp_path / "beta") == []
            assert sweep(tmp_path, ["beta"]) == []
            swept = sweep(tmp_path, ["alpha"], grace=0.2)
            assert {each.process.pid for each in swept} == left
            assert {(each.office, each.service) for each in swept} == {("alpha", "tiny")}
            assert not pids_of(one.folder)
            assert death(other) is None
            stop(one)

    def test_the_next_start_works(self, tmp_path):
        one = start(spec(tmp_path, "forks"))
        ask(one.ports["main"])
        self.crash(one)
        assert status(one.folder).reason == "its launcher was killed"
        sweep(tmp_path, grace=0.1)
        with running(spec(tmp_path, ports=one.ports)) as again:
            assert again.ports == one.ports
            ask(again.ports["main"])
        stop(one)

    def test_one_that_hides_its_environment_is_known_by_its_log(self, tmp_path):
        script = (
            "import os, subprocess, time; "
            "subprocess.Popen(['sleep', '61'], env={}); subprocess.Popen(['sleep', '62'], env={}, "
            "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); "
            "open('ready', 'w').close(); time.sleep(60)"
        )
        one = start(spec(tmp_path, argv=[sys.executable, "-c", script]))
        wait_for((one.folder / "data" / "ready").exists)
        session = status(one.folder).process.pid
        assert self.crash(one) == set()
        hidden = _session(session)
        assert len(hidden) == 2
        swept = sweep(tmp_path, grace=1)
        # The one that writes elsewhere carries no mark at all: it is not ours to kill.
        assert [each.command for each in swept] == ["sleep 61"]
        rest = _session(session)
        assert len(rest) == 1
        os.kill(rest.pop(), signal.SIGKILL)
        stop(one)

    def test_nothing_without_our_marks_is_touched(self, tmp_path):
        marks = [
            {"VEPA_OFFICE": "alpha", "VEPA_FOLDER": str(tmp_path / "alpha" / "tiny")},
            {"VEPA_LAUNCHER": "1:1", "VEPA_OFFICE": "alpha", "VEPA_FOLDER": "/elsewhere"},
            {"VEPA_LAUNCHER": "1:1", "VEPA_OFFICE": "alpha", "VEPA_FOLDER": f"{tmp_path}-not"},
            {},
        ]
        others = [subprocess.Popen(["sleep", "60"], env=mark) for mark in marks]
        try:
            assert sweep(tmp_path) == []
            assert all(other.poll() is None for other in others)
        finally:
            for other in others:
                other.kill()
                other.wait()

    def test_a_live_service_is_no_leftover(self, tmp_path):
        with running(spec(tmp_path, "forks")) as one:
            ask(one.ports["main"])
            assert sweep(tmp_path) == []
            assert death(one) is None


class TestProcess:
    def test_a_number_that_is_used_again_is_another_process(self):
        mine = Process(os.getpid(), started(os.getpid()))
        assert alive(mine)
        assert not alive(replace(mine, start=mine.start - 1))

    def test_a_record_of_another_process_is_never_killed(self, tmp_path):
        """The files of a crash, read after its numbers were given to somebody else."""
        bystander = subprocess.Popen(["sleep", "60"])
        one = start(spec(tmp_path))
        stop(one)
        path = one.folder / "status.json"
        raw = json.loads(path.read_text())
        for name in ("launcher", "guard", "process"):
            raw[name] = {"pid": bystander.pid, "start": started(bystander.pid) - 1}
        path.write_text(json.dumps(raw | {"state": "running"}))
        try:
            assert death(handle(one.folder)) == "its launcher was killed"
            stop(handle(one.folder))
            assert sweep(tmp_path) == []
            with pytest.raises(RunError):
                restart(handle(one.folder), restore=False)
            assert bystander.poll() is None
        finally:
            bystander.kill()
            bystander.wait()


def _session(number: int) -> set[int]:
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.getsid(int(entry.name)) == number and started(int(entry.name)):
                    found.add(int(entry.name))
            except ProcessLookupError:
                continue
    return found
