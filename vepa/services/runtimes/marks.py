"""Which processes of this machine are ours: found by their marks, never by their names.

A launcher puts VEPA_OFFICE, VEPA_SERVICE, VEPA_FOLDER (the service's folder) and VEPA_LAUNCHER
(its own number and start) into the environment of everything it starts. Some programs overwrite
that memory (PostgreSQL, for its process titles); those are known by their output, which goes to
the log in the service's folder.
A process without such marks is never touched. An ordinary user sees its own processes only.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from vepa.services.runtimes.launcher import LOG, STATUS, started

__all__ = [
    "Marked",
    "Process",
    "alive",
    "launchers",
    "leftovers",
    "send",
    "sweep",
    "wait_ended",
]


@dataclass(frozen=True, slots=True)
class Process:
    """A process, named so that another one with the same number is never taken for it.

    Attributes
    ----------
    pid
        Its number.
    start
        When it began, in clock ticks since boot.
    """

    pid: int
    start: int


@dataclass(frozen=True, slots=True)
class Marked:
    """A process that belongs to a service of ours."""

    process: Process
    office: str
    service: str
    folder: Path
    command: str


def alive(process: Process) -> bool:
    """Whether this very process still runs (a zombie does not)."""
    return started(process.pid) == process.start


def send(process: Process, number: int) -> bool:
    """Signal this very process; False when it is gone.

    Raises
    ------
    PermissionError
        When it belongs to somebody else.
    """
    try:
        fd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        if not alive(process):
            return False
        signal.pidfd_send_signal(fd, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(fd)
    return True


def wait_ended(processes: Iterable[Process], seconds: float) -> bool:
    """Wait until all of them are gone; False when some are not by then."""
    limit = time.monotonic() + seconds
    for process in processes:
        try:
            fd = os.pidfd_open(process.pid)
        except ProcessLookupError:
            continue
        try:
            poll = select.poll()
            poll.register(fd, select.POLLIN)
            left = max(0.0, limit - time.monotonic())
            if alive(process) and not poll.poll(left * 1000):
                return False
        finally:
            os.close(fd)
    return True


def launchers(cache_root: Path, offices: Collection[str] | None = None) -> list[Marked]:
    """The live launchers (and their guards) of offices below this cache.

    Parameters
    ----------
    cache_root
        Services with folders elsewhere are not ours to see.
    offices
        Only these; None: all.
    """
    return [found for found, role, _ in _scan(cache_root, offices) if role == "launcher"]


def leftovers(cache_root: Path, offices: Collection[str] | None = None) -> list[Marked]:
    """Processes of services whose launcher is gone; parameters as of `launchers`."""
    return [
        found
        for found, role, launcher in _scan(cache_root, offices)
        if role != "launcher" and (launcher is None or not alive(launcher))
    ]


def sweep(
    cache_root: Path, offices: Collection[str] | None = None, *, grace: float = 2.0
) -> list[Marked]:
    """Stop the leftovers: TERM, after `grace` seconds KILL; returns what was found.

    A service whose launcher lives is never touched, and neither is a launcher.
    """
    found: dict[Process, Marked] = {}
    # A process may have started another one while we looked; three rounds settle that.
    for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 5.0), (signal.SIGKILL, 5.0)):
        rest = leftovers(cache_root, offices)
        for item in rest:
            found.setdefault(item.process, item)
            send(item.process, number)
        wait_ended([item.process for item in rest], patience)
    return list(found.values())


def _scan(
    cache_root: Path, offices: Collection[str] | None
) -> Iterator[tuple[Marked, str, Process | None]]:
    """Every marked process below the cache: itself, its role, its launcher."""
    root = os.path.realpath(cache_root)
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or (start := started(int(entry.name))) is None:
            continue
        process = Process(int(entry.name), start)
        marks = _marks(process.pid) or _by_log(process.pid, root)
        folder = os.path.realpath(marks.get("VEPA_FOLDER", "/"))
        if not folder.startswith(root + os.sep):
            continue
        office = marks.get("VEPA_OFFICE", "")
        if offices is not None and office not in offices:
            continue
        pid, _, began = marks.get("VEPA_LAUNCHER", "").partition(":")
        launcher = Process(int(pid), int(began)) if pid.isdigit() and began.isdigit() else None
        item = Marked(
            process, office, marks.get("VEPA_SERVICE", ""), Path(folder), _command(process.pid)
        )
        if alive(process):  # what was read is of this process, not of a later one
            yield item, marks.get("VEPA_ROLE", "service"), launcher


def _marks(pid: int) -> dict[str, str]:
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    pairs = (part.partition(b"=") for part in raw.split(b"\0") if part.startswith(b"VEPA_"))
    marks = {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}
    # A tool or a test of ours may itself run inside a marked process: the folder decides, and only
    # what a launcher started has a launcher.
    return marks if "VEPA_LAUNCHER" in marks or marks.get("VEPA_ROLE") == "launcher" else {}


def _by_log(pid: int, root: str) -> dict[str, str]:
    """The marks of a process that writes to the log of a service below the cache."""
    for fd in (1, 2):
        try:
            log = Path(f"/proc/{pid}/fd/{fd}").readlink()
            if log.name != LOG or not log.is_relative_to(root):
                continue
            raw = json.loads((log.parent / STATUS).read_text("utf-8"))
            return {
                "VEPA_OFFICE": raw["office"],
                "VEPA_SERVICE": raw["service"],
                "VEPA_FOLDER": str(log.parent),
                "VEPA_LAUNCHER": f"{raw['launcher']['pid']}:{raw['launcher']['start']}",
            }
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return {}


def _command(pid: int) -> str:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ""
    return raw.replace(b"\0", b" ").decode("utf-8", "replace").strip()
