"""Loopback models for the tests of the model parser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from errands import MODEL, asked_at
from hypothesis import HealthCheck, settings
from model_servers import FAKE_KEY, ModelServer

from vepa.llm import Message, ModelRequest, open_model

settings.register_profile("vepa", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("vepa")


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
