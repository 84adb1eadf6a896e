"""Failure logs of teams of agents, each with the step that a person held to be the mistake.

The benchmark Who&When has one JSON document a log, in two folders, and the same as rows of a table.

- `history` is a list of turns. Logs of generated teams have `{content, role, name}`: the agent is
  `name`, `role` is how a chat API called it, and no turn is the user's (the first turn quotes the
  task). Logs of the hand-crafted team have `{content, role}`: the agent is `role`, with a remark in
  brackets, `(thought)` or `(-> WebSurfer)`, and `human` is the user.
- `mistake_agent`, `mistake_reason`, `mistake_step` (place in `history`, from 0; a number or digits)
- `question`, `question_ID`, `level`; `ground_truth` and `is_correct`, in hand-crafted logs
  `groundtruth` and `is_corrected`; `system_prompt` maps agents to their texts (rows of the table
  have null for the agents of other logs).

A failed task is no refusal, so there is no label.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from vepa.corpus.importing.draft import Draft
from vepa.corpus.importing.format import Format, checked
from vepa.corpus.importing.report import Foreign, Notes
from vepa.errors import InputError, Where

__all__ = ["WhoAndWhen"]

_BRACKETS = re.compile(r"^(?P<name>.*?)\s*\((?P<note>[^()]*)\)\s*$", re.DOTALL)
_HUMANS = frozenset({"human", "user", "user_proxy", "userproxy"})
#: Agents that only carry out what others write.
_MACHINES = frozenset({"computer_terminal", "computerterminal"})


class Turn(Foreign):
    """One turn of the log."""

    content: str | None
    role: str | None = None
    name: str | None = None


class Log(Foreign):
    """One failed task."""

    history: list[Turn]
    question: str | None = None
    question_ID: str | None = None  # noqa: N815 - their spelling
    level: str | int | None = None
    ground_truth: Any = None
    groundtruth: Any = None
    is_correct: bool | None = None
    is_corrected: bool | None = None
    mistake_agent: str | None = None
    mistake_step: int | str | None = None
    mistake_reason: str | None = None
    system_prompt: dict[str, str | None] | str | None = None


class WhoAndWhen(Format):
    """A record has a `history` and a mistake."""

    name = "who-and-when"
    title = "Who&When failure logs of teams of agents"

    def recognise(self, data: Any) -> bool:
        """An object with a history and a marked mistake."""
        return isinstance(data, dict) and "history" in data and "mistake_step" in data

    def read(self, data: Any, head: Mapping[str, Any], notes: Notes) -> Iterator[Draft]:
        """One trajectory a record."""
        log = checked(Log, data, notes)
        if not log.history:
            raise InputError("no turns", where=Where(field="history"))
        draft = Draft(notes, id=log.question_ID or None)
        _instruct(draft, log.system_prompt)
        if log.question and not any(_is_human(turn) for turn in log.history):
            draft.user(log.question)
        steps = [_turn(draft, turn, f"history.{at}") for at, turn in enumerate(log.history)]
        at = _mistake(log)
        if at is not None:
            if steps[at] is None:
                raise InputError(
                    f"turn {at} of history is system text, no step",
                    where=Where(field="mistake_step"),
                )
            draft.marked = steps[at]
            if log.mistake_agent and _agent(log.history[at])[0] != log.mistake_agent:
                notes.remark("the marked step is not of mistake_agent")
        draft.meta = _meta(log)
        yield draft


def _instruct(draft: Draft, prompts: dict[str, str | None] | str | None) -> None:
    if isinstance(prompts, str):
        draft.instruct(prompts)
    elif prompts:
        for agent, text in prompts.items():
            if text:
                draft.instruct(f"{agent}:\n{text}")


def _is_human(turn: Turn) -> bool:
    return not turn.name and (turn.role or "").lower() in _HUMANS


def _agent(turn: Turn) -> tuple[str | None, str | None]:
    """Who speaks, and the remark behind the name."""
    if turn.name:
        return turn.name, None
    found = _BRACKETS.match(turn.role or "")
    return (found["name"], found["note"].strip()) if found else (turn.role, None)


def _turn(draft: Draft, turn: Turn, place: str) -> int | None:
    """Tell a turn; its step, or None where it is system text."""
    agent, note = _agent(turn)
    if not agent:
        raise InputError(
            "a turn of nobody",
            where=Where(field=f"{place}.role"),
            remedy="a turn has a role, a name, or both",
        )
    text = turn.content or ""
    if _is_human(turn):
        return draft.user(text)
    if turn.role == "system":
        draft.instruct(f"{turn.name}:\n{text}" if turn.name else text)
        return None
    if agent.lower() in _MACHINES or turn.role in ("tool", "function"):
        return draft.observe(text, speaker=agent)
    if turn.name is None and agent == "assistant":
        draft.notes.remark("a turn without the agent's name")
    if note == "thought":
        return draft.answer("", thought=text, speaker=agent)
    # The spelling says to whom it spoke.
    return draft.answer(text, speaker=agent, written=turn.role if note else None)


def _mistake(log: Log) -> int | None:
    step = log.mistake_step
    if step is None or step == "":
        return None
    where = Where(field="mistake_step")
    if isinstance(step, str):
        if not step.strip().isascii() or not step.strip().isdigit():
            raise InputError(f"a place in history belongs here, not {step!r}", where=where)
        step = int(step)
    if not 0 <= step < len(log.history):
        raise InputError(
            f"history has no turn {step}; its turns are 0 to {len(log.history) - 1}", where=where
        )
    return step


def _meta(log: Log) -> dict[str, Any]:
    truth = log.ground_truth if log.ground_truth is not None else log.groundtruth
    right = log.is_correct if log.is_correct is not None else log.is_corrected
    found = {
        "question": log.question,
        "level": log.level,
        "ground_truth": truth,
        "is_correct": right,
        "mistake_agent": log.mistake_agent,
        "mistake_step": log.mistake_step,
        "mistake_reason": log.mistake_reason,
    }
    return {name: value for name, value in found.items() if value is not None}
