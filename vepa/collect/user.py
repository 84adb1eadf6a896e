"""The user of an episode: a persona, played by a script or by a model."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from vepa.collect.personas import Persona
from vepa.collect.tasks.model import Task
from vepa.errors import ModelError
from vepa.llm.messages import Message, Model, ModelReply, ModelRequest
from vepa.llm.prompts import Prompt
from vepa.services.world import World

__all__ = ["UserScript", "UserSimulator"]


class UserSimulator:
    """Answers the agent's messages as the persona would.

    It sees the conversation and what the persona knows; never tools, results or checks.

    Parameters
    ----------
    model
        Who plays it.
    task, persona, world
        Whose request it is.
    prompt
        The prompt `user`.
    """

    def __init__(self, model: Model, task: Task, persona: Persona, world: World, prompt: Prompt):
        self._model = model
        self._task = task
        self._persona = persona
        self._world = world
        self._prompt = prompt

    def request(self, conversation: Sequence[Message]) -> ModelRequest:
        """What the model that plays the user receives, after the agent's words."""
        answered = sum(message.role == "user" for message in conversation) - 1
        system = self._prompt.render(
            {
                "person": self._world.person(self._persona.person).model_dump(mode="json"),
                "company": self._world.company.model_dump(mode="json"),
                "position": self._persona.position,
                "manner": self._persona.manner,
                "confirms": self._persona.confirms,
                "refuses": self._persona.refuses,
                "request": self._task.request.strip(),
                "facts": [saying.says for saying in self._task.user],
                "left": max(0, self._persona.patience - answered),
            }
        )
        # Seen from the user's side the agent speaks to it: roles are turned around.
        turned = [
            Message(role="assistant" if message.role == "user" else "user", content=message.content)
            for message in conversation
            if message.role in ("user", "assistant") and message.content
        ]
        return ModelRequest(
            messages=(Message(role="system", content=system), *turned), shape=self._prompt.shape
        )

    def reply(self, conversation: Sequence[Message]) -> tuple[str | None, ModelReply | None]:
        """The user's next words, None when there are none; and the reply that they come from.

        Parameters
        ----------
        conversation
            User turns and the agent's words so far, the agent's last.

        Raises
        ------
        ModelError
            When the model that plays the user fails.
        """
        answered = sum(message.role == "user" for message in conversation) - 1
        if answered > self._persona.patience:  # said no more, whatever the model would say
            return None, None
        reply = self._model.ask(self.request(conversation))
        data = reply.data
        if data is None:  # declined, or cut by its provider
            raise ModelError(f"{self._model.name}: it does not play the user", "malformed")
        if data["done"]:
            return None, reply
        if answered == self._persona.patience:
            return self._persona.replies.impatient.strip(), reply
        return str(data["say"]).strip() or None, reply


class UserScript:
    """A deterministic user: the task's sayings by their patterns, the persona's words otherwise.

    Parameters
    ----------
    task, persona
        Whose request it is.
    """

    def __init__(self, task: Task, persona: Persona):
        self._task = task
        self._persona = persona

    def reply(self, request: ModelRequest) -> Message:
        """The next answer, as the JSON that the prompt `user` asks for."""
        asked = request.messages[-1].content
        say = ""
        if "?" in asked:
            fitting = (
                saying.says
                for saying in self._task.user
                if re.search(saying.asked, asked, re.IGNORECASE | re.DOTALL)
            )
            say = next(fitting, self._persona.replies.unsure).strip()
        return Message(
            role="assistant", content=json.dumps({"done": not say, "say": say}, ensure_ascii=False)
        )
