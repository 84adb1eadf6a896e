"""What the models of a collection receive, byte for byte."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from vepa.collect import playing
from vepa.collect.orders import Order
from vepa.llm import Model, ModelReply, ModelRequest


class Heard:
    """Writes down the bytes that each episode's agent receives.

    Attributes
    ----------
    bytes
        Episode -> its requests in order.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.bytes: dict[str, list[bytes]] = {}
        self._lock = threading.Lock()
        monkeypatch.undo()  # the one before hears no more
        opened = playing.Player._agent

        def listening(player: Any, order: Order, *rest: Any) -> Model:
            model = opened(player, order, *rest)
            with self._lock:
                heard = self.bytes[order.id] = []
            return _Ear(model, heard)

        monkeypatch.setattr(playing.Player, "_agent", listening)


class _Ear:
    def __init__(self, model: Model, heard: list[bytes]):
        self._model, self._heard = model, heard

    @property
    def name(self) -> str:
        return self._model.name

    def ask(self, request: ModelRequest) -> ModelReply:
        self._heard.append(request.bytes)
        return self._model.ask(request)
