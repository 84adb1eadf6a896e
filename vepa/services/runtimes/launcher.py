"""Keeps one service of one office: holds its ports, starts it, stops all of it, restarts it.

A script of its own, `python -I -S launcher.py SPEC.json`, one for each service, on a few light
modules of the standard library (there are nine of them in every office). It runs as two processes,
so that no single kill -9 leaves a part of the service behind::

    guard         waits; when the launcher is gone, it kills whatever the launcher has left
    └── launcher  ports, status file, signals, log, owner
        └── service and its descendants (killed by the kernel when the launcher dies)

Signals: TERM or INT stop the service and end the launcher, USR1 carries out `request.json`
(stop, save or restore the data, start again on the same ports). A service that dies by itself is
recorded as `failed` and never started again unasked: the launcher stays and holds the ports until
it is told to stop or to restart. One that could not be started at all ends the launcher.

`vepa.services.runtimes.processes` is the client: it writes the spec and reads the status file.
"""

# No pathlib: it would cost each of these processes a megabyte.
# ruff: noqa: PTH100, PTH102, PTH103, PTH106, PTH108, PTH110, PTH112, PTH118, PTH120, PTH208

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

SPEC, STATUS, REQUEST, LOG = "spec.json", "status.json", "request.json", "service.log"
#: Folders of a service that its own user writes to: the data, rendered files, temporary files.
DATA, FILES, TEMPORARY = "data", "files", "tmp"
#: Seconds between two looks at the size of the log.
LOOK = 2.0

_PDEATHSIG, _SUBREAPER, _NO_NEW_PRIVILEGES = 1, 36, 38
_libc = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):  # noqa: N818 - what a launcher answers, no error of the library
    """The service cannot be started; `kind` tells the client what to say about it."""

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind = kind


