"""A loopback vendor with batch APIs."""

from __future__ import annotations

import pytest
from batch_clients import KEY
from batch_servers import BatchServer


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


@pytest.fixture
def server():
    with BatchServer() as running:
        yield running


@pytest.fixture(params=["openai", "anthropic"])
def wire(request):
    return request.param
