"""Collections over the tiny office with models on loopback servers, or made of answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from model_servers import ModelServer, Plan, Seen

from vepa.collect.collecting import Collected, Collection
from vepa.collect.orders import Materials, orders_of
from vepa.collect.pool import OfficePool
from vepa.collect.settings import CollectSettings
from vepa.collect.tasks import Task
from vepa.corpus.episode import Episode, stream_episodes
from vepa.llm import Message, ModelReply, ModelRequest, ModelSettings, ToolCall, Usage, open_model

NAMES = {"openai": "openai/gpt-4o-mini", "anthropic": "anthropic/claude-sonnet-4-5"}


@dataclass
class Desk:
    """A folder, an office and a server: what a collection with a real model takes."""

    folder: Path
    tasks: Sequence[Task]
    materials: Materials
    pool: OfficePool
    server: ModelServer
    kind: str = "openai"
    stream: bool = False
    asked: dict[str, Any] = field(default_factory=dict)

    @property
    def model(self) -> str:
        return NAMES[self.kind]

    def collect(
        self,
        plan: Plan | None = None,
        *tasks: str,
        asked: dict[str, Any] | None = None,
        **more: Any,
    ) -> Collected:
        """Play tasks (all without names); a plan begins the server's count anew.

        `asked` are settings of the model, further words those of the collection.
        """
        if plan is not None:
            self.server.play(plan)
        quick = {"first_wait": 0.01, "max_attempts": 3, "max_tokens": 200, "timeout": 60.0}
        settings = CollectSettings(
            **{
                "models": [self.model],
                "max_tokens": 200,
                "offices": 1,
                "model_settings": {
                    self.model: ModelSettings(
                        api_base=getattr(self.server, self.kind),
                        stream=self.stream,
                        **{**quick, **(asked or {})},
                    )
                },
                **more,
            }
        )
        wanted = [task for task in self.tasks if not tasks or task.id in tasks]
        orders = orders_of(wanted, settings, self.materials)
        return Collection(self.folder).collect(orders, self.materials, settings, self.pool)

    def episodes(self) -> list[Episode]:
        return list(stream_episodes(self.folder / "episodes"))

    def one(self, plan: Plan, **more: Any) -> Episode:
        """The one episode of the clean task."""
        assert self.collect(plan, "memo-milk", **more).whole
        (episode,) = self.episodes()
        return episode

    def adds_up(self) -> None:
        """The ledger says what the server counted."""
        total = Collection(self.folder).ledger.totals()["all"]
        assert (total.prompt, total.completion) == (self.server.prompt, self.server.completion)
        assert total.requests == self.server.requests

    def hides(self, key: str) -> None:
        """No file that was written holds the key."""
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        assert [path for path in files if key.encode() in path.read_bytes()] == []

    def left(self) -> list[str]:
        """Files that are neither an episode nor the ledger."""
        return sorted(
            path.name
            for path in self.folder.rglob("*")
            if path.is_file()
            and path.name not in (".lock", "ledger.jsonl")
            and not path.name.endswith(".episode.json")
        )


def turn_of(seen: Seen) -> int:
    """How many messages of the assistant a request holds."""
    return sum(message["role"] == "assistant" for message in seen.body["messages"])


def of_user(seen: Seen) -> bool:
    """Whether the request is for who plays the user."""
    return b"You play " in seen.raw


def replies(step: Any) -> list[str | None]:
    """Error kinds of an episode's calls, None for those that went well."""
    return [each.result.error for each in step.trajectory.steps if each.result is not None]


class Answers:
    """A model made of answers, by the number of its turn; the last one goes on for ever."""

    def __init__(self, *answers: Message | ModelReply | BaseException, name: str = "made/up"):
        self.name = name
        self.asked: list[ModelRequest] = []
        self._answers = answers

    def ask(self, request: ModelRequest) -> ModelReply:
        turn = sum(message.role == "assistant" for message in request.messages)
        self.asked.append(request)
        answer = self._answers[min(turn, len(self._answers) - 1)]
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, ModelReply) else reply_of(answer)


def reply_of(message: Message, **more: Any) -> ModelReply:
    words = {"finish": "tools" if message.calls else "stop", "usage": Usage(100, 10, 0.001, 1)}
    return ModelReply(message=message, model="made-up", source="provider", **{**words, **more})


def say(text: str = "", *calls: tuple[str, str]) -> Message:
    """An assistant's message; calls are names and texts of arguments."""
    made = tuple(ToolCall(id=f"c{at}", name=name, arguments=text) for at, (name, text) in
                 enumerate(calls))  # fmt: skip
    return Message(role="assistant", content=text, calls=made)


def opened(**models: Any) -> Callable[..., Any]:
    """In the place of `open_model`: models by the last part of their names."""

    def opening(name: str, **options: Any) -> Any:
        made = models.get(name.rpartition("/")[2])
        return open_model(name, **options) if made is None else made

    return opening
