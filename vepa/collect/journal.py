"""Answers that were paid for, kept until their episode is whole.

An episode that was killed in the middle is played again from the seed. Its tools answer the same,
so the model would be asked the same: what it answered then stands in the journal, and nothing is
paid twice. A question that differs from the journal's is asked anew, and the rest of the journal is
dropped.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from vepa.llm.messages import Message, Model, ModelReply, ModelRequest, Usage

__all__ = ["Journal"]


class Journal:
    """The answers of one episode, in the order of their questions.

    Parameters
    ----------
    path
        Its file; JSON Lines, appended to and synced after every answer.

    Attributes
    ----------
    replayed
        How many answers came from it.
    """

    def __init__(self, path: Path):
        self._path = path
        self._known = _read(path)
        self._at = 0
        self.replayed = 0

    def keeping(self, model: Model) -> Model:
        """A model whose answers are kept here; several share one journal."""
        return _Kept(self, model)

    def answer(self, model: Model, request: ModelRequest) -> ModelReply:
        """The kept answer to this question, or a new one, which is then kept."""
        number, self._at = self._at, self._at + 1
        if number < len(self._known):
            entry = self._known[number]
            if entry["request"] == request.content_hash and entry["asked"] == model.name:
                self.replayed += 1
                return _reply(entry["reply"])
            self._cut(number)
        reply = model.ask(request)
        self._append({"request": request.content_hash, "asked": model.name, "reply": _plain(reply)})
        return reply

    def rewind(self) -> None:
        """Begin again at the first question: the episode is played anew."""
        self._known = _read(self._path)
        self._at = 0

    def drop(self) -> None:
        """Remove the file: the episode is whole."""
        self._path.unlink(missing_ok=True)

    def _append(self, entry: dict[str, Any]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(self._path, "ab") as handle:
            handle.write(json.dumps(entry, ensure_ascii=False).encode() + b"\n")
            handle.flush()
            os.fsync(handle.fileno())

    def _cut(self, number: int) -> None:
        """Keep the first entries only."""
        kept = self._known[:number]
        self._known = []
        text = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in kept)
        beside = self._path.with_suffix(".cut")
        beside.write_bytes(text.encode())
        beside.replace(self._path)


class _Kept:
    def __init__(self, journal: Journal, model: Model):
        self._journal = journal
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    def ask(self, request: ModelRequest) -> ModelReply:
        return self._journal.answer(self._model, request)


def _read(path: Path) -> list[dict[str, Any]]:
    """The whole lines; a kill may have cut the last one, which is removed."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        with open(path, "rb+") as handle:
            handle.truncate(len(whole))
    entries: list[dict[str, Any]] = []
    for line in whole.splitlines():
        try:
            entries.append(json.loads(line))
        except ValueError:  # a damaged line and all after it are asked anew
            break
    return entries


def _plain(reply: ModelReply) -> dict[str, Any]:
    data = asdict(replace(reply, message=None))  # type: ignore[arg-type]
    data["message"] = reply.message.model_dump(mode="json")
    return data


def _reply(data: dict[str, Any]) -> ModelReply:
    return ModelReply(
        **{
            **data,
            "message": Message.model_validate_json(json.dumps(data["message"])),
            "usage": Usage(**data["usage"]),
        }
    )
