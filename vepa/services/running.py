"""The services of an office that is up: where they are, what they hold, the way to the seed."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vepa.errors import InputError, RunError, Where
from vepa.policy.schema import nearest
from vepa.services import records
from vepa.services.asking import ask, send
from vepa.services.drivers import Endpoint
from vepa.services.environment import Environment, Step
from vepa.services.parallel import each
from vepa.services.places import Places
from vepa.services.resetting import ResetReport, drawn
from vepa.services.runtimes import Condition, Runtime, Slot
from vepa.services.snapshots import SeedRecord, read_state, state_hash
from vepa.services.steps import Connection
from vepa.services.world import World

__all__ = ["RunningServices"]


class RunningServices:
    """What `Office` does with services once they are up.

    Attributes
    ----------
    id
        Names the office; several stand side by side.
    environments
        Name -> environment.
    world, world_file
        The seeded world, and its file.
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
        self.id = office_id
        self.environments = dict(environments)
        self.world = world
        self.runtime = runtime
        self.seeds: dict[str, SeedRecord] = {}
        self.world_file = world_file
        self._root = root
        self._owner = owner
        self._folder = root.office(office_id)
        self._endpoints: dict[str, Endpoint] = {}
        self._log = records.WriteLog(self._folder)

    def endpoint(self, name: str) -> Endpoint:
        """Where a service listens.

        Raises
        ------
        RunError
            When it does not run; says why.
        """
        known = self._endpoints.get(name)
        if known is None:
            condition = self.condition(name)
            if condition.endpoint is None:
                raise RunError(f"{name} does not run: {condition.reason or 'it was stopped'}")
            known = self._endpoints[name] = condition.endpoint
        return known

    def condition(self, name: str) -> Condition:
        """How a service is."""
        return self.runtime.condition(self._slot(name))

    def logs(self, name: str, lines: int = 50) -> str:
        """The end of a service's log."""
        return self.runtime.logs(self._slot(name), lines)

    def captured(self) -> list[tuple[str, str]]:
        """Volatile values of the seeds: by environment, each in its seed's order."""
        return [pair for name in sorted(self.seeds) for pair in self.seeds[name].captured]

    def written(self, name: str) -> None:
        """Put on record that a service may differ from its seed."""
        self._log.mark(name)

    def unclean(self) -> set[str]:
        """Services that may differ from their seed by what is on record."""
        return self._log.names()

    def state(self, name: str) -> Any:
        """The whole state of a service, read through its protocol."""
        with self._connection(name) as connection:
            return read_state(connection)

    def at_seed(self, name: str) -> bool:
        """Whether the whole state of a service equals its seed."""
        return state_hash(self.state(name)) == self.seeds[name].state

    def check(self, name: str, assertion: str, arguments: Mapping[str, Any] | None = None) -> bool:
        """Whether a named assertion of an environment holds now.

        Raises
        ------
        InputError
            When there is no such assertion, or its arguments are wrong.
        RunError
            When the service does not let itself be asked.
        """
        with self._connection(name) as connection:
            return ask(connection, assertion, arguments or {})

    def perform(
        self, name: str, steps: Sequence[Step], names: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Send requests to a service as `admin`, such as what a task plants; on record as written.

        Parameters
        ----------
        name
            Of the service.
        steps
            The requests, in this order.
        names
            Further names for their templates.

        Returns
        -------
        dict
            The saved answers.

        Raises
        ------
        RunError
            When the service refuses one, or does not answer.
        """
        self.written(name)
        with self._connection(name) as connection:
            return send(connection, steps, names)

    def reset(
        self,
        names: Iterable[str] | None = None,
        *,
        everything: bool = False,
        draw: random.Random | None = None,
    ) -> ResetReport:
        """Bring services back to their seed.

        Without `everything`, only those that were written to or do not run; and a tenth of the
        others (drawn at random) is compared with its seed.

        Parameters
        ----------
        names
            Only these; all when left out.
        everything
            Reset them whether they were written to or not.
        draw
            Chooses the tenth.

        Raises
        ------
        InputError
            When there is no such service.
        RunError
            When a service cannot be brought back.
        """
        began = time.monotonic()
        among = set(self.environments) if names is None else set(names)
        for name in sorted(among - set(self.environments)):
            raise InputError(
                f"office {self.id!r} has no service {name!r}",
                where=Where(field="names"),
                remedy=nearest(name, sorted(self.environments), "services"),
            )
        dirty = among if everything else among & self._log.names()
        clean = sorted(among - dirty)
        conditions = zip(clean, each(clean, self.condition), strict=True)
        dead = {name for name, condition in conditions if condition.state != "running"}
        checked = drawn(set(clean) - dead, draw or random.Random())
        same = zip(checked, each(checked, self._readable_at_seed), strict=True)
        unexpected = sorted({*dead, *(name for name, as_seeded in same if not as_seeded)})
        todo = sorted({*dirty, *unexpected})
        times = dict(zip(todo, each(todo, self._restore), strict=True))
        total = time.monotonic() - began
        return ResetReport(tuple(todo), tuple(checked), tuple(unexpected), times, total)

    # --- inside

    def _slot(self, name: str) -> Slot:
        environment = self.environments[name]
        return Slot(self.id, self._folder / name, environment, self.world, self._owner)

    def _connection(self, name: str) -> Connection:
        return Connection(self.environments[name], self.endpoint(name), self.world)

    def _readable_at_seed(self, name: str) -> bool:
        try:
            return self.at_seed(name)
        except RunError:  # one that hangs differs from its seed too
            return False

    def _restore(self, name: str) -> float:
        began = time.monotonic()
        environment, count = self.environments[name], self._log.count(name)
        running = self.condition(name).state == "running"
        if environment.reset.how == "steps" and running:
            with self._connection(name) as connection:
                send(connection, environment.reset.steps)
        else:
            self._endpoints[name] = self.runtime.restore(self._slot(name), self.seeds[name].key)
        self._log.clear(name, count)
        return time.monotonic() - began
