"""A judge behind a loopback server that plays a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from errands import MODEL, asked_at
from model_servers import FAKE_KEY, ModelServer, Plan

from vepa.guard.fallback import ModelJudge
from vepa.llm import Message, ModelRequest, open_model
from vepa.llm.prompts import load_prompt
from vepa.project import Project


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", FAKE_KEY)


@pytest.fixture(scope="session")
def warm() -> None:
    """litellm loads much of itself at its first call; no test's clock runs while it does."""
    with pytest.MonkeyPatch.context() as patch, ModelServer() as server:
        patch.setenv("OPENAI_API_KEY", FAKE_KEY)
        asked = ModelRequest(messages=(Message(role="user", content="u"),))
        open_model(MODEL, settings=asked_at(server, timeout=150, deadline=160)).ask(asked)


@pytest.fixture
def server(warm: None) -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def judge(server: ModelServer) -> Callable[[Plan], ModelJudge]:
    def made(plan: Plan) -> ModelJudge:
        server.play(plan)
        return ModelJudge(
            open_model(MODEL, settings=asked_at(server)), load_prompt(Project(), "judge")
        )

    return made
