"""A loopback model for the tests of annotators."""

from __future__ import annotations

import pytest
from model_servers import FAKE_KEY, ModelServer


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", FAKE_KEY)


@pytest.fixture
def server():
    with ModelServer() as running:
        yield running
