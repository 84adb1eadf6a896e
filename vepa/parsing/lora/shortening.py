"""A trace in a few hundred tokens: what decides it stays, the rest shares what room is left.

A small model reads far less than a large one, so texts are cut on tokens of its own tokenizer. Each
part of the trace gets room in proportion to its weight, and what a short part leaves over goes to
the others (water-filling). Only what happened is read here, never a verdict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vepa.corpus.trajectory import Step, Trajectory
from vepa.parsing.budgets import check_trace_tokens
from vepa.parsing.llm.lines import offered_tools
from vepa.parsing.llm.weighing import Weights, weigh
from vepa.parsing.lora.tokenizing import Tokenizer

__all__ = ["LEAST_TOKENS", "Shown", "shorten"]

#: Below this not even the steps that are always kept would fit.
LEAST_TOKENS = 64
#: Tokens that a part takes at least; with more parts than fit, the lightest steps are left out.
_LEAST_PART = 12
#: Signs of a text that are cut into tokens at all, a token of the budget.
_SIGNS = 16
_OPERATOR, _TOOLS, _ALWAYS = 2.0, 1.0, 8.0
#: Share of a cut part's room that its beginning takes.
_HEAD = 0.6
_CUT = " … "
#: What the chat formats of common models take for the end of a turn, or the begin of one.
_CONTROL = re.compile(
    r"<\||\|>|</?s>|<(?=(?:bos|eos|pad|unk|mask|start_of_turn|end_of_turn)>)|\[(?=/?INST\])"
)
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Shown:
    """What a small model is shown.

    Attributes
    ----------
    text
        One line a part.
    tokens
        How many tokens of the tokenizer that it was cut with it takes.
    whole
        Tokens of the trace uncut; of huge texts only their ends were counted.
    left_out
        Steps of which nothing is shown.
    cut
        Whether anything at all is not shown.
    """

    text: str
    tokens: int
    whole: int
    left_out: int
    cut: bool


@dataclass(frozen=True, slots=True)
class _Part:
    weight: float
    pieces: tuple[str, ...]
    #: Position of a piece that a later call copies, if there is one.
    clue: int | None
    #: Index of the step; -1 for the setting.
    step: int


def shorten(
    trajectory: Trajectory, tokenizer: Tokenizer, tokens: int, *, proposed: bool = False
) -> Shown:
    """Shorten a trace; the same trace, tokenizer and budget always give the same text.

    Parameters
    ----------
    trajectory
        The trace.
    tokenizer
        Of the model that reads it.
    tokens
        The budget, from `LEAST_TOKENS`.
    proposed
        Whether the last step is a call that has not run.

    Raises
    ------
    SettingError
        When the budget is too small.
    """
    check_trace_tokens(tokens, LEAST_TOKENS)
    weights = weigh(trajectory)
    kept, left = _kept(trajectory, weights, max(3, tokens // (2 * _LEAST_PART)))
    parts = [
        _part(weight, text, weights, step, tokenizer, tokens * _SIGNS)
        for weight, text, step in _lines(trajectory, weights, kept, proposed=proposed)
    ]
    complete = "\n".join("".join(part.pieces) for part in parts)
    whole = sum(len(part.pieces) for part in parts) + max(0, len(parts) - 1)
    room = tokens
    while True:
        text = complete if whole <= room else "\n".join(_fill(parts, room))
        taken = len(tokenizer.cut(text))
        # Joined pieces may be cut in other places than before.
        if taken <= tokens or room <= 1:
            return Shown(text, taken, max(whole, taken), left, left > 0 or text != complete)
        room -= max(1, taken - tokens)


def _kept(trajectory: Trajectory, weights: Weights, most: int) -> tuple[frozenset[int], int]:
    """Steps that are shown: those that are always kept, then the heaviest, the later of equals."""
    order = sorted(
        range(len(trajectory.steps)),
        key=lambda at: (at not in weights.always, -weights.steps[at], -at),
    )
    return frozenset(order[:most]), max(0, len(order) - most)


def _lines(
    trajectory: Trajectory, weights: Weights, kept: frozenset[int], *, proposed: bool
) -> Iterator[tuple[float, str, int]]:
    """Weight, text and step of every part."""
    if trajectory.system:
        yield _OPERATOR, f"operator: {trajectory.system}", -1
    tools = [tool.name for tool in offered_tools(trajectory)]
    if tools:
        yield _TOOLS, f"tools: {', '.join(tools)}", -1
    last = len(trajectory.steps) - 1
    for step in trajectory.steps:
        if step.index not in kept:
            continue
        # Squared: the one call that matters is to be read whole, ten that do not are hints.
        weight = (1 + weights.steps[step.index] / 2) ** 2
        weight += _ALWAYS if step.index in weights.always else 0
        for text in _texts(step, proposed=proposed and step.index == last):
            yield weight, text, step.index


def _texts(step: Step, *, proposed: bool) -> Iterator[str]:
    call, thought = step.call, f"({step.thought}) " if step.thought else ""
    if call is None:
        who = {"user": "user", "answer": "agent", "observation": "seen"}.get(step.kind, step.kind)
        yield f"{who}: {thought}{step.text or ''}"
        return
    verb = "agent would call" if proposed else "agent calls"
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    yield f"{verb} {call.tool}: {thought}{arguments} {call.text or ''}"
    if step.result is not None:
        name = "result" if step.result.ok else "error"
        told = (step.result.error, step.result.content)
        yield f"{name}: {' '.join(text for text in told if text)}"


def _part(
    weight: float, text: str, weights: Weights, step: int, tokenizer: Tokenizer, signs: int
) -> _Part:
    if len(text) > 3 * signs:  # no more of it can be shown, and cutting takes time
        text = _ends(text, weights.clues, signs)
    # One part is one line, so that no text can begin a line of its own; nor can it end the turn.
    text = _CONTROL.sub(lambda found: f"{found.group()[0]} {found.group()[1:]}", text)
    text = _SPACE.sub(" ", text).strip()
    pieces = tuple(tokenizer.cut(text))
    found = next((text.find(clue) for clue in weights.clues if clue in text), None)
    return _Part(weight, pieces, None if found is None else _at(pieces, found), step)


def _ends(text: str, clues: Sequence[str], signs: int) -> str:
    """Both ends of a huge text, and between them the neighbourhood of what later calls copied."""
    found = next((text.find(clue) for clue in clues if clue in text), 0)
    if signs <= found < len(text) - signs:
        around = text[max(signs, found - signs // 2) : min(len(text) - signs, found + signs // 2)]
        return _CUT.join((text[:signs], around, text[-signs:]))
    return text[:signs] + _CUT + text[-signs:]


def _at(pieces: Sequence[str], sign: int) -> int:
    """The piece that a sign of the text lies in."""
    for at, piece in enumerate(pieces):
        sign -= len(piece)
        if sign < 0:
            return at
    return max(0, len(pieces) - 1)


def _fill(parts: Sequence[_Part], room: int) -> list[str]:
    """The lines, in `room` tokens, their ends included."""
    floor = min(_LEAST_PART, max(1, room // (2 * max(1, len(parts)))))
    level = _level(parts, floor, room - len(parts))
    return [_cut(part, floor + int(level * part.weight)) for part in parts]


def _level(parts: Sequence[_Part], floor: int, room: int) -> float:
    """Tokens a unit of weight above the floor, such that all parts together take `room`."""
    left = float(max(0, room - sum(min(floor, len(part.pieces)) for part in parts)))
    open_ = [(len(part.pieces) - floor, part.weight) for part in parts if len(part.pieces) > floor]
    weight = sum(each for _, each in open_)
    # From the part that is satisfied first on: what it leaves over raises the level of the others.
    for over, own in sorted(open_, key=lambda each: each[0] / each[1]):
        if over > left / weight * own:
            return left / weight
        left -= over
        weight -= own
    return max((over / own for over, own in open_), default=0.0) + 1


def _cut(part: _Part, room: int) -> str:
    """Head and tail of a part, and between them what later calls copied."""
    pieces = part.pieces
    if len(pieces) <= room:
        return "".join(pieces)
    head = max(1, int(room * _HEAD))
    tail = max(0, room - head - 1)
    if part.clue is not None and head <= part.clue < len(pieces) - tail and room > _LEAST_PART:
        head = middle = room // 3
        tail = room - head - middle - 2
        start = max(head, part.clue - 1)
        between = "".join(pieces[start : start + middle])
        return "…".join(("".join(pieces[:head]), between, "".join(pieces[len(pieces) - tail :])))
    return "".join(pieces[:head]) + "…" + "".join(pieces[len(pieces) - tail :])
