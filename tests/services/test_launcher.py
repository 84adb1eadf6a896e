"""The launcher: ports that are held, a service that ends as a whole, whoever is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tiny_service import ask, gone, pids_of, raw_status, running, spec, wait_for

from vepa.services.runtimes import launcher
from vepa.services.runtimes.launcher import Refused, fill, hold, started
from vepa.services.runtimes.processes import death, log_tail, start, status, stop

pytestmark = pytest.mark.integration


def bound(port: int, *, reuse: bool, address: str = "127.0.0.1") -> socket.socket:
    taken = socket.socket()
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
    taken.bind((address, port))
    return taken


@pytest.fixture
def held():
    sockets = hold(0)
    yield sockets[0].getsockname()[1]
    for one in sockets:
        one.close()


class TestHold:
    def test_a_server_that_reuses_addresses_can_listen_again_and_again(self, held):
        for _ in range(3):
            with bound(held, reuse=True) as server:
                server.listen()
                with socket.create_connection(("127.0.0.1", held)) as client:
                    server.accept()[0].close()
                    assert client.recv(1) == b""

    def test_nobody_else_gets_it(self, held):
        with pytest.raises(OSError, match="in use"):
            bound(held, reuse=False)
        with pytest.raises(Refused, match="another service holds it"):
            hold(held)

    def test_nobody_listens_before_the_service_does(self, held):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", held), 1)

    def test_a_second_server_is_refused_while_one_listens(self, held):
        with bound(held, reuse=True) as server:
            server.listen()
            with pytest.raises(OSError, match="in use"):
                bound(held, reuse=True)

    def test_a_port_that_somebody_has_is_refused(self):
        with bound(0, reuse=True) as other:
            other.listen()
            with pytest.raises(Refused, match=r"^port \d+: Address already in use"):
                hold(other.getsockname()[1])

    def test_a_fixed_port_is_free_again_at_once(self):
        with bound(0, reuse=True) as server:
            port = server.getsockname()[1]
            server.listen()
            with socket.create_connection(("127.0.0.1", port)) as client:
                server.accept()[0].close()  # closed here first: the port lingers
                client.recv(1)
        with pytest.raises(OSError, match="in use"):
            bound(port, reuse=False)
        for one in hold(port):
            one.close()

    @pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a network of its own")
    def test_the_kernel_gives_it_to_nobody_who_asks_for_any_port(self):
        """In a network with four ports, three of them held, only the fourth is ever given."""
        script = Path(__file__).with_name("four_ports.py")
        done = subprocess.run(
            [sys.executable, script], capture_output=True, text=True, check=False, timeout=60
        )
        if done.returncode == 77:
            pytest.skip(f"no network of its own here: {done.stderr}")
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == ["True"] * 4


def test_numbers_go_into_texts():
    assert fill("a @PORT:x@ @PORT:xy@ @PORT:z@", {"x": 1, "xy": 2}) == "a 1 2 @PORT:z@"


def test_a_zombie_is_not_alive():
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert started(child.pid) is None
    child.wait()
    assert started(os.getpid()) > 0


class TestKill:
    @pytest.mark.parametrize("mode", ["plain", "deaf", "forks", "scatters"])
    @pytest.mark.parametrize("victim", ["launcher", "guard", "service"])
    def test_kill_9_of_any_one_process_leaves_nothing(self, tmp_path, mode, victim):
        handle = start(spec(tmp_path, mode))
        ask(handle.ports["main"])
        pids = {
            "launcher": handle.launcher.pid,
            "guard": handle.guard.pid,
            "service": status(handle.folder).process.pid,
        }
        wanted = 5 if mode in ("forks", "scatters") else 3
        wait_for(lambda: len(pids_of(tmp_path)) == wanted)
        os.kill(pids[victim], signal.SIGKILL)
        if victim == "service":
            wait_for(lambda: status(handle.folder).state == "failed")
            wait_for(lambda: pids_of(tmp_path) == {pids["launcher"], pids["guard"]})
            assert status(handle.folder).signal == "SIGKILL"
        else:
            gone(tmp_path)
            assert status(handle.folder).state == {"launcher": "failed", "guard": "stopped"}[victim]
        stop(handle)
        gone(tmp_path)

    def test_kill_9_of_the_group_of_the_launcher_leaves_nothing(self, tmp_path):
        handle = start(spec(tmp_path, "forks"))
        os.killpg(os.getpgid(handle.launcher.pid), signal.SIGKILL)
        gone(tmp_path)
        stop(handle)

    def test_kill_9_of_the_owner_stops_the_service(self, tmp_path):
        owner = subprocess.Popen(["sleep", "60"])
        handle = start(spec(tmp_path, "forks", owner=owner.pid))
        ask(handle.ports["main"])
        owner.kill()
        owner.wait()
        gone(tmp_path)
        assert status(handle.folder).reason == "its owner is gone"
        stop(handle)

    def test_an_owner_that_is_gone_already_starts_nothing(self, tmp_path):
        child = subprocess.Popen(["true"])
        child.wait()
        with pytest.raises(Exception, match="which was to own the service, is gone"):
            start(spec(tmp_path, owner=child.pid))
        gone(tmp_path)

    def test_the_service_ends_when_its_folder_goes(self, tmp_path, monkeypatch):
        handle = start(spec(tmp_path))
        for path in sorted(handle.folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        handle.folder.rmdir()
        wait_for(lambda: not pids_of(tmp_path), launcher.LOOK + 3)
        assert death(handle) == "its folder is gone"
        stop(handle)


class TestLife:
    def test_a_service_that_ignores_term_is_killed_after_its_time_of_grace(self, tmp_path):
        handle = start(spec(tmp_path, "deaf", grace=0.3))
        ask(handle.ports["main"])
        before = time.monotonic()
        stop(handle)
        assert 0.25 < time.monotonic() - before < 3
        assert not pids_of(tmp_path)
        assert status(handle.folder).signal == "SIGKILL"
        assert "no end within 0.3 s: killed" in log_tail(handle.folder)

    def test_a_service_that_dies_is_told_and_not_started_again(self, tmp_path):
        with running(spec(tmp_path, "quits")) as handle:
            wait_for(lambda: status(handle.folder).state == "failed")
            now = status(handle.folder)
            assert (now.exit_code, now.signal, now.generation) == (7, None, 1)
            assert death(handle) == "it exited with code 7"
            assert "no configuration found" in log_tail(handle.folder)
            with pytest.raises(OSError, match="in use"):  # still held, for a restart
                bound(handle.ports["main"], reuse=False)
            time.sleep(0.2)
            assert status(handle.folder).generation == 1

    def test_the_stop_signal_is_the_one_of_the_spec(self, tmp_path):
        with running(spec(tmp_path, "deaf", stop_signal="INT", grace=5)) as handle:
            ask(handle.ports["main"])
        assert status(handle.folder).signal == "SIGINT"

    def test_the_environment_holds_what_is_meant_and_nothing_else(self, tmp_path, monkeypatch):
        monkeypatch.setenv("A_PRIVATE_KEY", "1")
        wanted = spec(tmp_path, env={"EXTRA": "x@PORT:main@"})
        with running(wanted) as handle:
            pid = status(handle.folder).process.pid
            raw = Path(f"/proc/{pid}/environ").read_text().rstrip("\0").split("\0")
            got = dict(pair.split("=", 1) for pair in raw)
            assert set(got) == {
                "PATH", "LANG", "TZ", "HOME", "TMPDIR", "EXTRA",
                "VEPA_OFFICE", "VEPA_SERVICE", "VEPA_FOLDER", "VEPA_LAUNCHER",
            }  # fmt: skip
            assert got["EXTRA"] == f"x{handle.ports['main']}"
            assert got["VEPA_LAUNCHER"] == f"{handle.launcher.pid}:{handle.launcher.start}"
            assert os.path.realpath(f"/proc/{pid}/cwd") == str(handle.folder / "data")

    def test_it_inherits_no_file_and_no_ignored_signal(self, tmp_path):
        with (tmp_path / "open").open("w") as stream:
            os.set_inheritable(stream.fileno(), True)
            wanted = spec(tmp_path, argv=["sleep", "60"])
            with running(wanted) as handle:
                pid = status(handle.folder).process.pid
                fds = Path(f"/proc/{pid}/fd")  # the loader has its libraries open for a moment
                wait_for(lambda: {entry.name for entry in fds.iterdir()} == set("012"))
                lines = Path(f"/proc/{pid}/status").read_text().splitlines()
                masks = dict(line.split(":\t") for line in lines if line.startswith("Sig"))
                reserved = 0b11 << 31  # 32 and 33 are the C library's own
                assert int(masks["SigIgn"], 16) & ~reserved == 0
                assert int(masks["SigBlk"], 16) == 0

    def test_files_are_written_before_every_start(self, tmp_path):
        folder = tmp_path / "alpha" / "tiny"
        files = {"etc/@PORT:main@.conf": "port = @PORT:main@"}
        argv = ["sh", "-c", f"cat {folder}/files/etc/@PORT:main@.conf; exec sleep 60"]
        with running(spec(tmp_path, files=files, argv=argv)) as handle:
            port = handle.ports["main"]
            path = folder / "files" / "etc" / f"{port}.conf"
            assert path.read_text() == f"port = {port}"
            wait_for(lambda: f"port = {port}" in log_tail(folder))
            assert path.stat().st_mode & 0o777 == 0o600

    def test_the_log_is_bounded(self, tmp_path):
        lines = "i=0; while [ $i -lt 3000 ]; do echo line-$i; i=$((i+1)); done"
        argv = ["sh", "-c", f"{lines}; sleep 2.5; echo last; exec sleep 60"]
        with running(spec(tmp_path, argv=argv, log_limit=10_000)) as handle:
            log = handle.folder / "service.log"
            wait_for(lambda: "last" in log.read_text(), 8)
            assert "line" not in log.read_text()
            old = (handle.folder / "service.log.1").read_bytes()
            assert len(old) == 10_000
            assert old.endswith(b"line-2999\n")

    def test_the_status_file_is_never_half_written(self, tmp_path):
        with running(spec(tmp_path)) as handle:
            limit = time.monotonic() + 0.5
            os.kill(status(handle.folder).process.pid, signal.SIGKILL)
            while time.monotonic() < limit:
                assert raw_status(handle.folder)["office"] == "alpha"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it drops to another account")
class TestAccount:
    @pytest.fixture
    def place(self, tmp_path_factory):
        import shutil
        import tempfile

        made = Path(tempfile.mkdtemp())
        made.chmod(0o711)
        yield made
        shutil.rmtree(made)

    def test_the_service_is_dropped_and_its_data_private(self, place):
        argv = ["sh", "-c", "id -u; id -G; touch x; exec sleep 60"]
        with running(spec(place, argv=argv, user="nobody", files={"a": "b"})) as handle:
            made = wait_for(lambda: next(iter((handle.folder / "data").glob("x")), None))
            log = log_tail(handle.folder).splitlines()
            assert log[-2:] == ["65534", "65534"]
            assert made.stat().st_uid == 65534
            for name in ("data", "files", "tmp"):
                held = (handle.folder / name).stat()
                assert (held.st_uid, held.st_mode & 0o777) == (65534, 0o700)
            for name in ("spec.json", "status.json", "service.log"):
                held = (handle.folder / name).stat()
                assert (held.st_uid, held.st_mode & 0o077) == (0, 0)

    def test_kill_9_of_the_launcher_reaches_another_account(self, place):
        handle = start(spec(place, argv=["sleep", "60"], user="nobody"))
        os.kill(handle.launcher.pid, signal.SIGKILL)
        gone(place)
        stop(handle)

    def test_links_that_a_service_left_do_not_lead_root_astray(self, place):
        target = place / "target"
        target.mkdir(mode=0o755)
        argv = ["sh", "-c", f"rm -rf ../files/*; ln -s {target} ../files/etc; exec sleep 60"]
        wanted = spec(place, argv=argv, user="nobody", files={"etc/conf": "secret"})
        with running(wanted) as handle:
            wait_for(lambda: (handle.folder / "files" / "etc").is_symlink())
            from vepa.errors import RunError
            from vepa.services.runtimes.processes import restart

            with pytest.raises(RunError, match="Permission denied"):
                restart(handle, restore=False)
        assert list(target.iterdir()) == []
