"""A small server, and what the tests of the process runtime look at."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from vepa.services.runtimes.processes import Handle, ProcessSpec, start, stop

T = TypeVar("T")

#: Answers every connection with its process number, its generation of data and its arguments.
SERVER = """
import os, signal, socket, sys, time
mode = sys.argv[2]
if mode == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if mode == "quits":
    print("no configuration found", flush=True)
    sys.exit(7)
children = []
if mode in ("forks", "scatters"):
    for _ in range(2):
        pid = os.fork()
        if pid == 0:
            if mode == "scatters":
                os.setsid()
                if os.fork():
                    os._exit(0)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            open(f"worker-{os.getpid()}", "w").close()
            while True:
                time.sleep(60)
        children.append(pid)
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen(20)
print("listening", flush=True)
while True:
    connection, _ = listener.accept()
    note = open("note").read() if os.path.exists("note") else ""
    connection.sendall(f"{os.getpid()} {os.environ['VEPA_OFFICE']} {note}".encode())
    connection.close()
"""


def spec(folder: Path, mode: str = "plain", **changes: object) -> ProcessSpec:
    """A spec of the small server; its folder is `folder/OFFICE/SERVICE`."""
    office, service = str(changes.pop("office", "alpha")), str(changes.pop("service", "tiny"))
    wanted: dict = {
        "office": office,
        "service": service,
        "folder": folder / office / service,
        "argv": [sys.executable, "-I", "-S", "-c", SERVER, "@PORT:main@", mode],
        "ports": {"main": 0},
        "grace": 0.3,
    }
    return ProcessSpec(**(wanted | changes))


@contextmanager
def running(wanted: ProcessSpec) -> Iterator[Handle]:
    """The service, stopped at the end."""
    handle = start(wanted)
    try:
        yield handle
    finally:
        stop(handle)


def ask(port: int, seconds: float = 5.0) -> list[str]:
    """The server's answer: process number, office, note."""

    def answer() -> list[str] | None:
        try:
            with socket.create_connection(("127.0.0.1", port), 1) as connection:
                return connection.makefile().read().split(" ")
        except OSError:
            return None

    return wait_for(answer, seconds)


def wait_for(look: Callable[[], T | None], seconds: float = 5.0) -> T:
    """What `look` returns as soon as it is true."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if found := look():
            return found
        time.sleep(0.01)
    raise AssertionError(f"nothing within {seconds} s")


def pids_of(folder: Path) -> set[int]:
    """Every live process that carries the mark of a service below this folder."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if not entry.name.isdigit() or b") Z " in (entry / "stat").read_bytes():
                continue
            marks = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(mark.startswith(b"VEPA_FOLDER=" + os.fsencode(folder)) for mark in marks):
            found.add(int(entry.name))
    return found


def gone(folder: Path) -> None:
    """Wait until no process of a service below this folder is left."""
    wait_for(lambda: not pids_of(folder))


def raw_status(folder: Path) -> dict:
    return json.loads((folder / "status.json").read_text("utf-8"))