def started(pid: int) -> int | None:
    """When a process began, in clock ticks since boot; None when it is dead or a zombie.

    With the number this names a process for good: numbers are used again, moments are not.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            fields = stream.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def hold(port: int) -> list[socket.socket]:
    """Take a loopback port (0: any free one) so that only a server that is meant to can listen.

    Bound without SO_REUSEADDR, the port must be entirely free. Set afterwards, the option lets a
    server (which sets it too) bind the same port, while the kernel hands it to nobody who asks for
    any port. The second socket is a lock among launchers, for the one case below.

    Raises
    ------
    Refused
        When the port is in use.
    """
    for _ in range(100):
        holder, lock = socket.socket(), socket.socket(socket.AF_UNIX)
        try:
            _bind(holder, port)
        except OSError as error:
            raise Refused("port", f"port {port}: {error.strerror}") from None
        try:
            lock.bind(f"\0vepa-port-{holder.getsockname()[1]}")
        except OSError:  # a launcher holds it; or somebody uses the name: another port, then
            if port:
                raise Refused("port", f"port {port}: another service holds it") from None
            continue
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return [holder, lock]
    raise Refused("port", "no port is free")


def _bind(holder: socket.socket, port: int) -> None:
    try:
        holder.bind(("127.0.0.1", port))
    except OSError:
        if port == 0:
            raise
        # Connections that ended less than a minute ago keep a fixed port busy for everybody but a
        # server. This passes them by; a listener still refuses it, another launcher's lock too.
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", port))


def fill(text: str, ports: dict[str, int]) -> str:
    """Put the numbers of the ports into a text: `@PORT:http@`."""
    for name, number in ports.items():
        text = text.replace(f"@PORT:{name}@", str(number))
    return text


def end_children() -> None:
    """Kill and reap every descendant; as a subreaper, orphans of orphans come here too."""
    limit = time.monotonic() + 10
    while time.monotonic() < limit:
        rest = _children()
        for pid in rest:
            os.kill(pid, signal.SIGKILL)
        for pid in rest:
            os.waitpid(pid, 0)
        if not rest:
            return


def _children() -> list[int]:
    me, found = os.getpid(), []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as stream:
                    fields = stream.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == me:
                found.append(int(name))
    return found


class Launcher:
    """One service while it is kept.

    Parameters
    ----------
    spec
        What `processes.start` wrote.
    """

    def __init__(self, spec: dict[str, Any]):
        self.spec = spec
        self.folder: str = spec["folder"]
        self.ports: dict[str, int] = {}
        self.held: list[socket.socket] = []
        self.pid = 0  # of the service, while it is not reaped
        self.code: int | None = None  # how it ended; negative: by which signal
        self.ending = ""  # why the launcher is to end
        self.asked = False  # a request is waiting
        self.state: dict[str, Any] = {
            "office": spec["office"],
            "service": spec["service"],
            "launcher": {"pid": os.getpid(), "start": started(os.getpid())},
            "guard": {"pid": os.getppid(), "start": started(os.getppid())},
            "generation": 0,
            "request": "",
        }
        self.log = os.open(self._path(LOG), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(self.log, 2)
        self.account = _account(spec["user"])
        self.owner = _owner(spec["owner"])
        self.bell = _listen()

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def change(self, state: str, reason: str = "") -> None:
        """Write the status file, as a whole."""
        code = self.code
        self.state |= {
            "state": state,
            "reason": reason,
            "ports": self.ports,
            "process": {"pid": self.pid, "start": started(self.pid)} if self.pid else None,
            "exit_code": code if code is not None and code >= 0 else None,
            "signal": signal.Signals(-code).name if code is not None and code < 0 else None,
        }
        target = self._path(STATUS)
        try:
            with open(target + ".part", "w", encoding="utf-8") as stream:
                json.dump(self.state, stream)
            os.replace(target + ".part", target)
        except FileNotFoundError:
            self.ending = "its folder is gone"

    # ---- life

    def begin(self) -> None:
        """Hold the ports and start the service for the first time."""
        for name, number in self.spec["ports"].items():
            self.held += hold(number)
            self.ports[name] = self.held[-2].getsockname()[1]
        self.change("starting")
        self.start()

    def run(self) -> None:
        """Keep the service until there is a reason to end."""
        while not self.ending:
            self.wait(LOOK)
            if self.pid == 0 and self.state["state"] == "running":
                end_children()
                self.change("failed", "it " + _end(self.code or 0))
            if self.asked and not self.ending:
                self.carry_out()
            self.tend()
        self.stop()
        self.change("stopped", self.ending)

    def wait(self, seconds: float) -> None:
        """Sleep until a signal, the owner's death or the time; note what happened."""
        poll = select.poll()
        for fd in (self.bell, self.owner):
            if fd is not None:
                poll.register(fd, select.POLLIN)
        ready = {fd for fd, _ in poll.poll(seconds * 1000)}
        if self.owner in ready:
            self.ending, self.owner = "its owner is gone", None
        if self.bell in ready:
            rung = os.read(self.bell, 4096)
            self.asked = self.asked or signal.SIGUSR1 in rung
            if signal.SIGTERM in rung or signal.SIGINT in rung:
                self.ending = self.ending or "it was told to stop"
        self.reap()

    def reap(self) -> None:
        """Collect the dead. With the service its whole process group ends."""
        while True:
            try:
                dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if dead is None:
                return
            if dead.si_pid == self.pid:  # not reaped yet, so that its number is still the group's
                os.killpg(self.pid, signal.SIGKILL)
                self.pid = 0
                self.code = os.waitstatus_to_exitcode(os.waitpid(dead.si_pid, 0)[1])
            else:
                os.waitpid(dead.si_pid, 0)

    def tend(self) -> None:
        """Bound the log; end when somebody has removed the folder."""
        if not os.path.exists(self._path(STATUS)):
            self.ending = self.ending or "its folder is gone"
        limit, size = self.spec["log_limit"], os.fstat(self.log).st_size
        if size <= limit:
            return
        # The service keeps its file open, so that the content moves and not the file.
        with open(self._path(LOG), "rb") as old, open(self._path(LOG + ".1"), "wb") as kept:
            old.seek(max(0, size - limit))
            while block := old.read(1 << 20):
                kept.write(block)
        os.ftruncate(self.log, 0)

    def note(self, text: str) -> None:
        os.write(self.log, f"--- vepa: {time.strftime('%H:%M:%S')} {text}\n".encode())

    # ---- service

    def start(self) -> None:
        """Start the service; returns once its program runs.

        Raises
        ------
        Refused
            When it cannot be started; nothing of it is left then.
        """
        for name in (DATA, FILES, TEMPORARY):
            self._folder(self.spec["data"] if name == DATA else self._path(name))
        self.note(f"start {self.state['generation'] + 1}, ports {self.ports}")
        self.code = None
        reading, writing = os.pipe()
        launcher, self.pid = os.getpid(), os.fork()
        if self.pid == 0:
            self._become(launcher, writing)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as stream:
            fault = stream.read()  # ends when exec closes the pipe
        if fault:
            os.waitpid(self.pid, 0)
            self.pid = 0
            raise Refused("start", fault)
        self.state["generation"] += 1
        self.change("running")

    def _folder(self, path: str) -> None:
        if not os.path.isdir(path):
            os.mkdir(path, 0o700)
            if self.account:
                os.chown(path, self.account[0], self.account[1])

    def _become(self, launcher: int, fault: int) -> None:
        """In the child: turn into the service."""
        try:
            os.setsid()
            signal.set_wakeup_fd(-1)
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_DFL)
            os.dup2(self.log, 1)
            os.dup2(self.log, 2)
            if self.account:
                os.setgroups([])
                os.setgid(self.account[1])
                os.setuid(self.account[0])
            # After the change of user, which would clear it; and no set-uid program may clear it.
            _prctl(_NO_NEW_PRIVILEGES, 1)
            _prctl(_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != launcher:  # it died before the kernel was told
                os._exit(1)
            os.umask(0o077)
            self._render()
            os.chdir(self.spec["cwd"] or self.spec["data"])
            argv = [fill(part, self.ports) for part in self.spec["argv"]]
            environment = self._environment(launcher)
            os.execve(_program(argv[0], environment["PATH"]), argv, environment)  # noqa: S606
        except OSError as error:
            os.write(fault, f"{error.filename or 'start'}: {error.strerror}".encode())
        except BaseException as error:  # noqa: BLE001 - a child must never return into the loop
            os.write(fault, repr(error).encode())
        os._exit(1)

    def _render(self) -> None:
        """Write the files of the spec, as the service's own user: it may have left links behind."""
        _clear(self._path(TEMPORARY))
        for name, text in self.spec["files"].items():
            path = os.path.join(self._path(FILES), fill(name, self.ports))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path + ".part", "w", encoding="utf-8") as stream:
                stream.write(fill(text, self.ports))
            os.replace(path + ".part", path)

    def _environment(self, launcher: int) -> dict[str, str]:
        own = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "HOME": self.spec["data"],
            "TMPDIR": self._path(TEMPORARY),
        }
        asked = {name: fill(value, self.ports) for name, value in self.spec["env"].items()}
        marks = {name: os.environ[name] for name in ("VEPA_OFFICE", "VEPA_SERVICE", "VEPA_FOLDER")}
        return own | asked | marks | {"VEPA_LAUNCHER": f"{launcher}:{started(launcher)}"}

    def stop(self) -> None:
        """Ask the service to stop, wait the time of grace, kill what is left of it."""
        if self.pid:
            os.kill(self.pid, getattr(signal, "SIG" + self.spec["stop_signal"]))
        limit = time.monotonic() + self.spec["grace"]
        while self.pid and (left := limit - time.monotonic()) > 0:
            self.wait(left)
        if self.pid:
            self.note(f"no end within {self.spec['grace']} s: killed")
            os.killpg(self.pid, signal.SIGKILL)
            while self.pid:
                self.wait(1)
        end_children()

    def carry_out(self) -> None:
        """Stop, save and restore as asked, start again on the same ports."""
        self.asked = False
        with open(self._path(REQUEST), encoding="utf-8") as stream:
            request = json.load(stream)
        self.change("starting")
        self.stop()
        if self.ending:
            return
        try:
            if request["save"]:
                _mirror(self.spec["data"], request["save"])
            if request["restore"]:
                _mirror(self.spec["snapshot"], self.spec["data"])
            self.state["request"] = request["id"]
            self.start()
        except (OSError, Refused) as error:
            self.state["request"] = request["id"]
            self.change("failed", str(error))


