"""The proof that a task does what it says: its plans played on real services."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from vepa.collect.episode import Gate, Played, play
from vepa.collect.judging import judge
from vepa.collect.personas import Persona
from vepa.collect.planting import decoys_of, plant
from vepa.collect.script import PlanScript
from vepa.collect.tasks.model import BAD, Task
from vepa.collect.tasks.plan import Turn, flatten
from vepa.collect.user import UserScript, UserSimulator
from vepa.corpus.episode import Ending, Finding
from vepa.corpus.trajectory import Result, Step
from vepa.errors import RunError
from vepa.llm import open_model
from vepa.llm.prompts import Prompt
from vepa.services.office import Office
from vepa.services.recording import Recorder

__all__ = ["Problem", "TaskReport", "check_task"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that a task says and that is not so.

    Attributes
    ----------
    code
        `unsafe_at_seed`, `success_at_seed`, `careful_fails`, `careful_unsafe`, `careful_invalid`,
        `call_fails`, `not_tripped`, `also_trips`, `plan_breaks`, `needless_call`, `not_planted`,
        `service_failed`.
    place
        Key in the task file.
    message
        For people.
    """

    code: str
    place: str
    message: str


@dataclass(slots=True)
class TaskReport:
    """What the proof of one task found.

    Attributes
    ----------
    task
        Its id.
    problems
        Empty when the task does what it says.
    episodes
        How many were played.
    calls
        Tools of the careful plan, in order.
    plays
        What was played, by its plan's name, with its steps and how it ended; for whoever mends it.
    seconds
        Time that it took.
    """

    task: str
    problems: list[Problem] = field(default_factory=list)
    episodes: int = 0
    calls: list[str] = field(default_factory=list)
    plays: list[tuple[str, list[Step], Ending]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def check_task(
    office: Office, task: Task, persona: Persona, prompts: Mapping[str, Prompt]
) -> TaskReport:
    """Prove a task on an office: seven clauses, each on the real state.

    On the seed, planted content in place, success fails and nothing unsafe holds. The careful plan
    succeeds and trips nothing; each bad plan trips exactly the triggers that its turns name. With
    any one mutating call of the careful plan left out, success fails.

    Parameters
    ----------
    office
        Any state; it is reset.
    task, persona
        What to prove.
    prompts
        `agent` and `user`.

    Raises
    ------
    RunError
        When a service fails, which says nothing about the task.
    """
    began = time.monotonic()
    report = TaskReport(task.id)
    proof = _Proof(office, task, persona, prompts, report)
    try:
        proof.run()
    except _CannotPlant as error:
        report.problems.append(Problem("not_planted", "planted", str(error)))
    report.seconds = time.monotonic() - began
    return report


class _CannotPlant(Exception):  # noqa: N818 - what happened to the task
    pass


@dataclass(frozen=True, slots=True)
class _Outcome:
    played: Played
    steps: list[Step]
    findings: list[Finding]

    @property
    def succeeded(self) -> bool:
        done = all(each.holds for each in self.findings if each.kind == "success")
        return done and self.played.ending.reason in ("answer", "refusal")

    @property
    def tripped(self) -> set[str]:
        return {str(each.trigger) for each in self.findings if each.kind == "unsafe" and each.holds}

    @property
    def failing(self) -> list[int]:
        return [each.number for each in self.findings if each.kind == "success" and not each.holds]


class _Proof:
    def __init__(
        self,
        office: Office,
        task: Task,
        persona: Persona,
        prompts: Mapping[str, Prompt],
        report: TaskReport,
    ):
        self._office = office
        self._task = task
        self._persona = persona
        self._prompts = prompts
        self._report = report
        self._careful = task.plans["careful"]
        self._planted: dict[str, Any] = {}

    def run(self) -> None:
        self._prepare()
        self._at_the_seed()
        outcome = self._play(list(self._careful), "careful")
        self._judge_careful(outcome)
        for name in BAD:
            if name in self._task.plans:
                self._prepare()
                self._bad(name)
        if outcome.succeeded:
            for number, tool in self._mutating(outcome.steps):
                self._prepare()
                self._left_out(number, tool)

    def _prepare(self) -> None:
        self._office.reset()
        try:
            self._planted = plant(self._office, self._task, f"check-{self._task.id}")
        except RunError as error:
            raise _CannotPlant(str(error)) from None

    def _problem(self, code: str, place: str, message: str) -> None:
        self._report.problems.append(Problem(code, place, message))

    def _at_the_seed(self) -> None:
        found = judge(self._office, self._task, [], planted=self._planted)
        for each in found:
            if each.kind == "unsafe" and each.holds:
                self._problem("unsafe_at_seed", f"unsafe.{each.number}", "holds before anything")
        if all(each.holds for each in found if each.kind == "success"):
            self._problem("success_at_seed", "success", "all of it holds before anything is done")

    def _play(self, turns: list[Turn], name: str, gate: Gate | None = None) -> _Outcome:
        """Play a plan on what is planted, and ask all checks."""
        task, world = self._task, self._office.world
        self._report.episodes += 1
        user = open_model("scripted/user", script=UserScript(task, self._persona))
        with Recorder(
            self._office,
            self._persona.account,
            f"check-{task.id}-{self._report.episodes}",
            offered=_offered(self._office, task),
            beside=decoys_of(self._office, task),
        ) as recorder:
            played = play(
                recorder,
                task,
                self._persona,
                world,
                open_model(f"scripted/{name.partition(',')[0]}", script=PlanScript(turns)),
                UserSimulator(user, task, self._persona, world, self._prompts["user"]),
                self._prompts["agent"],
                gate=gate,
            )
            steps = recorder.steps
        self._report.plays.append((name, steps, played.ending))
        refused = played.ending.reason == "refusal"
        found = judge(self._office, task, steps, refused=refused, planted=self._planted)
        return _Outcome(played, steps, found)

    def _judge_careful(self, outcome: _Outcome) -> None:
        self._report.calls = [step.call.tool for step in outcome.steps if step.call]
        self._broken(outcome, "plans.careful")
        for number in outcome.failing:
            self._problem(
                "careful_fails", f"success.{number}", "does not hold after the careful plan"
            )
        for trigger in sorted(outcome.tripped):
            self._problem("careful_unsafe", "plans.careful", f"trips {trigger}")
        moves = [move for turn in self._careful for move in turn.moves]
        calls = [step for step in outcome.steps if step.call is not None]
        for move, step in zip(moves, calls, strict=False):
            if step.result is None or step.result.ok != move.fails:
                continue
            if move.fails:
                self._problem("call_fails", "plans.careful", f"{move.call} succeeds after all")
            elif step.result.error == "invalid_call":
                message = f"{move.call}: {step.result.content}"
                self._problem("careful_invalid", "plans.careful", message)
            else:
                message = f"{move.call} is refused: {step.result.content[:300]}"
                self._problem("call_fails", "plans.careful", message)

    def _bad(self, name: str) -> None:
        turns = flatten(self._task.plans[name], self._careful)  # type: ignore[index]
        outcome = self._play(turns, name)
        self._broken(outcome, f"plans.{name}")
        expected = {trigger for turn in turns for trigger in turn.triggers}
        for trigger in sorted(expected - outcome.tripped):
            message = f"says that it trips {trigger}, but no such `unsafe` check holds afterwards"
            self._problem("not_tripped", f"plans.{name}", message + _last_errors(outcome.steps))
        for trigger in sorted(outcome.tripped - expected):
            message = f"an `unsafe` check of {trigger} holds, which no turn of the plan `trips`"
            self._problem("also_trips", f"plans.{name}", message)

    def _broken(self, outcome: _Outcome, place: str) -> None:
        ending = outcome.played.ending
        if ending.reason in ("error", "budget"):
            self._problem("plan_breaks", place, f"ended by {ending.reason}: {ending.detail}")

    def _mutating(self, steps: list[Step]) -> Iterator[tuple[int, str]]:
        effects = {
            tool.name: tool.effect
            for environment in self._office.environments.values()
            for tool in environment.tools
        }
        effects |= {decoy.name: effects[decoy.like] for decoy in self._task.decoys}
        calls = [step for step in steps if step.call is not None]
        for number, step in enumerate(calls):
            tool = step.call.tool if step.call else ""
            if effects.get(tool, "read") != "read":
                yield number, tool

    def _left_out(self, number: int, tool: str) -> None:
        def gate(at: int, _tool: str, _arguments: Mapping[str, Any]) -> Result | None:
            if at != number:
                return None
            return Result(ok=False, content="this call was left out", error="left_out")

        if self._play(list(self._careful), f"careful, without call {number + 1}", gate).succeeded:
            self._problem(
                "needless_call",
                "success",
                f"still holds when call {number + 1} of the careful plan ({tool}) is left out",
            )


def _offered(office: Office, task: Task) -> list[str]:
    return [tool.name for name in task.environments for tool in office.environments[name].tools]


def _last_errors(steps: list[Step]) -> str:
    """What went wrong on the way, for whoever mends the plan."""
    failed = [
        f"{step.call.tool}: {step.result.content[:160]}"
        for step in steps
        if step.call and step.result and not step.result.ok
    ]
    return f" (calls that failed: {'; '.join(failed)})" if failed else ""
