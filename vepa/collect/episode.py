"""One episode: an agent works on a task with real tools, and sees nothing but that.

Memory-blind by construction: what a model receives is made from the task's request, the persona,
the offered tools and the results of this very episode. Policies, labels, checks, planted texts and
other episodes are not arguments of anything here that builds a message.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from vepa.collect.arguments import read_arguments
from vepa.collect.bounds import Limits, Sampling
from vepa.collect.personas import Persona
from vepa.collect.script import REFUSED
from vepa.collect.tasks.model import Task
from vepa.collect.user import UserSimulator
from vepa.corpus.episode import Ending, Spent, TurnRecord
from vepa.corpus.trajectory import Result
from vepa.errors import BudgetError, InputError, ModelError
from vepa.llm.messages import Message, Model, ModelReply, ModelRequest, ToolCall, ToolOffer, Usage
from vepa.llm.prompts import Prompt
from vepa.services.recording import Recorder
from vepa.services.world import World

__all__ = ["RUN", "Limits", "Played", "Sampling", "play"]


def _not_begun() -> Ending:
    return Ending(reason="error", detail="it never began")


@dataclass(slots=True)
class Played:
    """An episode as it happened; the recorder has its trajectory.

    Attributes
    ----------
    messages
        All that the model was sent and said.
    turns
        Of the agent.
    ending
        How it ended.
    user_spent
        Of the model that played the user.
    """

    messages: list[Message] = field(default_factory=list)
    turns: list[TurnRecord] = field(default_factory=list)
    ending: Ending = field(default_factory=_not_begun)
    user_spent: Spent = field(default_factory=Spent)


#: Name of the budget that all episodes of a run share.
RUN = "run"

#: Decides whether a call (its number from 0) is carried out; what it returns is told instead.
Gate = Callable[[int, str, Mapping[str, Any]], Result | None]


def play(
    recorder: Recorder,
    task: Task,
    persona: Persona,
    world: World,
    model: Model,
    user: UserSimulator,
    prompt: Prompt,
    *,
    limits: Limits | None = None,
    sampling: Sampling | None = None,
    gate: Gate | None = None,
) -> Played:
    """Play one episode; it always comes to an end, and its end says how.

    Parameters
    ----------
    recorder
        Carries tool calls out and writes everything down.
    task, persona, world
        What is asked, by whom, where. Of the task only `request` is read.
    model, user
        The agent and the user.
    prompt
        The prompt `agent`.
    limits, sampling
        Bounds of the episode, settings of the agent's model.
    gate
        May answer a call in the services' place.

    Raises
    ------
    RunError
        When a service fails; the episode has to be played again.
    BudgetError
        When the budget of the whole run is used up: this episode has no end yet.
    ModelError
        When the model's provider fails: this episode has no end yet.
    """
    stage = _Stage(recorder, model, user, limits or Limits(), sampling or Sampling(), gate)
    system = prompt.render(
        {
            "person": world.person(persona.person).model_dump(mode="json"),
            "company": world.company.model_dump(mode="json"),
            "now": world.clock,
            "rights": persona.rights,
        }
    )
    stage.begin(system, task.request.strip())
    try:
        while stage.turn():
            pass
    except BudgetError as error:
        if error.owner == RUN:
            raise
        stage.end("budget", str(error))
    except ModelError as error:
        if not stage.is_its_own(error):
            raise
        stage.end("error", str(error))
    except InputError as error:  # a scripted plan that cannot go on
        stage.end("error", error.message)
    return stage.played


class _Stage:
    def __init__(
        self,
        recorder: Recorder,
        model: Model,
        user: UserSimulator,
        limits: Limits,
        sampling: Sampling,
        gate: Gate | None,
    ):
        self._recorder = recorder
        self._model = model
        self._user = user
        self._limits = limits
        self._sampling = sampling
        self._gate = gate
        self._tools = tuple(
            ToolOffer(name=tool.name, description=tool.description, parameters=tool.parameters)
            for tool in sorted(recorder.tools, key=lambda tool: tool.name)
        )
        self._calls = 0
        self._waited = 0.0
        self._with_user = False
        self._began = time.monotonic()
        self.played = Played()

    def begin(self, system: str, request: str) -> None:
        self._recorder.user(request)
        self.played.messages += [
            Message(role="system", content=system),
            Message(role="user", content=request),
        ]

    def end(
        self, reason: Literal["answer", "refusal", "budget", "error"], detail: str | None
    ) -> None:
        self.played.ending = Ending(reason=reason, detail=detail)

    def turn(self) -> bool:
        """One message of the agent and what follows; False when the episode is over."""
        started = time.monotonic()
        reached = self._reached(started)
        if reached is not None:
            self.end("budget", reached)
            return False
        request = ModelRequest(
            messages=tuple(self.played.messages),
            tools=self._tools,
            temperature=self._sampling.temperature,
            max_tokens=self._sampling.max_tokens,
            seed=self._sampling.seed,
        )
        digest = request.content_hash
        sent = time.monotonic()
        reply = self._model.ask(request)
        received = time.monotonic()
        self.played.messages.append(reply.message)
        self._waited = 0.0
        try:
            return self._follow(reply)
        finally:  # also when the user's model ends the episode: this message was paid for
            harness = (sent - started) + (time.monotonic() - received - self._waited)
            self.played.turns.append(
                TurnRecord(
                    request=digest,
                    spent=_spent(reply.usage),
                    model_seconds=received - sent,
                    service_seconds=self._waited,
                    harness_seconds=max(0.0, harness),
                    source=reply.source,
                )
            )

    def is_its_own(self, error: ModelError) -> bool:
        """Whether an error is a model's own doing, and so the end of this episode.

        Any other is its provider's, and passes. A first request that is refused says nothing of
        the model's doings, but of its name or of what was set; so does one of the user's.
        """
        if error.kind == "bad_request":
            return bool(self.played.turns) and not self._with_user
        return error.kind == "malformed"

    def _reached(self, now: float) -> str | None:
        if len(self.played.turns) >= self._limits.turns:
            return f"{self._limits.turns} turns"
        if self._calls >= self._limits.calls:
            return f"{self._limits.calls} calls"
        if now - self._began >= self._limits.seconds:
            return f"{self._limits.seconds:g} seconds"
        return None

    def _follow(self, reply: ModelReply) -> bool:
        """Whether the episode goes on; the time spent outside the harness is put down."""
        if reply.finish == "declined":
            self._recorder.answer(reply.message.content)
            self.end("refusal", "declined by the model's provider")
            return False
        if reply.message.calls:
            self._carry_out(reply.message, cut=reply.finish == "length")
            return True
        if reply.finish == "length":
            self._recorder.answer(reply.message.content)
            self.end("error", "the model's answer was cut at its limit of tokens")
            return False
        if not reply.message.content.strip():  # nobody could answer that
            self.end("error", "the model's answer was empty: no words and no calls")
            return False
        return self._said(reply.message.content)

    def _said(self, words: str) -> bool:
        self._recorder.answer(words)
        if words.lstrip().startswith(REFUSED):
            self.end("refusal", None)
            return False
        # What stands beside calls is a thought: nobody said it to the user.
        conversation = [
            message
            for message in self.played.messages
            if message.role in ("user", "assistant") and message.content and not message.calls
        ]
        began, self._with_user = time.monotonic(), True
        try:
            answer, reply = self._user.reply(conversation)
        finally:
            self._waited += time.monotonic() - began
        self._with_user = False
        if reply is not None:
            self.played.user_spent = self.played.user_spent + _spent(reply.usage)
        if answer is None:
            self.end("answer", None)
            return False
        self._recorder.user(answer)
        self.played.messages.append(Message(role="user", content=answer))
        return True

    def _carry_out(self, message: Message, *, cut: bool) -> None:
        last = len(message.calls) - 1
        for at, call in enumerate(message.calls):
            thought = message.content if at == 0 and message.content else None
            # A call that was cut before its first argument would pass for one without any.
            lost = cut and at == last and not call.arguments
            result = self._one(call, thought, None if lost else read_arguments(call.arguments))
            self._waited += result.seconds or 0.0
            self.played.messages.append(
                Message(role="tool", content=result.content, answers=call.id)
            )

    def _one(self, call: ToolCall, thought: str | None, arguments: dict[str, Any] | None) -> Result:
        number = self._calls
        text = call.arguments if arguments is None else None
        instead: Result | None = None
        if number >= self._limits.calls:
            instead = Result(ok=False, content="not carried out: too many calls", error="budget")
        else:
            self._calls += 1
            if arguments is None:
                content = "the arguments are not a JSON object; nothing was done"
                instead = Result(ok=False, content=content, error="invalid_call")
            elif self._gate is not None:
                instead = self._gate(number, call.name, arguments)
        if instead is not None:
            self._recorder.add(call.name, arguments or {}, instead, text=text, thought=thought)
            return instead
        return self._recorder.call(call.name, arguments or {}, thought=thought)


def _spent(usage: Usage) -> Spent:
    return Spent(
        prompt=usage.prompt,
        completion=usage.completion,
        dollars=usage.dollars,
        requests=usage.requests,
    )
