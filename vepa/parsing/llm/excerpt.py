"""A trace within a budget of tokens: texts cut in the middle, then steps left out, both counted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from vepa.corpus.trajectory import Trajectory
from vepa.files import sha256_of
from vepa.llm.messages import Message, ModelRequest
from vepa.llm.prices import count_tokens
from vepa.llm.spelling import LEFT_OUT, Writer
from vepa.parsing.budgets import check_trace_tokens
from vepa.parsing.llm.lines import (
    known_line,
    offered_tools,
    operator_line,
    step_line,
    tool_line,
    whole_lines,
)
from vepa.parsing.llm.weighing import Weights, weigh

__all__ = ["LEAST_TOKENS", "Excerpt", "excerpt", "tokens_of"]

#: Below this not even the three steps that are always kept would fit.
LEAST_TOKENS = 4_000
#: Bytes that a text keeps, and how many times as much one of an important step; tried in turn.
_CUTS = ((4000, 4), (2000, 4), (1000, 4), (500, 4), (250, 4))
#: The same, once steps are left out too.
_SPARSE = ((250, 4), (120, 2), (60, 1), (30, 1))
_IMPORTANT = 6
#: Share of the budget that the tools may take when it is short.
_TOOLS = 3
_A_MARK = 12
_TAG_DIGITS = 16
#: More bytes a token than any text takes that is worth reading.
_BYTES = 8
#: After so many steps in a row that do not fit, no further one is tried.
_PATIENCE = 20


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The lines that a model is shown.

    Attributes
    ----------
    lines
        JSON objects, and marks where steps or tools are left out.
    tokens
        At most what they take.
    tag
        Sixteen hexadecimal digits out of the whole trace, also of what is left out: no two traces
        that differ have the same, and nobody who writes into one knows it.
    steps, tools, characters
        What was left out; all 0 when the trace is whole.
    """

    lines: tuple[str, ...]
    tokens: int
    tag: str = ""
    steps: int = 0
    tools: int = 0
    characters: int = 0

    @property
    def block(self) -> str:
        """The lines between the two marks that nobody who wrote into the trace could know."""
        return "\n".join((f"<trace-{self.tag}>", *self.lines, f"</trace-{self.tag}>"))

    @property
    def whole(self) -> bool:
        """Whether nothing was left out."""
        return not (self.steps or self.tools or self.characters)


def _may_fit(lines: Iterable[str], tokens: int) -> bool:
    """Whether it is worth counting: counting takes longer than anything else here."""
    left = tokens * _BYTES
    for line in lines:
        left -= len(line)
        if left < 0:
            return False
    return True


def tokens_of(lines: Iterable[str]) -> int:
    """Tokens of lines, guessed on the high side."""
    return sum(_tokens(line) for line in lines)


def _tokens(line: str) -> int:
    request = ModelRequest(messages=(Message(role="user", content=line),))
    return count_tokens(request, "")


def excerpt(trajectory: Trajectory, tokens: int, *, proposed: bool = False) -> Excerpt:
    """Shorten a trace; the same trace and budget always give the same lines.

    Parameters
    ----------
    trajectory
        The trace.
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
    whole = tuple(whole_lines(trajectory, proposed=proposed))
    tag = sha256_of("\n".join(whole))[:_TAG_DIGITS]
    if _may_fit(whole, tokens) and (taken := tokens_of(whole)) <= tokens:
        return Excerpt(whole, taken, tag)
    shortening = _Shortening(trajectory, weigh(trajectory), tokens, proposed=proposed)
    for limit, more in _CUTS:
        cut = shortening.cut(limit, more)
        if cut is not None and cut.tokens <= tokens:
            return replace(cut, tag=tag)
    for limit, more in _SPARSE:
        found = shortening.sparse(limit, more)
        if found.tokens <= tokens:
            break
    return replace(found, tag=tag)


class _Shortening:
    """One trace on its way into a budget."""

    def __init__(self, trajectory: Trajectory, weights: Weights, tokens: int, *, proposed: bool):
        self._trace, self._weights, self._tokens = trajectory, weights, tokens
        self._proposed = len(trajectory.steps) - 1 if proposed else -1

    def cut(self, limit: int, more: int) -> Excerpt | None:
        """Every step, its texts cut; None when that is far too much."""
        lines, tools, characters = self._setting(limit, more)
        room = self._tokens * _BYTES
        for step in self._trace.steps:
            line, cut = self._step(step.index, limit, more)
            lines.append(line)
            characters += cut
            room -= len(line)
            if room < 0:
                return None
        return Excerpt(tuple(lines), tokens_of(lines), tools=tools, characters=characters)

    def sparse(self, limit: int, more: int) -> Excerpt:
        """The most important steps that fit, their texts cut."""
        lines, tools, characters = self._setting(limit, more)
        taken = tokens_of(lines)
        kept: dict[int, str] = {}
        misses = 0
        for index in self._ranked():
            if misses == _PATIENCE:
                break
            line, cut = self._step(index, limit, more)
            cost = _tokens(line) + 2 * _A_MARK
            if index in self._weights.always or taken + cost <= self._tokens:
                kept[index] = line
                taken += cost
                characters += cut
                misses = 0
            else:
                misses += 1
        before = -1
        for index in sorted(kept):
            lines += _gap(index - before - 1)
            lines.append(kept[index])
            before = index
        lines += _gap(len(self._trace.steps) - before - 1)
        left = len(self._trace.steps) - len(kept)
        return Excerpt(
            tuple(lines), tokens_of(lines), steps=left, tools=tools, characters=characters
        )

    def _ranked(self) -> list[int]:
        weights, always = self._weights.steps, self._weights.always
        # Of equals the later one: it lies nearer to the outcome.
        return sorted(range(len(weights)), key=lambda at: (at not in always, -weights[at], -at))

    def _setting(self, limit: int, more: int) -> tuple[list[str], int, int]:
        """What stands before the steps; how many tools are left out; how many characters."""
        trace = self._trace
        wide, writer = Writer(limit * more), Writer(limit)
        lines = [] if trace.system is None else [operator_line(trace.system, wide)]
        known = known_line(trace.premises, writer)
        lines += [] if known is None else [known]
        called = {step.call.tool for step in trace.steps if step.call is not None}
        room, left = self._tokens // _TOOLS, 0
        for tool in sorted(offered_tools(trace), key=lambda tool: tool.name not in called):
            before = writer.characters
            line = tool_line(tool, writer)
            room -= _tokens(line)
            if room < 0:
                left += 1
                writer.characters = before
            else:
                lines.append(line)
        if left:
            lines.append(LEFT_OUT.format(f"{left} tool{'' if left == 1 else 's'}"))
        return lines, left, wide.characters + writer.characters

    def _step(self, index: int, limit: int, more: int) -> tuple[str, int]:
        heavy = index in self._weights.always or self._weights.steps[index] >= _IMPORTANT
        writer = Writer(limit * more if heavy else limit, self._weights.clues)
        line = step_line(self._trace.steps[index], writer, proposed=index == self._proposed)
        return line, writer.characters


def _gap(steps: int) -> list[str]:
    return [LEFT_OUT.format(f"{steps} step{'' if steps == 1 else 's'}")] if steps else []
