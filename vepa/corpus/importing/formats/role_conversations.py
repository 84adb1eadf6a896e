"""Conversations of turns with a role, as steps and back again (see `role_turns`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from vepa.corpus.importing.draft import Draft
from vepa.corpus.importing.formats.actions import Act
from vepa.corpus.importing.report import Foreign
from vepa.corpus.trajectory import Step
from vepa.errors import InputError, Where

__all__ = ["Parts", "Spelling", "Turn", "read_conversation", "turns_of"]


class Turn(Foreign):
    """One turn."""

    role: Literal["user", "agent", "environment"]
    content: str | None = None
    thought: str | None = None
    action: str | None = None


@dataclass(frozen=True, slots=True)
class Parts:
    """What a turn of an agent becomes, before it is a step.

    Attributes
    ----------
    act
        Call or words.
    thought
        What the agent wrote for itself.
    result
        What the call gave back.
    """

    act: Act
    thought: str | None = None
    result: str | None = None

    @classmethod
    def of(cls, step: Step) -> Parts:
        """The parts of a step."""
        call = step.call
        act = Act(None, text=step.text)
        if call is not None:
            act = Act(call.tool, call.arguments, call.text)
        return cls(act, step.thought, None if step.result is None else step.result.content)


class Spelling(Protocol):
    """How a benchmark writes an agent's turns."""

    def parts(self, turn: Turn, answered: bool, heard: str) -> Parts:
        """What an agent's turn becomes."""

    def observed(self, turn: Mapping[str, Any]) -> str | None:
        """A result that stands inside the agent's own turn."""

    def spell(self, parts: Parts) -> dict[str, Any]:
        """The turn as this benchmark mostly spells it."""


def turns_of(step: Step, spelling: Spelling) -> Iterator[dict[str, Any]]:
    """The turns that a step was read from, exactly as they were."""
    if step.written is not None:
        data = json.loads(step.written)
        if isinstance(data, list):  # the environment's turn is among them
            yield from data
            return
        turn = data
    elif step.kind in ("user", "observation"):
        turn = _said("user" if step.kind == "user" else "environment", step.text)
    else:
        turn = spelling.spell(Parts.of(step))
    yield turn
    if step.result is not None and spelling.observed(turn) is None:
        yield _said("environment", step.result.content)


def read_conversation(
    turns: Sequence[Turn],
    source: Sequence[Mapping[str, Any]],
    place: str,
    draft: Draft,
    spelling: Spelling,
) -> None:
    """Read the turns of one conversation into a draft.

    Parameters
    ----------
    turns, source
        The turns, checked, and as they were.
    place
        Where they stand in the record.
    draft
        Takes the steps.
    spelling
        The benchmark's.

    Raises
    ------
    InputError
        When a turn says nothing that its role could say.
    """
    for at, turn in enumerate(turns):
        _check(turn, source[at], f"{place}.{at}")
    _Conversation(turns, source, draft, spelling).read()


def _check(turn: Turn, source: Mapping[str, Any], place: str) -> None:
    wanted = ("thought", "action") if turn.role == "agent" else ("content",)
    if not any(name in source for name in wanted):
        raise InputError(
            f"a turn of the {turn.role} without {' or '.join(wanted)}",
            where=Where(field=f"{place}.{wanted[-1]}"),
            remedy="an agent's turn has `thought` and `action`, the others have `content`",
        )


class _Conversation:
    def __init__(
        self,
        turns: Sequence[Turn],
        source: Sequence[Mapping[str, Any]],
        draft: Draft,
        spelling: Spelling,
    ):
        self._turns, self._source = turns, source
        self._draft, self._spelling = draft, spelling
        #: What the environment said last.
        self._heard = ""

    def read(self) -> None:
        at = 0
        while at < len(self._turns):
            at += self._agent(at) if self._turns[at].role == "agent" else self._other(at)

    def _other(self, at: int) -> int:
        turn = self._turns[at]
        text = turn.content or ""
        written = _written([_said(turn.role, text)], [self._source[at]])
        if turn.role == "user":
            self._draft.user(text, written=written)
        else:
            self._draft.observe(text, written=written)
            self._heard = text
        return 1

    def _agent(self, at: int) -> int:
        """One step of the agent; returns how many turns it took."""
        after = self._turns[at + 1] if at + 1 < len(self._turns) else None
        follows = after is not None and after.role == "environment"
        reply = after.content if after is not None and follows else None
        parts = self._spelling.parts(self._turns[at], reply is not None, self._heard)
        source = [self._source[at]]
        given = parts.act.tool is not None and parts.result is None and reply is not None
        if given:
            parts = Parts(parts.act, parts.thought, reply)
        silent = follows and reply is None  # a turn in which nothing came is no step
        if silent or (given and self._source[at + 1] != _said("environment", reply)):
            source.append(self._source[at + 1])
        self._add(parts, _written([self._spelling.spell(parts)], source))
        if given:
            self._heard = reply or ""
        return 2 if given or silent else 1

    def _add(self, parts: Parts, written: str | None) -> None:
        act, more = parts.act, {"thought": parts.thought, "written": written}
        if act.tool is None:
            self._draft.answer(act.text or "", **more)
            return
        step = self._draft.call(act.tool, act.text or act.arguments, **more)
        if parts.result is not None:
            ok = not _failed(parts.result)
            self._draft.result(parts.result, id=f"call-{step}", ok=ok)


def _written(expected: list[dict[str, Any]], source: Sequence[Mapping[str, Any]]) -> str | None:
    """How the source spelled a step, where it is not as expected."""
    if source == expected and all(map(_in_one_order, source, expected)):
        return None
    return json.dumps(source[0] if len(source) == 1 else list(source), ensure_ascii=False)


def _in_one_order(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return list(one) == list(other)


def _said(role: str, content: str | None) -> dict[str, Any]:
    return {"role": role, "content": content}


def _failed(content: str) -> bool:
    """Whether a result says of itself, in JSON, that it is an error."""
    if not content.lstrip().startswith("{") or '"status"' not in content:
        return False
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(data, dict) and data.get("status") in ("error", "failed", "failure")
