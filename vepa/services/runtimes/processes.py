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
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
from vepa.services.runtimes.process_spec import (
    ProcessSpec,
    check,
    check_restore,
    plain,
    read_spec,
)
from vepa.services.runtimes.process_status import (
    Handle,
    Status,
    death,
    handle,
    log_tail,
    status,
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
    check(spec)
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
        write_atomic(folder / _launcher.SPEC, json.dumps(plain(spec, folder)))
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
    if not wait_ended(both, read_spec(handle.folder).get("grace", 0.0) + PATIENCE):
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
    check_restore(handle.folder, restore)
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
