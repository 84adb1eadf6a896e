"""Episodes that end at once when somebody says stop, with a model's answer still on its way."""

from __future__ import annotations

import threading
from typing import Any

from vepa.errors import RunError
from vepa.llm.messages import Model, ModelReply, ModelRequest

__all__ = ["StoppableModel", "StoppedError"]

#: Seconds that an answer on its way gets to arrive: it is paid for already.
_GRACE = 5.0


class StoppedError(RunError):
    """The collection was stopped while this episode was played; it has no end yet."""


class StoppableModel:
    """A model that asks nothing any more once it was told to stop.

    Parameters
    ----------
    model
        Who is asked.
    stopping
        Set when it has to stop.
    waits
        Whether its answers take time: then nobody waits for one much longer.
    """

    def __init__(self, model: Model, stopping: threading.Event, *, waits: bool = True):
        self._model = model
        self._stopping = stopping
        self._waits = waits

    @property
    def name(self) -> str:
        """As it was asked for."""
        return self._model.name

    def ask(self, request: ModelRequest) -> ModelReply:
        """See `Model.ask`; raises `StoppedError` when it was told to stop."""
        if self._stopping.is_set():
            raise StoppedError("stopped before the model was asked")
        if not self._waits:
            return self._model.ask(request)
        done = threading.Event()
        box: dict[str, Any] = {}

        def work() -> None:
            try:
                box["reply"] = self._model.ask(request)
            except BaseException as error:  # noqa: BLE001 - raised again by the one who waits
                box["error"] = error
            finally:
                done.set()

        threading.Thread(target=work, name="vepa-ask", daemon=True).start()
        while not done.wait(0.2):
            if self._stopping.is_set():
                if done.wait(_GRACE):
                    break
                raise StoppedError("stopped while the model was answering")
        if "error" in box:
            raise box["error"]
        reply: ModelReply = box["reply"]
        return reply
