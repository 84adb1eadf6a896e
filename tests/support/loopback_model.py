"""Fixtures of tests that ask a model behind a loopback server; a conftest imports them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from errands import MODEL, asked_at
from model_servers import FAKE_KEY, ModelServer

from vepa.llm import Message, ModelRequest, open_model

__all__ = ["key", "server", "warm"]


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
