"""Deterministic stand-ins for models: no network, no cost, and marked as what they are."""

from __future__ import annotations

from typing import Protocol

from vepa.llm.messages import Finish, Message, ModelReply, ModelRequest
from vepa.llm.shapes import read_structured
from vepa.llm.tally import Tally

__all__ = ["Script", "ScriptedModel"]


class Script(Protocol):
    """Decides what a scripted model says; it sees what a real model would see, and no more."""

    def reply(self, request: ModelRequest) -> Message:
        """The assistant's message; the same request must always get the same one."""
        ...


class ScriptedModel:
    """A script behind the interface of a model.

    Parameters
    ----------
    name
        `scripted/NAME`.
    script
        What it says.
    """

    def __init__(self, name: str, script: Script):
        self.name = name
        self._script = script

    def answer(self, request: ModelRequest, tally: Tally) -> ModelReply:
        """Answer a request.

        Raises
        ------
        ModelError
            `malformed`: a structured answer does not fit; a script gets no second chance.
        """
        tally.source = "scripted"
        message = self._script.reply(request)
        if message.role != "assistant":
            raise TypeError(f"a script spoke as {message.role!r}, not as the assistant")
        finish: Finish = "tools" if message.calls else "stop"
        data = None
        if request.shape is not None and not message.calls:
            data = read_structured(message.content, request.shape, self.name)
        return ModelReply(message, finish, self.name, "scripted", data, tally.usage())
