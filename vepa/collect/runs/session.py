"""A corpus being collected: the folder is held, offices are lent, task after task is settled.

The tasks of `flows/corpus.py` run in threads of one process and share one session; it is found by
its folder. A process that has none opens its own.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from vepa.bench.runs.profile import find_profile, load_profile
from vepa.collect.collecting import Collected, Collection
from vepa.collect.materials import assemble
from vepa.collect.orders import Materials, Order, environments_for, orders_of
from vepa.collect.pool import OfficePool
from vepa.collect.runs.profile import CorpusProfile, read_corpus
from vepa.corpus.episode import Episode
from vepa.errors import SettingError, Where
from vepa.project import Project
from vepa.services.environment import Environment
from vepa.services.runtimes import Progress

__all__ = ["CorpusPlan", "CorpusSession", "plan_corpus"]


@dataclass(frozen=True)
class CorpusPlan:
    """A corpus with its inputs settled; nothing is started.

    Attributes
    ----------
    name, profile
        The profile and what it is called.
    file
        The profile's file.
    folder
        Where the corpus lies.
    materials
        What episodes are made from.
    orders
        Task -> its episodes.
    """

    name: str
    profile: CorpusProfile
    file: Path
    folder: Path
    materials: Materials
    orders: dict[str, list[Order]]

    @property
    def annotated(self) -> bool:
        """Whether annotators judge its steps (`vepa.annotate.runs`)."""
        return load_profile(self.file).annotate is not None

    @property
    def collection(self) -> Collection:
        """The folder of episodes."""
        return Collection(self.folder)

    @property
    def all_orders(self) -> list[Order]:
        """Every episode, by task."""
        return [order for orders in self.orders.values() for order in orders]

    @property
    def environments(self) -> list[Environment]:
        """What an office needs for its tasks."""
        return environments_for(
            (orders[0].task for orders in self.orders.values() if orders), self.materials
        )

    def missing(self) -> list[Order]:
        """Episodes that are not there yet, or were made from something else."""
        return self.collection.missing(self.all_orders)


def plan_corpus(project: Project, name: str, *, artifacts: Path | None = None) -> CorpusPlan | None:
    """Read a profile's block `corpus` and all that it names; None when it has none.

    Parameters
    ----------
    project
        Where the profile, tasks, personas, prompts and environments are looked up.
    name
        Of the profile, or its path.
    artifacts
        Folder of what runs produce; the project's when left out.

    Raises
    ------
    SettingError
        At the first file that is wrong; names file, line, field and remedy.
    """
    file = find_profile(project, name)
    profile, wrong = read_corpus(file)
    if wrong:
        raise wrong[0]
    if profile is None:
        return None
    try:
        tasks, materials = assemble(project, profile.tasks)
    except SettingError as error:
        if error.where.field == "--tasks":
            raise SettingError(
                error.message, where=Where(str(file), None, "corpus.tasks"), remedy=error.remedy
            ) from None
        raise
    orders: dict[str, list[Order]] = {task.id: [] for task in tasks}
    for order in orders_of(tasks, profile.collect, materials):
        orders[order.task.id].append(order)
    folder = (artifacts or project.artifacts_path) / "corpus" / file.stem
    return CorpusPlan(file.stem, profile, file, folder, materials, orders)


class CorpusSession:
    """Settles the tasks of a plan; threads may share it.

    Parameters
    ----------
    plan
        What is collected.
    progress
        Told what happens to the offices.

    Raises
    ------
    SettingError
        When another process collects into the folder.
    """

    def __init__(self, plan: CorpusPlan, progress: Progress | None = None):
        self.plan = plan
        self._lock = plan.collection.locked()
        self._lock.__enter__()
        settings = plan.profile.collect
        self.pool = OfficePool(
            plan.environments,
            plan.materials.world_file,
            settings.offices,
            runtime=plan.profile.runtime,
            progress=progress,
        )
        self._player = plan.collection.player(plan.materials, settings)
        self._settled: dict[str, list[tuple[Episode, bool]]] = {}
        self._guard = threading.Lock()
        self._round = plan.collection.round(self._player, self.pool, self._told)

    @property
    def result(self) -> Collected:
        """What became of the orders so far."""
        return self._round.result

    def settle(self, task: str) -> list[tuple[Episode, bool]]:
        """Play what is missing of a task; its episodes, and whether each was there already.

        An episode is missing from the answer when it could not be played (`result` says why).
        """
        for order in self.plan.orders[task]:
            self._round.settle(order)
        with self._guard:
            return self._settled.pop(task, [])

    def take(self, result: Collected) -> None:
        """Let stand as the result what other processes made of the plan."""
        self._round.result = result

    def stop(self) -> None:
        """Begin no episode any more, and let those that are being played end without a result."""
        self._player.stop()

    def close(self) -> None:
        """Stop the offices and let go of the folder."""
        try:
            self.pool.close()
        finally:
            self._lock.__exit__(None, None, None)

    def _told(self, order: Order, episode: Episode, kept: bool) -> None:
        with self._guard:
            self._settled.setdefault(order.task.id, []).append((episode, kept))