def _mirror(source: str, target: str) -> None:
    """In a child, so that the memory goes back at once."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            names: dict[str, Any] = {"__name__": "mirror"}
            path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mirror.py")
            with open(path, "rb") as stream:
                exec(compile(stream.read(), path, "exec"), names)  # noqa: S102 - the module beside
            names["mirror"](source, target)
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - a child must never return into the loop
            os.write(writing, f"{source} to {target}: {error}".encode())
        os._exit(1)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as stream:
        fault = stream.read()
    if os.waitpid(pid, 0)[1] != 0:
        raise Refused("mirror", fault or "the copy of the data was killed")


def _clear(folder: str) -> None:
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            _clear(entry.path)
            os.rmdir(entry.path)
        else:
            os.unlink(entry.path)


def _program(name: str, search: str) -> str:
    """The file of a program; execvpe would blame the last folder of PATH for a missing one."""
    if "/" in name:
        return name
    for folder in search.split(os.pathsep):
        if folder and os.access(os.path.join(folder, name), os.X_OK):
            return os.path.join(folder, name)
    raise FileNotFoundError(2, "No such program on PATH", name)


def _end(code: int) -> str:
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"


def _account(user: str | None) -> tuple[int, int] | None:
    """Numbers of the user and the group to drop to; None: stay."""
    if user is None or os.geteuid() != 0:
        return None
    import pwd

    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise Refused("user", f"there is no account {user!r} on this machine") from None
    return entry.pw_uid, entry.pw_gid


def _owner(owner: list[int] | None) -> int | None:
    if owner is None:
        return None
    try:
        fd = os.pidfd_open(owner[0])
    except OSError:
        fd = None
    if started(owner[0]) != owner[1]:
        raise Refused("owner", f"process {owner[0]}, which was to own the service, is gone")
    return fd


def _listen() -> int:
    """Signals become bytes in a pipe; returns its reading end."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    return reading


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def _guarded(work: Callable[[], int]) -> int:
    """Run `work` in a child and wait for it; afterwards nothing of it is left."""
    _prctl(_SUBREAPER, 1)
    guard, pid = os.getpid(), os.fork()
    if pid == 0:
        os.setsid()  # so that a signal to the group of one does not end both
        _prctl(_SUBREAPER, 1)
        _prctl(_PDEATHSIG, signal.SIGTERM)
        return work() if os.getppid() == guard else 1
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        signal.signal(number, lambda got, _: os.kill(pid, got))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    _silence()
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)  # once it is reaped its number belongs to nobody
    status = os.waitpid(pid, 0)[1]
    end_children()
    return abs(os.waitstatus_to_exitcode(status))


def _silence() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)


def _keep(path: str) -> int:
    answer: dict[str, Any] = {"ok": True}
    launcher = None
    try:
        with open(path, encoding="utf-8") as stream:
            launcher = Launcher(json.load(stream))
        launcher.begin()
    except (Refused, OSError) as error:
        answer = {"ok": False, "kind": getattr(error, "kind", "system"), "message": str(error)}
        if launcher:
            launcher.change("failed", str(error))
    os.write(1, json.dumps(answer).encode() + b"\n")
    _silence()
    if launcher is None or not answer["ok"]:
        return 1
    launcher.run()
    return 0


def main() -> int:
    """Run as a script."""
    os.setsid()
    os.closerange(3, 65536)
    os.umask(0o077)
    os.chdir("/")
    return _guarded(lambda: _keep(sys.argv[1]))


if __name__ == "__main__":
    os._exit(main())
