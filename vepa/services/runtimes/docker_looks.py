"""Looking at a container: whether it lives, where it listens, what it says, what it needs."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vepa.files import write_atomic
from vepa.services.runtimes import docker_plan as plan
from vepa.services.runtimes.base import Slot
from vepa.services.runtimes.health import BannerCheck, HttpCheck
from vepa.services.runtimes.memory import proportional_memory

__all__ = [
    "OpenCheck",
    "checks_of",
    "death",
    "known_ports",
    "log_end",
    "memory_of",
    "published",
    "remember_ports",
    "watcher",
]

#: Name -> port of this machine, in the service's folder.
_PORTS = "ports.json"
#: A container's state is not asked for more often than this while a service gets healthy.
_LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class OpenCheck:
    """A port accepts connections and keeps them.

    The engine's proxy accepts on behalf of a service that is not there yet, and hangs up at once.
    """

    port: str

    def look(self, number: int, seconds: float) -> str | None:
        """Why it is not healthy; None when it is."""
        with socket.create_connection((plan.HOST, number), seconds) as connection:
            connection.settimeout(min(seconds, 0.25))
            try:
                return None if connection.recv(1) else "hung up"
            except TimeoutError:
                return None


def published(slot: Slot, container: Any) -> dict[str, int] | None:
    """Name -> port of this machine; None while they are not all published."""
    bound = container.ports
    found = {
        name: bound.get(f"{port}/tcp") for name, port in plan.outer_ports(slot.environment).items()
    }
    if not all(found.values()):
        return None
    return {name: int(bindings[0]["HostPort"]) for name, bindings in found.items() if bindings}


def memory_of(container: Any) -> float | None:
    """Memory of its processes in MiB, as the kernel counts it; asking the engine takes a second.

    None where the engine runs on another machine or in a virtual one.
    """
    pid = container.attrs["State"].get("Pid")
    try:
        ours = container.id in Path(f"/proc/{pid}/cgroup").read_text("utf-8")
    except OSError:
        return None
    return proportional_memory(pid) if ours else None


def known_ports(slot: Slot) -> dict[str, int]:
    """The ports that the service had; none where they are not on record."""
    try:
        ports: dict[str, int] = json.loads((slot.folder / _PORTS).read_text("ascii"))
    except FileNotFoundError:
        return {}
    return ports


def remember_ports(slot: Slot, ports: Mapping[str, int]) -> None:
    """Put on record which ports the service has: the engine forgets those of an ended container."""
    write_atomic(slot.folder / _PORTS, json.dumps(ports))


def checks_of(slot: Slot) -> list[Any]:
    """The signs of life that the environment asks for."""
    checks: list[Any] = []
    for check in slot.environment.health.checks:
        if check.path is not None:
            checks.append(HttpCheck(check.port, check.path, tuple(check.status)))
        elif check.banner is not None:
            checks.append(BannerCheck(check.port, check.banner.encode()))
        else:
            checks.append(OpenCheck(check.port))
    return checks


def watcher(container: Any) -> Callable[[], str | None]:
    """Tells why the container does not run (None while it does), but asks only now and then."""
    looked = float("-inf")

    def alive() -> str | None:
        nonlocal looked
        if time.monotonic() - looked < _LOOK_SECONDS:
            return None
        looked = time.monotonic()
        container.reload()
        return death(container)

    return alive


def death(container: Any) -> str | None:
    """Why a container does not run; None while it does."""
    if container.status == "running":
        return None
    state = container.attrs["State"]
    if state.get("OOMKilled"):
        return "its container was killed: it needed more memory than `docker.memory` allows"
    if container.status == "created":
        return f"its container was not started: {state.get('Error') or 'no reason given'}"
    text = f"its container ended with exit code {state.get('ExitCode')}"
    return f"{text}: {state['Error']}" if state.get("Error") else text


def log_end(container: Any, lines: int) -> str:
    """The last lines of its log."""
    from docker.errors import APIError

    try:
        return str(container.logs(tail=lines).decode("utf-8", "replace").rstrip("\n"))
    except APIError:
        return ""
