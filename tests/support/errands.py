"""An ordinary errand as a trace, hostile ones made out of it, and how a loopback model is asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from model_servers import ModelServer

from vepa.corpus.tools import ToolMetadata
from vepa.corpus.trajectory import Call, OfferedTool, Premises, Result, Step, Trajectory
from vepa.llm import ModelSettings

MODEL = "openai/gpt-4o-mini"
_FILE = Path(__file__).parent.parent / "parsing" / "llm" / "hostile.yaml"


@dataclass(frozen=True)
class Hostile:
    """One entry of hostile.yaml."""

    name: str
    place: str
    wants: dict[str, str]
    text: str
    inside: bool = False
    repeat: int = 1
    then: str = ""

    @property
    def whole(self) -> str:
        return self.text * self.repeat + self.then

    @property
    def trace(self) -> Trajectory:
        """An ordinary errand, with the text in its place."""
        return errand(self.name, **{self.place: self.whole})


def errand(name: str = "errand", **words: str) -> Trajectory:
    """A mail is read and answered; `words` replace what stands at places of the trace."""
    parameters: dict[str, Any] = {
        "type": "object",
        "properties": {"to": {"type": "string", "description": words.get("parameters", "whom")}},
    }
    tool = ToolMetadata(
        name="send_mail",
        environment=words.get("service", "mail"),
        description=words.get("description", "Sends a mail."),
        parameters=parameters,
        effect="write",
        event={"action_kind": "send"},
        origin="none",
    )
    error = words.get("error")
    steps = [
        Step(index=0, kind="user", text=words.get("user", "Answer the mail of Ben.")),
        Step(
            index=1,
            kind="call",
            call=Call(id="c1", tool="read_mail", arguments={"id": "mail#1"}),
            result=Result(ok=True, content=words.get("result", '{"from": "ben@office.test"}')),
            thought=words.get("thought"),
        ),
        Step(index=2, kind="observation", text=words.get("observation", "It is noon.")),
        Step(
            index=3,
            kind="call",
            call=Call(
                id="c2",
                tool=words.get("tool", "send_mail"),
                environment=words.get("service", "mail"),
                arguments={words.get("key", "to"): words.get("argument", "ben@office.test")},
                text=words.get("written"),
            ),
            result=Result(ok=error is None, content=error or "sent", error=error),
            speaker=words.get("speaker"),
        ),
        Step(index=4, kind="answer", text=words.get("answer", "I answered Ben.")),
    ]
    return Trajectory(
        id=name,
        tools=[tool],
        offered=[OfferedTool(name="look", description=words["offered"])]
        if "offered" in words
        else [],
        premises=Premises(own=["petra@office.test"], account=words.get("account", "petra")),
        system=words.get("system", "You are an office assistant."),
        steps=steps,
    )


def hostile() -> list[Hostile]:
    return [Hostile(**entry) for entry in yaml.safe_load(_FILE.read_text(encoding="utf-8"))]


def asked_at(server: ModelServer, **more: Any) -> ModelSettings:
    """Settings of a model behind a loopback server."""
    given = {"first_wait": 0.01, "max_attempts": 2, "max_tokens": 600, "timeout": 30.0, **more}
    return ModelSettings(api_base=server.openai, **given)
