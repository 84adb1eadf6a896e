"""The scripted agent: follows a task's plan, from nothing but the conversation that it is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from vepa.collect.arguments import read_answer
from vepa.collect.tasks.plan import Turn
from vepa.errors import InputError
from vepa.llm.messages import Message, ModelRequest, ToolCall
from vepa.services.templates import render

__all__ = ["REFUSED", "PlanScript"]

#: How an agent's final message begins when it declines; the agent's prompt asks for it.
REFUSED = "REFUSED:"


class PlanScript:
    """Answers a request with the plan's next turn.

    Where it stands and what earlier calls answered it reads from the request's messages, like a
    model: it has no memory of its own, so threads may share it and an episode can be resumed.

    Parameters
    ----------
    turns
        The plan, `same` resolved.
    """

    def __init__(self, turns: Sequence[Turn]):
        self._turns = list(turns)

    def reply(self, request: ModelRequest) -> Message:
        """The next message.

        Raises
        ------
        InputError
            When a template of the plan does not fit what the tools answered.
        """
        said = [message for message in request.messages if message.role == "assistant"]
        if len(said) >= len(self._turns):
            return Message(role="assistant", content="I have nothing to add.")
        turn = self._turns[len(said)]
        names = self._names(request.messages)
        made = sum(len(message.calls) for message in said)
        try:
            calls = tuple(
                ToolCall(
                    id=f"call-{made + at + 1}",
                    name=move.call,
                    arguments=json.dumps(render(move.arguments, names), ensure_ascii=False),
                )
                for at, move in enumerate(turn.moves)
            )
            words = "" if turn.words is None else str(render(turn.words, names)).strip()
        except InputError as error:
            raise InputError(
                f"turn {len(said) + 1} of the plan: {error.message}", remedy=error.remedy
            ) from None
        if turn.refuse is not None:
            words = f"{REFUSED} {words}"
        return Message(role="assistant", content=words, calls=calls)

    def _names(self, messages: Sequence[Message]) -> dict[str, Any]:
        """What templates know: answers by the ids of their calls, and the user's last words."""
        answers = {
            message.answers: message.content for message in messages if message.answers is not None
        }
        names: dict[str, Any] = {}
        turns = iter(self._turns)
        for message in messages:
            if message.role == "user":
                names["reply"] = message.content
            elif message.role == "assistant":
                names |= _answered(next(turns), message.calls, answers)
        return names


def _answered(turn: Turn, calls: Sequence[ToolCall], answers: Mapping[str, str]) -> dict[str, Any]:
    return {
        move.id: read_answer(answers.get(call.id, ""))
        for move, call in zip(turn.moves, calls, strict=True)
        if move.id
    }
