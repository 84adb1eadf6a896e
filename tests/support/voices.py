"""A stand-in for the model that baselines ask: it answers by functions of what it is shown."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from typing import Any

from vepa.bench.baselines.asked.opening import Asking, open_asking
from vepa.bench.baselines.asked.settings import AskedSettings
from vepa.llm import Message, ModelRequest

__all__ = ["Voice", "block_lines", "colour_judge"]

Lines = list[dict[str, Any]]
_BLOCK = re.compile(r"<([a-z]+)-([0-9a-f]{16})>\n(.*)\n</\1-\2>", re.DOTALL)


def block_lines(text: str) -> Lines:
    """The JSON lines of the data block in a message."""
    found = _BLOCK.search(text)
    assert found, "no data block"
    return [json.loads(line) for line in found[3].splitlines()]


def colour_judge(lines: Lines) -> dict[str, Any]:
    """Refuses what is red."""
    red = lines[-1]["event"]["colour"] == "red"
    return {"reason": "It is so.", "verdict": "refuse" if red else "allow", "confidence": 0.75}


class Voice:
    """Answers by the prompt's name; keeps what it was asked.

    Parameters
    ----------
    answers
        Prompt -> the answer to the lines of its block: data, or text as it stands.
    """

    def __init__(self, **answers: Callable[[Lines], dict[str, Any] | str]):
        self.answers = {name.replace("_", "-"): each for name, each in answers.items()}
        self.asked: list[tuple[str, Lines]] = []
        self.requests: list[ModelRequest] = []
        self._lock = threading.Lock()

    def reply(self, request: ModelRequest) -> Message:
        assert request.item is not None
        name, lines = request.item.template, block_lines(request.messages[-1].content)
        with self._lock:
            self.asked.append((name, lines))
            self.requests.append(request)
        said = self.answers[name](lines)
        return Message(
            role="assistant", content=said if isinstance(said, str) else json.dumps(said)
        )

    def asking(self, **settings: Any) -> Asking:
        """What baselines take, with this voice behind it."""
        return open_asking(AskedSettings(model="scripted/voice", **settings), script=self)

    def of(self, name: str) -> list[Lines]:
        """The blocks that one prompt was asked with."""
        return [lines for prompt, lines in self.asked if prompt == name]
