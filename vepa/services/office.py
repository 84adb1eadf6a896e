"""An office: the services of a world, running, seeded, resettable, with tools."""

from __future__ import annotations

import itertools
import os
import re
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from vepa.errors import InputError, RunError, ServiceError, SettingError, Where
from vepa.services import records
from vepa.services.environment import Environment, load_environment
from vepa.services.leftovers import clean_up
from vepa.services.parallel import each
from vepa.services.places import Places, places, written_below
from vepa.services.running import RunningServices
from vepa.services.runtimes import Progress, Runtime, RuntimeName, make_runtime
from vepa.services.session import ToolSession
from vepa.services.snapshots import ensure_snapshot, known_seed
from vepa.services.world import World, load_world

__all__ = ["Office"]

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")


class Office(RunningServices):
    """Running services; made by `start` or `attach`.

    Attributes
    ----------
    id
        Names the office; several stand side by side.
    environments
        Name -> environment.
    world, world_file
        The seeded world, and its file.
    seconds
        Name -> time until the service was up, seeding included; empty when attached.
    """

    def __init__(
        self,
        office_id: str,
        environments: Mapping[str, Environment],
        world: World,
        world_file: Path,
        runtime: Runtime,
        root: Places,
        owner: int | None,
    ):
        super().__init__(office_id, environments, world, world_file, runtime, root, owner)
        self.seconds: dict[str, float] = {}
        self._aborted = threading.Event()
        self._episodes = itertools.count(1)

    # --- coming and going

    @classmethod
    def start(
        cls,
        environments: Sequence[Environment],
        world_file: Path,
        *,
        runtime: RuntimeName = "process",
        office_id: str | None = None,
        detached: bool = False,
        progress: Progress | None = None,
        root: Places | None = None,
    ) -> Office:
        """Start services, seeded; all of them, or none.

        Parameters
        ----------
        environments
            What to start.
        world_file
            The world that they are seeded from.
        runtime
            `process` or `docker`.
        office_id
            A name; one is made up when it is left out.
        detached
            Whether the office outlives this process. Otherwise it ends with it, also by kill -9.
        progress
            Told what happens.
        root
            Where offices and snapshots are kept.

        Raises
        ------
        InputError
            When something that is needed is missing, or the id is taken.
        ServiceError
            When a service does not start or refuses its seed; nothing is left running.
        """
        root = root or places()
        world = load_world(world_file)
        engine = make_runtime(runtime, root)
        engine.ready(environments, progress)
        clean_up(root)
        office_id = _new_id(office_id)
        office = cls(
            office_id,
            {each.name: each for each in environments},
            world,
            world_file,
            engine,
            root,
            None if detached else os.getpid(),
        )
        with written_below(root.root):
            office._claim()
            try:
                each(
                    environments,
                    lambda one: office._bring_up(one, progress),
                    office._abort,
                )
                office._record()
            except BaseException:
                office.stop()
                raise
        return office

    @classmethod
    def attach(cls, office_id: str | None = None, *, root: Places | None = None) -> Office:
        """An office that is up already, started by whomever; the only one when no id is given.

        Raises
        ------
        SettingError
            When there is no such office.
        """
        root = root or places()
        record = records.find_office(root, office_id)
        office = cls.of_record(record, root)
        for name, environment in office.environments.items():
            seed = known_seed(environment, office.world_file, office.runtime, root)
            if seed is None or seed.key != record.keys[name]:
                raise SettingError(
                    f"{environment.file} or the world has changed since office {record.id!r} "
                    "was started",
                    where=Where(str(environment.file)),
                    remedy=f"vepa services down --office {record.id}, then up again",
                )
            office.seeds[name] = seed
        return office

    @classmethod
    def of_record(cls, record: records.OfficeRecord, root: Places) -> Office:
        """An office without what is known of its seeds: it can be looked at and stopped.

        Raises
        ------
        InputError
            When a file that it was started from is gone or wrong.
        """
        return cls(
            record.id,
            {
                name: load_environment(file, trusted=True)
                for name, file in record.environments.items()
            },
            load_world(Path(record.world)),
            Path(record.world),
            make_runtime(record.runtime, root),
            root,
            None,
        )

    def stop(self) -> None:
        """Stop all services and remove the office; no error when it is down already."""
        records.going(self._folder, self.runtime.name)
        try:
            each(self.environments.values(), lambda one: self.runtime.stop(self._slot(one.name)))
            self.runtime.sweep([self.id])
        finally:
            records.remove(self._folder)

    def __enter__(self) -> Office:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # --- working

    def session(
        self, role: str | None = None, *, key: str | None = None, started: datetime | None = None
    ) -> ToolSession:
        """A new episode's way to the tools, as one account (see `ToolSession`)."""
        key = key or f"{self.id}-{os.getpid()}-{next(self._episodes)}"
        return ToolSession(self, role, key, started)

    # --- inside

    def _claim(self) -> None:
        try:
            records.claim(self._root, self.id, self.runtime.name)
        except FileExistsError:
            raise SettingError(
                f"office {self.id!r} is up already",
                where=Where(field="--office"),
                remedy=f"another name, or `vepa services down --office {self.id}` first",
            ) from None

    def _bring_up(self, environment: Environment, progress: Progress | None) -> None:
        try:
            self._start(environment, progress)
        except InputError as error:
            raise error.at(file=str(environment.file)) from None
        except RunError as error:
            raise ServiceError(
                str(error),
                where=Where(str(environment.file), field="process"),
                remedy="`process` says how it is started, `health` when it counts as up and for "
                "how long that is waited for",
            ) from error

    def _start(self, environment: Environment, progress: Progress | None) -> None:
        began = time.monotonic()
        seed = ensure_snapshot(
            environment, self.world, self.world_file, self.runtime, self._root, progress
        )
        self.seeds[environment.name] = seed
        if self._aborted.is_set():
            raise KeyboardInterrupt
        slot = self._slot(environment.name)
        self._endpoints[environment.name] = self.runtime.start(slot, seed.key)
        spent = self.seconds[environment.name] = time.monotonic() - began
        if progress:
            progress(f"{environment.name}: up after {spent:.1f} s")

    def _abort(self) -> None:
        """Let the threads that start services end soon: what they wait for is stopped."""
        self._aborted.set()
        self.runtime.sweep([self.id, *records.owned_by(self._root, os.getpid())])

    def _record(self) -> None:
        records.OfficeRecord(
            id=self.id,
            runtime=self.runtime.name,
            world=str(self.world_file.absolute()),
            environments={name: str(each.file) for name, each in self.environments.items()},
            keys={name: seed.key for name, seed in self.seeds.items()},
        ).write(self._folder)
        if self._owner is None:
            records.own(self._folder, None, self.runtime.name)


def _new_id(wanted: str | None) -> str:
    if wanted is None:
        return f"office-{secrets.token_hex(3)}"
    if not _ID.fullmatch(wanted):
        raise SettingError(
            f"{wanted!r} is no name for an office",
            where=Where(field="--office"),
            remedy="lower-case letters, digits and dashes; 32 at most",
        )
    return wanted
