"""Services as plain processes: start, stop, restart, look at them, clean up after a crash.

Every service is kept by a launcher of its own (`vepa.services.runtimes.launcher`), which outlives
the process that started it unless `ProcessSpec.owner` says otherwise. What this module knows about
a service stands in its folder, so that another process can go on with it. All functions may be
called from several threads, and work for root as for an ordinary user.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import select
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vepa.errors import InputError, RunError, Where
from vepa.files import write_atomic
from vepa.services.runtimes import launcher as _launcher
from vepa.services.runtimes.launcher import started
from vepa.services.runtimes.marks import (
    Marked,
    Process,
    alive,
    launchers,
    leftovers,
    send,
    sweep,
    wait_ended,
)

__all__ = [
    "Handle",
    "Marked",
    "Process",
    "ProcessSpec",
    "Status",
    "alive",
    "death",
    "handle",
    "launchers",
    "leftovers",
    "log_tail",
    "restart",
    "start",
    "started",
    "status",
    "stop",
    "sweep",
]

#: Seconds that a launcher may take to answer, and to end after the service's time of grace.
PATIENCE = 30.0
_REMEDIES = {
    "port": "stop what uses the port, or ask for port 0: any free one",
    "user": "name an account of this machine in `user`, or leave it out",
    "start": "`vepa services install` installs the services' software",
    "owner": "start it again",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSpec:
    """One service as a process.

    Attributes
    ----------
    office, service
        Names; every process of the service carries them as VEPA_OFFICE and VEPA_SERVICE.
    folder
        The service's own folder, made if missing: spec, status, log, and below it `data/`,
        `files/` and `tmp/`, which belong to the service's user.
    argv
        Program and arguments. `@PORT:NAME@` stands for the number of a port, here, in the values
        of `env`, and in the names and texts of `files`.
    ports
        Name to number; 0 asks for any free port. All are held on 127.0.0.1.
    env
        Added to the service's environment, which is otherwise PATH, LANG, TZ, HOME and TMPDIR.
    files
        Path (relative: below `folder/files`) to text, written before every start by the service's
        user.
    data
        The folder that a restart restores; by default `folder/data`.
    snapshot
        What it is restored to.
    user
        The account that root starts the service as; an ordinary user stays who it is.
    cwd
        Working directory, by default `data`.
    stop_signal
        TERM, INT or QUIT, for the main process.
    grace
        Seconds after it until everything of the service is killed.
    owner
        A process whose death stops the service; None: it runs until it is stopped.
    log_limit
        Bytes of log; beyond, the log moves to `service.log.1` and starts afresh.
    """

    office: str
    service: str
    folder: Path
    argv: Sequence[str]
    ports: Mapping[str, int] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    data: Path | None = None
    snapshot: Path | None = None
    user: str | None = None
    cwd: Path | None = None
    stop_signal: str = "TERM"
    grace: float = 5.0
    owner: int | None = None
    log_limit: int = 20_000_000


@dataclass(frozen=True, slots=True)
class Handle:
    """A service that was started; `ports` maps names to numbers."""

    office: str
    service: str
    folder: Path
    launcher: Process
    guard: Process
    ports: dict[str, int]


@dataclass(frozen=True, slots=True)
class Status:
    """What the launcher last wrote, corrected when the launcher itself is gone.

    Attributes
    ----------
    state
        `starting`, `running` (its program runs; health is another question), `stopped` or `failed`.
    process
        The service's main process, while it runs.
    generation
        How often it was started.
    exit_code, signal
        How the main process ended last, the one or the other.
    reason
        Why it is not running.
    request
        The last restart that was carried out.
    """

    office: str
    service: str
    state: str
    reason: str
    process: Process | None
    ports: dict[str, int]
    generation: int
    exit_code: int | None
    signal: str | None
    request: str
    launcher: Process
    guard: Process


def start(spec: ProcessSpec) -> Handle:
    """Hold the ports and start the service; returns when its program runs.

    Raises
    ------
    InputError
        When it cannot be started: a port in use, a missing program, an unknown placeholder, a
        service that already runs. Nothing is left running then.
    RunError
        When the launcher does not answer.
    """
    _check(spec)
    folder = spec.folder.absolute()
    folder.mkdir(mode=0o711, parents=True, exist_ok=True)
    with _lock(folder):
        now = status(folder)
        if now is not None and (alive(now.launcher) or alive(now.guard)):
            raise InputError(
                f"the service {spec.service!r} of office {spec.office!r} runs already",
                where=Where(str(folder)),
                remedy="`vepa services down` stops it",
            )
        for name in (_launcher.STATUS, _launcher.REQUEST):
            (folder / name).unlink(missing_ok=True)
        write_atomic(folder / _launcher.SPEC, json.dumps(_plain(spec, folder)))
        (folder / _launcher.SPEC).chmod(0o600)
        answer = _launch(spec, folder)
        if not answer["ok"]:
            raise InputError(
                f"the service {spec.service!r} cannot be started: {answer['message']}",
                where=Where(str(folder)),
                remedy=_REMEDIES.get(answer["kind"]),
            )
        found = handle(folder)
        if found is None:
            raise RunError(f"{folder}: the launcher wrote no status")
        return found


def stop(handle: Handle) -> None:
    """Stop the service and everything it started; done when no process of it is left.

    Raises
    ------
    RunError
        When something of it cannot be killed.
    """
    both = (handle.launcher, handle.guard)
    send(handle.launcher, signal.SIGTERM)
    if not wait_ended(both, _read_spec(handle.folder).get("grace", 0.0) + PATIENCE):
        send(handle.launcher, signal.SIGKILL)
        if not wait_ended(both, PATIENCE):
            raise RunError(
                f"the service {handle.service!r} of office {handle.office!r} does not end "
                f"(launcher {handle.launcher.pid}, guard {handle.guard.pid})"
            )
    _forget(handle)


def restart(
    handle: Handle, *, restore: bool = True, save: Path | None = None, timeout: float = 60.0
) -> Status:
    """Stop the service, save and restore its data while it is down, start it on the same ports.

    Parameters
    ----------
    handle
        The service; it may have failed.
    restore
        Make the data equal to the snapshot of the spec.
    save
        Before that, make this folder equal to the data.
    timeout
        Seconds until it must run again (health is another question).

    Raises
    ------
    RunError
        When it does not run again.
    """
    _check_restore(handle.folder, restore)
    with _lock(handle.folder):
        request = os.urandom(8).hex()
        ask = {"id": request, "restore": restore, "save": str(save.absolute()) if save else None}
        write_atomic(handle.folder / _launcher.REQUEST, json.dumps(ask))
        if not send(handle.launcher, signal.SIGUSR1):
            raise RunError(f"the service {handle.service!r} is stopped, it cannot be restarted")
        limit = time.monotonic() + timeout
        while time.monotonic() < limit:
            now = status(handle.folder)
            if now is None or not alive(handle.launcher):
                break
            if now.request == request and now.state in ("running", "failed"):
                if now.state == "running":
                    return now
                break
            time.sleep(0.005)
        now = status(handle.folder)
    why = now.reason if now and now.reason else f"no restart within {timeout:g} s"
    tail = log_tail(handle.folder)
    raise RunError(f"the service {handle.service!r} was not restarted: {why}\n{tail}")


def status(folder: Path) -> Status | None:
    """What is known of the service in this folder; None when none was started."""
    try:
        text = (folder / _launcher.STATUS).read_text("utf-8")
    except FileNotFoundError:
        return None
    raw: dict[str, Any] = json.loads(text)
    for name in ("process", "launcher", "guard"):
        raw[name] = Process(**raw[name]) if raw[name] else None
    if raw["state"] in ("starting", "running") and not alive(raw["launcher"]):
        raw |= {"state": "failed", "reason": "its launcher was killed", "process": None}
    return Status(**raw)


def handle(folder: Path) -> Handle | None:
    """The service in this folder, as the process that started it knows it; None: none known."""
    now = status(folder)
    if now is None:
        return None
    return Handle(
        now.office, now.service, folder.absolute(), now.launcher, now.guard, dict(now.ports)
    )


def death(handle: Handle) -> str | None:
    """Why the service does not run; None while it does. For `health.wait_healthy`."""
    now = status(handle.folder)
    if now is None:
        return "its folder is gone"
    if now.state in ("failed", "stopped"):
        return now.reason
    if now.process is not None and not alive(now.process):
        time.sleep(0.02)  # dead, but the launcher has not told how yet
        now = status(handle.folder) or now
        return now.reason or "it has ended"
    return None


def log_tail(folder: Path, lines: int = 20) -> str:
    """The last lines that the service wrote."""
    try:
        with open(folder / _launcher.LOG, "rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - 200 * lines))
            text = stream.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def _check(spec: ProcessSpec) -> None:
    where = Where(str(spec.folder))
    if platform.system() != "Linux":
        raise InputError(
            "services run as plain processes on Linux only",
            where=where,
            remedy="use the runtime `docker`",
        )
    if not spec.argv:
        raise InputError(f"the service {spec.service!r} names no program", where=where)
    if spec.stop_signal not in ("TERM", "INT", "QUIT"):
        raise InputError(
            f"{spec.stop_signal!r} stops no service", where=where, remedy="TERM, INT or QUIT"
        )
    for name, number in spec.ports.items():
        if not 0 <= number <= 65535:
            raise InputError(f"{number} is no port ({name})", where=where, remedy="0 to 65535")
    some = dict.fromkeys(spec.ports, 1)
    for text in (*spec.argv, *spec.env.values(), *spec.files, *spec.files.values()):
        rest = _launcher.fill(text, some)
        at = rest.find("@PORT:")
        if at >= 0:
            raise InputError(
                f"unknown port in the placeholder {rest[at : at + 40].split()[0]!r}",
                where=where,
                remedy=f"the ports of {spec.service!r} are: {', '.join(spec.ports) or 'none'}",
            )


def _check_restore(folder: Path, restore: bool) -> None:
    """A restart that cannot restore must not stop the service first."""
    snapshot = _read_spec(folder).get("snapshot")
    if restore and not (snapshot and Path(snapshot).is_dir()):
        raise InputError(
            f"no snapshot to restore from ({snapshot or 'none is set'})",
            where=Where(str(folder)),
            remedy="`vepa services up` makes the snapshot of the seed",
        )


def _plain(spec: ProcessSpec, folder: Path) -> dict[str, Any]:
    """The spec as the launcher reads it: absolute paths, the owner with its start."""
    owner = None
    if spec.owner is not None:
        owner = [spec.owner, started(spec.owner) or 0]
    return {
        "office": spec.office,
        "service": spec.service,
        "folder": str(folder),
        "argv": [str(part) for part in spec.argv],
        "ports": dict(spec.ports),
        "env": dict(spec.env),
        "files": dict(spec.files),
        "data": str(spec.data.absolute() if spec.data else folder / _launcher.DATA),
        "snapshot": str(spec.snapshot.absolute()) if spec.snapshot else None,
        "user": spec.user,
        "cwd": str(spec.cwd.absolute()) if spec.cwd else None,
        "stop_signal": spec.stop_signal,
        "grace": spec.grace,
        "owner": owner,
        "log_limit": spec.log_limit,
    }


def _read_spec(folder: Path) -> dict[str, Any]:
    try:
        spec: dict[str, Any] = json.loads((folder / _launcher.SPEC).read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return spec


#: Guards that are children of this process: they must be reaped.
_guards: set[int] = set()


def _launch(spec: ProcessSpec, folder: Path) -> dict[str, Any]:
    """Start a launcher and read its answer."""
    reading, writing = os.pipe()
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "VEPA_OFFICE": spec.office,
        "VEPA_SERVICE": spec.service,
        "VEPA_FOLDER": str(folder),
        "VEPA_ROLE": "launcher",
    }
    argv = [sys.executable, "-I", "-S", _launcher.__file__, str(folder / _launcher.SPEC)]
    try:
        guard = os.posix_spawn(
            argv[0],
            argv,
            environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, writing, 1),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
            setsigmask=[],
            setsigdef=[signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD],
        )
    finally:
        os.close(writing)
    answer: dict[str, Any] = {"ok": False}
    try:
        with os.fdopen(reading, encoding="utf-8") as stream:
            ready = select.select([stream], [], [], PATIENCE)[0]
            line = stream.readline() if ready else ""
        if not line:
            raise RunError(
                f"the launcher of {spec.service!r} gave no answer\n{log_tail(folder)}".rstrip()
            )
        answer = json.loads(line)
    finally:
        if answer["ok"]:
            _guards.add(guard)
        else:
            _end_guard(guard)
    return answer


def _end_guard(pid: int) -> None:
    """Stop a launcher that did not come up, through its guard, and reap that."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)  # a child of ours: its number is not used again before
    limit = time.monotonic() + PATIENCE
    with suppress(ChildProcessError):
        while time.monotonic() < limit:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
            time.sleep(0.005)


def _forget(handle: Handle) -> None:
    if handle.guard.pid in _guards:
        _guards.discard(handle.guard.pid)
        with suppress(ChildProcessError):
            os.waitpid(handle.guard.pid, 0)


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """One start or restart of a service at a time, across processes."""
    try:
        fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except FileNotFoundError:
        raise RunError(f"{folder}: the folder of the service is gone") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
