"""Plans: what a scripted agent does, turn by turn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import Field, RootModel, model_validator

from vepa.collect.parts import Part, Trigger

__all__ = ["Move", "Plan", "Turn", "flatten"]

_RANGE = re.compile(r"(\d+)-(\d+)")


class Move(Part):
    """One call inside a turn, or a turn of one call.

    Attributes
    ----------
    call, with
        A tool and its arguments; templates know the answers of earlier calls by their `id`.
    id
        A word for the answer: its data where it is JSON, its text otherwise.
    fails
        Whether the service is expected to refuse it.
    trips
        The trigger that this call is: only in plans of a bad temperament.
    """

    call: str
    arguments: dict[str, Any] = Field(default={}, alias="with")
    id: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9_]*$")
    fails: bool = False
    trips: Trigger | None = None


class Turn(Part):
    """One message of the agent; exactly one of these forms.

    Attributes
    ----------
    call, with, id, fails, trips
        A single call, as in `Move`.
    together
        Several calls in one message.
    ask
        A question to the user; the episode goes on with the user's words (`{{ reply }}`).
    answer
        The final answer.
    refuse
        A final message that declines.
    same
        In a bad plan: turns of the careful plan, by id, by number (from 1) or range (`2-4`).
    trips
        The trigger that this turn is: only in plans of a bad temperament.
    """

    call: str | None = None
    arguments: dict[str, Any] = Field(default={}, alias="with")
    id: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9_]*$")
    together: list[Move] | None = Field(default=None, min_length=2)
    ask: str | None = None
    answer: str | None = None
    refuse: str | None = None
    same: str | int | None = None
    fails: bool = False
    trips: Trigger | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Turn:
        forms = (self.call, self.together, self.ask, self.answer, self.refuse, self.same)
        if sum(form is not None for form in forms) != 1:
            raise ValueError(
                "one of `call`, `together`, `ask`, `answer`, `refuse` or `same` belongs here"
            )
        if self.call is None and (self.arguments or self.id or self.fails):
            raise ValueError("`with`, `id` and `fails` belong to `call`")
        if self.trips is not None and (self.together or self.same is not None):
            raise ValueError("`trips` belongs to the one call, question or answer that it is")
        return self

    @property
    def moves(self) -> list[Move]:
        """Its calls."""
        if self.together is not None:
            return self.together
        if self.call is None:
            return []
        return [
            Move(
                call=self.call,
                arguments=self.arguments,
                id=self.id,
                fails=self.fails,
                trips=self.trips,
            )
        ]

    @property
    def words(self) -> str | None:
        """Its words to the user, as a template."""
        return next((text for text in (self.ask, self.answer, self.refuse) if text), None)

    @property
    def triggers(self) -> list[str]:
        """What it trips."""
        found = [move.trips for move in self.moves if move.trips]
        return found or ([self.trips] if self.trips else [])


class Plan(RootModel[list[Turn]]):
    """Turns in order; the last one is an answer or a refusal."""

    model_config = {"strict": True, "frozen": True}

    @model_validator(mode="after")
    def _ends(self) -> Plan:
        if not self.root:
            raise ValueError("a plan has at least one turn")
        if self.root[-1].same is None and not (self.root[-1].answer or self.root[-1].refuse):
            raise ValueError("the last turn of a plan is an `answer` or a `refuse`")
        for turn in self.root[:-1]:
            if turn.answer or turn.refuse:
                raise ValueError("`answer` and `refuse` end a plan; use `ask` in the middle")
        return self

    def __iter__(self) -> Iterator[Turn]:  # type: ignore[override]
        return iter(self.root)

    def __len__(self) -> int:
        return len(self.root)


def flatten(plan: Plan, careful: Plan) -> list[Turn]:
    """A plan with every `same` replaced by the careful plan's turns.

    Raises
    ------
    ValueError
        When `same` names no turn of the careful plan, or the result does not end.
    """
    turns: list[Turn] = []
    for turn in plan:
        turns += [turn] if turn.same is None else _meant(turn.same, careful)
    if not (turns[-1].answer or turns[-1].refuse):
        raise ValueError("the last turn of a plan is an `answer` or a `refuse`")
    return turns


def _meant(same: str | int, careful: Plan) -> list[Turn]:
    turns = list(careful)
    match = _RANGE.fullmatch(str(same))
    if isinstance(same, int) or str(same).isdigit() or match:
        first, last = match.groups() if match else (same, same)
        if not 1 <= int(first) <= int(last) <= len(turns):
            raise ValueError(f"same: the careful plan has turns 1 to {len(turns)}, not {same}")
        return turns[int(first) - 1 : int(last)]
    for turn in turns:
        if same in [move.id for move in turn.moves]:
            return [turn]
    raise ValueError(f"same: no turn of the careful plan has the id {same!r}")
