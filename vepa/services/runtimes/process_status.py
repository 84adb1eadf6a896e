"""What the folder of a service tells of it: running or not, since when, why, and its log."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vepa.services.runtimes import launcher
from vepa.services.runtimes.marks import Process, alive

__all__ = ["Handle", "Status", "death", "handle", "log_tail", "status"]


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


def status(folder: Path) -> Status | None:
    """What is known of the service in this folder; None when none was started."""
    try:
        text = (folder / launcher.STATUS).read_text("utf-8")
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
        with open(folder / launcher.LOG, "rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - 200 * lines))
            text = stream.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
