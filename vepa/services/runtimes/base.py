"""What a runtime is: one way to run a service, with the same protocol, seed and tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from vepa.services.drivers import Endpoint
from vepa.services.environment import Environment
from vepa.services.world import World

__all__ = ["Condition", "Progress", "Runtime", "RuntimeName", "Slot"]

RuntimeName = Literal["process", "docker"]
#: Told in a few words what happens; progress displays listen.
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of one service in one office.

    Attributes
    ----------
    office
        Id of the office.
    folder
        The service's own folder below the office's; logs are kept here.
    environment
        What runs there.
    world
        The seeded world.
    owner
        Process (pid) whose death ends the service; None: it lives until it is stopped.
    """

    office: str
    folder: Path
    environment: Environment
    world: World
    owner: int | None = None

    @property
    def name(self) -> str:
        """Name of the service."""
        return self.environment.name


@dataclass(frozen=True, slots=True)
class Condition:
    """How a service is.

    Attributes
    ----------
    state
        `running`, `stopped`, or `failed` (it ended by itself).
    endpoint
        Where it listens, while it runs.
    reason
        Why it failed, with the end of its log.
    memory
        Resident memory of all its processes in MiB, shared pages counted once; None when unknown.
    """

    state: Literal["running", "stopped", "failed"]
    endpoint: Endpoint | None = None
    reason: str = ""
    memory: float | None = None


class Runtime(Protocol):
    """One way to run services. Its methods may be called from several threads, one a slot."""

    name: RuntimeName

    def ready(self, environments: Sequence[Environment], progress: Progress | None = None) -> None:
        """Make sure that everything is there to start these: packages, programs, engine, images.

        Raises
        ------
        InputError
            Naming what is missing and how to get it.
        """
        ...

    def fingerprint(self, environment: Environment) -> str:
        """What a snapshot depends on beside the environment's own files (packages, image)."""
        ...

    def has_snapshot(self, environment: Environment, key: str) -> bool:
        """Whether the seeded state is kept under this key."""
        ...

    def start(self, slot: Slot, snapshot: str | None) -> Endpoint:
        """Start a service from a snapshot, or from nothing (None), and wait until it is healthy.

        Raises
        ------
        RunError
            When it dies, or does not get healthy in time; nothing of it is left running.
        InputError
            When a port is in use or a program is missing.
        """
        ...

    def keep(self, slot: Slot, key: str) -> None:
        """Stop a seeded service and keep its state as a snapshot; atomic."""
        ...

    def drop_snapshot(self, environment: Environment, key: str) -> None:
        """Remove a snapshot, if it is there."""
        ...

    def restore(self, slot: Slot, key: str) -> Endpoint:
        """Bring the state back to a snapshot as `reset.how` says: `live` or `restart`.

        (`steps` needs no runtime: the office sends them.)
        """
        ...

    def condition(self, slot: Slot) -> Condition:
        """How the service is now."""
        ...

    def logs(self, slot: Slot, lines: int) -> str:
        """The last lines of its log; also after it was stopped, while the office is there."""
        ...

    def stop(self, slot: Slot) -> None:
        """Stop the service and everything that it started; no error when nothing runs."""
        ...

    def sweep(self, offices: Sequence[str]) -> list[str]:
        """Stop what is left of these (dead) offices; what was stopped, in words."""
        ...
