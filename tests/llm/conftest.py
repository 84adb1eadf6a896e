"""Models on loopback servers; nothing in these tests reaches any other network."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from model_servers import FAKE_KEY, ModelServer, Plan

from vepa.llm import Message, Model, ModelRequest, ModelSettings, open_model

NAMES = {"openai": "openai/gpt-4o-mini", "anthropic": "anthropic/claude-sonnet-4-5"}


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in (
            "127.0.0.1",
            "::1",
        ):
            raise AssertionError(f"a test wanted to reach {address!r}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OPENAI_API_KEY", FAKE_KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", FAKE_KEY)
    return FAKE_KEY


@pytest.fixture(scope="session")
def warm() -> None:
    """litellm loads much of itself at its first calls; no test's clock runs while it does."""
    said = ModelRequest(messages=(Message(role="user", content="u"),))
    with pytest.MonkeyPatch.context() as patch, ModelServer() as server:
        patch.setenv("OPENAI_API_KEY", FAKE_KEY)
        patch.setenv("ANTHROPIC_API_KEY", FAKE_KEY)
        for kind, name in NAMES.items():
            for stream in (False, True):
                settings = ModelSettings(
                    api_base=getattr(server, kind), stream=stream, timeout=150, deadline=160
                )
                open_model(name, settings=settings).ask(said)


@pytest.fixture
def server(warm: None) -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@dataclass(frozen=True)
class Wire:
    """One wire format, streamed or not."""

    kind: str
    stream: bool
    server: ModelServer

    def model(self, plan: Plan, **options: Any) -> Model:
        """A model behind a server that plays a plan; words that are no settings go to the door."""
        self.server.play(plan)
        known = set(ModelSettings.model_fields)
        settings = {"first_wait": 0.01, "max_attempts": 3, "max_tokens": 200, "timeout": 30.0}
        settings |= {name: value for name, value in options.items() if name in known}
        return open_model(
            NAMES[self.kind],
            settings=ModelSettings(
                api_base=getattr(self.server, self.kind), stream=self.stream, **settings
            ),
            **{name: value for name, value in options.items() if name not in known},
        )


@pytest.fixture(params=["openai", "openai-stream", "anthropic", "anthropic-stream"])
def wire(request: pytest.FixtureRequest, server: ModelServer) -> Wire:
    kind, _, stream = request.param.partition("-")
    return Wire(kind, bool(stream), server)


@pytest.fixture
def openai(server: ModelServer) -> Wire:
    return Wire("openai", False, server)


@pytest.fixture
def hello() -> ModelRequest:
    return ModelRequest(
        messages=(
            Message(role="system", content="You are a clerk."),
            Message(role="user", content="canary-text-of-the-request"),
        )
    )
