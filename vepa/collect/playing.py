"""One order to one episode: from the seed, on a lent office, tried again when a service fails."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from platform import python_version

from vepa import __version__
from vepa.collect.episode import Played, play
from vepa.collect.journal import Journal, NotKeptError
from vepa.collect.judging import judge
from vepa.collect.orders import Materials, Order
from vepa.collect.planting import decoys_of, plant
from vepa.collect.pool import Lent
from vepa.collect.script import PlanScript
from vepa.collect.settings import CollectSettings
from vepa.collect.stopping import StoppableModel, StoppedError
from vepa.collect.tasks.plan import Turn, flatten
from vepa.collect.user import UserScript, UserSimulator
from vepa.corpus.episode import Attempt, Episode, Finding
from vepa.corpus.trajectory import Trajectory
from vepa.errors import BudgetError, ModelError, RunError
from vepa.llm import Budget, Ledger, Model, Script, open_model
from vepa.parsing.instrumented import parse_trajectory
from vepa.services.office import Office
from vepa.services.recording import Recorder

__all__ = ["Player", "ServiceFailedError"]


class ServiceFailedError(RunError):
    """An episode could not be played to its end, since a service failed every time."""


@dataclass(frozen=True)
class _Take:
    """One try at an episode."""

    played: Played
    trajectory: Trajectory
    findings: list[Finding]


class Player:
    """Plays orders; threads may share it.

    Parameters
    ----------
    materials, settings
        What all episodes are made from, and how.
    journals
        Folder for answers of models whose episodes are not whole yet.
    ledger
        Where questions to models are written down.
    budget
        Of the whole run.
    """

    def __init__(
        self,
        materials: Materials,
        settings: CollectSettings,
        journals: Path,
        ledger: Ledger,
        budget: Budget,
    ):
        self._materials = materials
        self._settings = settings
        self._journals = journals
        self._ledger = ledger
        self._budget = budget
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Let all episodes that are being played end soon, without a result."""
        self._stopping.set()

    def play(self, order: Order, lent: Lent) -> Episode:
        """Play an order to its end.

        Raises
        ------
        ServiceFailedError
            When a service failed in every try.
        BudgetError
            When the run's budget is used up; what was answered so far is kept.
        ModelError
            When the model's provider fails; what was answered so far is kept.
        NotKeptError
            When answers cannot be written down.
        StoppedError
            When `stop` was called.
        """
        began, started = time.monotonic(), datetime.now(UTC)
        journal = Journal(self._journal(order))
        attempts: list[Attempt] = []
        while True:
            tried = time.monotonic()
            last = len(attempts) >= self._settings.retries
            try:
                if self._stopping.is_set():  # while the office was waited for
                    raise StoppedError("stopped before the episode began")
                take = self._take(order, lent.office, journal)
                broken = _unreachable(take.trajectory)
                if broken is None or last:
                    break
                reason = broken
            except (BudgetError, ModelError, NotKeptError, StoppedError):
                raise
            except RunError as error:
                reason = str(error)
                if self._stopping.is_set():
                    raise StoppedError(reason) from error
                if last:
                    raise ServiceFailedError(f"{order.id}: {reason}") from error
                self._mend(order, lent)
            attempts.append(Attempt(reason=reason[:500], seconds=time.monotonic() - tried))
            journal.rewind()
        return self._episode(order, take, attempts, started, time.monotonic() - began)

    def settle(self, order: Order) -> None:
        """Forget the answers of an episode that is kept."""
        self._journal(order).unlink(missing_ok=True)

    def _journal(self, order: Order) -> Path:
        return self._journals / f"{order.file}.journal"

    # -- one try ------------------------------------------------------------------------------

    def _take(self, order: Order, office: Office, journal: Journal) -> _Take:
        task, persona = order.task, order.persona
        office.reset(draw=random.Random(order.id))
        # Taken here: else it would depend on how long planting takes whether what was planted is of
        # the seed's time or of the episode's.
        started = datetime.now(UTC)
        planted = plant(office, task, order.id)
        budget = self._budget.child(
            "episode", tokens=self._settings.episode_tokens, seconds=self._settings.seconds
        )
        offered = [
            tool.name
            for name in task.environments
            for tool in self._materials.environments[name].tools
        ]
        about = {
            "task": task.id,
            "persona": persona.id,
            "model": order.model,
            "seed": order.seed,
        }
        beside = decoys_of(office, task)
        with Recorder(
            office, persona.account, order.id, offered=offered, about=about, beside=beside,
            digests=self._materials.digests, started=started,
        ) as recorder:  # fmt: skip
            played = play(
                recorder,
                task,
                persona,
                office.world,
                self._agent(order, budget, journal),
                self._user(order, office, budget, journal),
                self._materials.prompts["agent"],
                limits=self._settings.limits,
                sampling=self._settings.sampling(order.seed),
            )
            trajectory = recorder.trajectory()
        refused = played.ending.reason == "refusal"
        found = judge(office, task, trajectory.steps, refused=refused, planted=planted)
        return _Take(played, trajectory, found)

    def _agent(self, order: Order, budget: Budget, journal: Journal) -> Model:
        script: Script | None = None
        if order.temperament is not None:
            script = PlanScript(_turns(order))
        return self._opened(order.model, order, "agent", script, budget, journal)

    def _user(
        self, order: Order, office: Office, budget: Budget, journal: Journal
    ) -> UserSimulator:
        name = self._settings.user
        script = UserScript(order.task, order.persona) if name.startswith("scripted/") else None
        model = self._opened(name, order, "user", script, budget, journal)
        prompt = self._materials.prompts["user"]
        return UserSimulator(model, order.task, order.persona, office.world, prompt)

    def _opened(
        self,
        name: str,
        order: Order,
        purpose: str,
        script: Script | None,
        budget: Budget,
        journal: Journal,
    ) -> Model:
        if script is not None:  # free, and deterministic: there is nothing to keep
            return StoppableModel(open_model(name, script=script), self._stopping, waits=False)
        ledger = self._ledger.tagged(purpose=purpose, episode=order.id)
        settings = self._settings.settings_of(name)
        model = open_model(name, settings=settings, budget=budget, ledger=ledger)
        how = self._settings.told_apart(name)
        return journal.keeping(StoppableModel(model, self._stopping), how, budget)

    def _mend(self, order: Order, lent: Lent) -> None:
        """Bring the office back; another one takes its place when that does not work."""
        try:
            try:
                lent.office.reset(everything=True)
            except RunError:
                lent.replace()
        except RunError as error:
            raise ServiceFailedError(f"{order.id}: {error}") from error

    def _episode(
        self,
        order: Order,
        take: _Take,
        attempts: list[Attempt],
        started: datetime,
        seconds: float,
    ) -> Episode:
        user = self._settings.user
        return Episode(
            id=order.id,
            key=order.key,
            inputs=dict(order.inputs),
            scripted=order.temperament is not None or user.startswith("scripted/"),
            trajectory=take.trajectory,
            messages=[
                message.model_dump(mode="json", exclude_defaults=True)
                for message in take.played.messages
            ],
            turns=take.played.turns,
            user_spent=take.played.user_spent,
            ending=take.played.ending,
            findings=take.findings,
            events=list(parse_trajectory(take.trajectory)),
            intended=_intended(order, take.trajectory),
            attempts=attempts,
            versions=dict(_versions()),
            started=started.isoformat(timespec="seconds").replace("+00:00", "Z"),
            seconds=seconds,
        )


def _turns(order: Order) -> list[Turn]:
    """The plan of a scripted agent."""
    plans = order.task.plans
    return flatten(plans[order.temperament], plans["careful"])  # type: ignore[index]


def _intended(order: Order, trajectory: Trajectory) -> list[str | None]:
    """What a script meant its steps to be, as far as it came."""
    if order.temperament is None:
        return []
    meant: list[str | None] = []
    for turn in _turns(order):
        meant += [move.trips for move in turn.moves] or [turn.trips]
    done = sum(step.kind != "user" for step in trajectory.steps)
    return (meant + [None] * done)[:done]


def _unreachable(trajectory: Trajectory) -> str | None:
    """Which tool got no answer from its service, if one did not."""
    for step in trajectory.steps:
        if step.call and step.result and step.result.error == "unreachable":
            return f"{step.call.tool}: {step.result.content}"
    return None


@cache
def _versions() -> dict[str, str]:
    found = {"vepa": __version__, "python": python_version()}
    for name in ("litellm", "pydantic"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
