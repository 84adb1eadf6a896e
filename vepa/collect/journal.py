"""Answers that were paid for, kept until their episode is whole.

An episode that was killed in the middle is played again from the seed. Its tools answer the same,
so the model would be asked the same: what it answered then stands in the journal, and nothing is
paid twice. A question that differs from the journal's, or that goes to another server, is asked
anew, and the rest of the journal is dropped.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from vepa.errors import BudgetError, ModelError, RunError
from vepa.llm.budget import Budget
from vepa.llm.messages import Message, Model, ModelReply, ModelRequest, Usage

__all__ = ["Journal", "NotKeptError"]

#: Keys of an entry: the question, who was asked, how, and what came back.
_KEYS = {"request", "asked", "how", "reply"}


class NotKeptError(RunError):
    """What was paid for cannot be written down: nothing more must be asked."""


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

    def keeping(self, model: Model, how: str = "", budget: Budget | None = None) -> Model:
        """A model whose answers are kept here; several share one journal.

        Parameters
        ----------
        model
            Who is asked.
        how
            What beside its name tells it from others: its address, its settings.
        budget
            Of this episode: answers that were paid for earlier count in it again.
        """
        return _Kept(self, model, how, budget)

    def answer(
        self, model: Model, request: ModelRequest, how: str = "", budget: Budget | None = None
    ) -> ModelReply:
        """The kept answer to this question, or a new one, which is then kept.

        Raises
        ------
        NotKeptError
            When the ledger or the journal cannot be written.
        """
        number, self._at = self._at, self._at + 1
        asked = {"request": request.content_hash, "asked": model.name, "how": how}
        if number < len(self._known):
            entry = self._known[number]
            if all(entry[key] == value for key, value in asked.items()):
                reply = _reply(entry["reply"])
                if budget is not None:
                    budget.count(reply.usage)
                self.replayed += 1
                return reply
        try:
            if number < len(self._known):
                self._cut(number)
            reply = model.ask(request)
            self._append({**asked, "reply": _plain(reply)})
        except (BudgetError, ModelError):
            raise
        except RunError as error:  # of the ledger
            raise NotKeptError(str(error)) from error
        except OSError as error:
            raise _not_kept(self._path, error) from error
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
            handle.write(json.dumps(entry).encode() + b"\n")
            handle.flush()
            os.fsync(handle.fileno())

    def _cut(self, number: int) -> None:
        """Keep the first entries only."""
        kept = self._known[:number]
        self._known = []
        text = "".join(json.dumps(entry) + "\n" for entry in kept)
        beside = self._path.with_suffix(".cut")
        beside.write_bytes(text.encode())
        beside.replace(self._path)


def _not_kept(path: Path, error: OSError) -> NotKeptError:
    return NotKeptError(f"answers cannot be kept in {path}: {error.strerror or error}")


class _Kept:
    def __init__(self, journal: Journal, model: Model, how: str, budget: Budget | None):
        self._journal = journal
        self._model = model
        self._how = how
        self._budget = budget

    @property
    def name(self) -> str:
        return self._model.name

    def ask(self, request: ModelRequest) -> ModelReply:
        return self._journal.answer(self._model, request, self._how, self._budget)


def _read(path: Path) -> list[dict[str, Any]]:
    """The good lines; half a line, of a kill, and what follows a damaged one are cut off."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _not_kept(path, error) from error
    entries: list[dict[str, Any]] = []
    good = 0
    while (end := content.find(b"\n", good) + 1) > 0:
        entry = _entry(content[good:end])
        if entry is None:
            break
        entries.append(entry)
        good = end
    if good != len(content):
        with open(path, "rb+") as handle:
            handle.truncate(good)
    return entries


def _entry(line: bytes) -> dict[str, Any] | None:
    """One line, if it is an entry of this version."""
    try:
        entry = json.loads(line)
        if not isinstance(entry, dict) or set(entry) != _KEYS:
            return None
        _reply(entry["reply"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return entry


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
