"""What every environment has to keep, whoever added it and however it runs.

Start, health, seed, each tool once (and the state changes exactly when a tool says so), the same
answers again after a reset, the state equal to the seed, stop, nothing left running.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from vepa.errors import RunError, VepaError
from vepa.services.environment import Environment, Tool
from vepa.services.office import Office
from vepa.services.runtimes import Progress, RuntimeName
from vepa.services.session import Outcome

__all__ = ["Clause", "Contract", "keep_contract"]


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing that was checked.

    Attributes
    ----------
    environment, name
        What of which environment.
    held
        Whether it held.
    why
        What was found instead; empty when it held.
    seconds
        Time it took.
    """

    environment: str
    name: str
    held: bool
    why: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Contract:
    """All that was checked.

    Attributes
    ----------
    clauses
        In the order of checking.
    """

    clauses: tuple[Clause, ...]

    @property
    def held(self) -> bool:
        """Whether everything held."""
        return all(clause.held for clause in self.clauses)

    @property
    def broken(self) -> list[Clause]:
        """The clauses that did not hold."""
        return [clause for clause in self.clauses if not clause.held]


def keep_contract(
    environments: Sequence[Environment],
    world_file: Path,
    runtime: RuntimeName = "process",
    progress: Progress | None = None,
) -> Contract:
    """Hold environments to the contract, on an office of their own.

    Raises
    ------
    InputError
        When something is missing that they need to start at all.
    RunError
        When a service does not start or refuses its seed.
    """
    office = Office.start(environments, world_file, runtime=runtime, progress=progress)
    clauses: list[Clause] = []
    try:
        for environment in environments:
            if progress:
                progress(f"{environment.name}: contract")
            clauses += _Check(office, environment).all()
    finally:
        office.stop()
    for environment in environments:
        clauses.append(_gone(office, environment))
    return Contract(tuple(clauses))


class _Check:
    """The clauses of one environment on a running office."""

    def __init__(self, office: Office, environment: Environment):
        self._office = office
        self._environment = environment
        self._found: list[Clause] = []

    def all(self) -> list[Clause]:
        """Check everything; what cannot be checked does not hold."""
        self._clause("the state is the seed", self._at_seed)
        for assertion in self._environment.assertions:
            if assertion.example or not assertion.parameters:
                self._clause(
                    f"assertion {assertion.name} can be asked",
                    partial(self._asked, assertion.name, assertion.example),
                )
        reads = [tool for tool in self._environment.tools if tool.effect == "read"]
        for tool in reads:
            self._clause(f"tool {tool.name}", partial(self._answers, tool))
        self._clause("reading changes nothing", partial(self._reading, reads))
        for tool in self._environment.tools:
            if tool.effect != "read":
                self._clause(f"tool {tool.name}", partial(self._writes, tool))
        self._clause("every write is undone by a reset", self._undone)
        self._clause("a reset of everything leads to the seed", self._reset)
        return self._found

    def _clause(self, name: str, check: Callable[[], str]) -> None:
        began = time.monotonic()
        try:
            why = check()
        except VepaError as error:
            why = str(error)
        seconds = time.monotonic() - began
        self._found.append(Clause(self._environment.name, name, not why, why, seconds))

    def _at_seed(self) -> str:
        return "" if self._office.at_seed(self._environment.name) else "it differs from the seed"

    def _asked(self, name: str, example: dict[str, object]) -> str:
        self._office.check(self._environment.name, name, example)
        return ""

    def _answers(self, tool: Tool) -> str:
        """It answers, and the second time as the first time."""
        first = self._once(tool)
        if not first.ok:
            return self._told(first)
        second = self._once(tool)
        return "" if second.content == first.content else _difference(first, second)

    def _told(self, outcome: Outcome) -> str:
        """What it answered; of a fault of its own also what the service wrote about it."""
        told = f"answered {outcome.content[:300]}"
        if '"status": 5' in outcome.content:
            told += f"; its log ends with: {self._office.logs(self._environment.name, 15)}"
        return told

    def _reading(self, reads: Sequence[Tool]) -> str:
        """No tool that says `read` has changed the state; where one has, which."""
        if not self._at_seed():
            return ""
        self._reset()
        for tool in reads:
            self._once(tool)
            if self._at_seed():
                self._reset()
                return f"{tool.name}: its effect is `read`, and the state has changed"
        return "the state has changed, and no single reading tool did it"

    def _writes(self, tool: Tool) -> str:
        """It changes the state, and answers as the first time after a reset."""
        first = self._once(tool)
        if not first.ok:
            return self._told(first)
        if not self._at_seed():
            return f"its effect is `{tool.effect}`, and the state has not changed"
        self._back()
        second = self._once(tool)
        self._back()
        return "" if second.content == first.content else _difference(first, second)

    def _once(self, tool: Tool) -> Outcome:
        with self._office.session() as session:
            return session.call(tool.name, tool.examples[0])

    def _back(self) -> None:
        name = self._environment.name
        if self._office.reset([name]).reset != (name,):
            raise RunError(f"{name}: the write is not on record")

    def _undone(self) -> str:
        """After all writes and resets it is the seed; where not, which tool left something."""
        if not self._at_seed():
            return ""
        self._reset()
        for tool in self._environment.tools:
            if tool.effect != "read":
                self._once(tool)
                self._back()
                if self._at_seed():
                    return f"{tool.name}: after the reset the state is not the seed"
        return "after the resets the state is not the seed, and no single tool did it"

    def _reset(self) -> str:
        name = self._environment.name
        self._office.reset([name], everything=True)
        return self._at_seed()


def _difference(one: Outcome, two: Outcome) -> str:
    first, second = one.content, two.content
    at = next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b),
        min(len(first), len(second)),
    )
    start = max(0, at - 40)
    return (
        "the same call on the same seed answered differently: "
        f"...{first[start : at + 40]!r} and ...{second[start : at + 40]!r}"
    )


def _gone(office: Office, environment: Environment) -> Clause:
    condition = office.condition(environment.name)
    held = condition.state == "stopped"
    return Clause(environment.name, "nothing is left running", held, "" if held else str(condition))
