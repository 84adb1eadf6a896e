"""An episode in a terminal: who, what, how it ended, then step by step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from vepa.cli.findings import counted
from vepa.collect.page.facts import facts_of, legend
from vepa.collect.page.outline import outline
from vepa.collect.page.signs import CLOSE, OPEN, visible
from vepa.collect.page.view import mark_of, name_of_path, pieces

if TYPE_CHECKING:
    from rich.console import Console

    from vepa.collect.page.view import Shown, ShownStep
    from vepa.corpus.trajectory import Result
    from vepa.parsing.sources import Leaf, Source

__all__ = ["Line", "lines_of", "print_lines"]

_COLOURS = {"user": "green", "message": "magenta", "document": "blue", "tool": "cyan"}
_HIGH = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
#: Of a result, so much is shown without `--full`.
_FOLD_LINES, _FOLD_SIGNS = 4, 400


@dataclass(frozen=True, slots=True)
class Line:
    """One line, which wraps below its own indentation."""

    indent: int
    text: Text


def print_lines(console: Console, lines: Iterable[Line]) -> None:
    """Print lines; where nobody says how wide it is, none is broken."""
    for line in lines:
        if console.is_terminal:
            console.print(Padding(line.text, (0, 0, 0, line.indent), expand=False), highlight=False)
        else:
            whole = Text(" " * line.indent) + line.text
            console.print(whole, soft_wrap=True, highlight=False)


def lines_of(shown: Shown, *, full: bool = False, plain: bool = False) -> Iterator[Line]:
    """All lines of an episode.

    Parameters
    ----------
    shown
        The episode.
    full
        Whether results are shown to their end.
    plain
        Whether sources are told by marks in brackets, not by colour.
    """
    view = _View(full, plain)
    yield Line(0, Text(view.seen(shown.trajectory.id), style="bold"))
    for name, value, bad in facts_of(shown):
        told = (view.seen(value), "red" if bad else "")
        yield Line(2, Text.assemble((f"{name:<9} ", "dim"), told))
    yield Line(0, Text())
    yield view.legend()
    for step in shown.steps:
        yield Line(0, Text())
        yield from view.step(step)


class _View:
    """How steps look under the options."""

    def __init__(self, full: bool, plain: bool):
        self._full = full
        self._plain = plain

    def seen(self, text: str) -> str:
        """A text from the trace, made visible."""
        return visible(text, marks=self._plain)

    def legend(self) -> Line:
        """What colours or marks mean."""
        text = Text("words in arguments: ", style="dim")
        for kind, letter, meaning in legend():
            if self._plain:
                how = f"{OPEN}{letter}… words{CLOSE} " if letter else "no mark "
                text.append(f"{how}{meaning}; ")
            else:
                text.append(meaning, style=f"not dim {_COLOURS.get(kind, '')}")
                text.append(", ")
        end = "the number is the step where they first stood; ! a third party's request"
        text.append(end, style="dim")
        return Line(0, text)

    def step(self, shown: ShownStep) -> Iterator[Line]:
        """A step with its parts."""
        step = shown.step
        head = Text(f"{step.index:>2} ", style="bold")
        if step.call is None:
            head.append(step.kind, style="bold green" if step.kind == "user" else "bold")
        else:
            head.append(self.seen(step.call.tool), style="bold")
            if shown.where:
                head.append(f"  {self.seen(shown.where)}", style="dim")
        yield Line(0, head)
        if step.thought:
            yield from self._texts(f"thinks: {step.thought}", "italic dim")
        if step.text is not None:
            yield from self._texts(step.text, "")
        for leaf in shown.leaves:
            yield from self._leaf(leaf)
        if step.call is not None:
            yield from self._result(step.result)
        if shown.quiet:
            words = " · ".join(f"{name} {self.seen(value)}" for name, value in shown.quiet)
            yield Line(3, Text(words, style="dim"))
        if shown.intended:
            yield Line(3, Text(f"script meant: {self.seen(shown.intended)}", style="dim yellow"))

    def _texts(self, text: str, style: str) -> Iterator[Line]:
        for line in self.seen(text).split("\n"):
            yield Line(3, Text(line, style=style))

    def _leaf(self, leaf: Leaf) -> Iterator[Line]:
        name = self.seen(name_of_path(leaf.path)) or "no JSON object"
        text = Text(f"{name}: ", style="dim")
        for piece in pieces(leaf):
            self._piece(text, self.seen(piece.text), piece.source)
        first, *rest = text.split("\n", allow_blank=True)
        yield Line(3, first)
        yield from (Line(5, line) for line in rest)

    def _piece(self, text: Text, words: str, source: Source | None) -> None:
        mark = mark_of(source) if source else ""
        if not mark or source is None:
            text.append(words, style="not dim")
        elif self._plain:
            text.append(f"{OPEN}{mark} {words}{CLOSE}")
        else:
            style = f"not dim {_COLOURS[source.kind]}"
            text.append(words, style=f"{style} bold underline" if source.request else style)
            text.append(mark[1:].translate(_HIGH), style="dim")

    def _result(self, result: Result | None) -> Iterator[Line]:
        if result is None:
            yield Line(3, Text("→ no result was shown", style="yellow"))
            return
        head = Text("→ ok" if result.ok else "→ failed", style="" if result.ok else "red")
        if result.error:
            head.append(f" {self.seen(result.error)}")
        if result.seconds is not None:
            head.append(f"  {result.seconds:.2f} s", style="dim")
        if result.truncated:
            head.append("  cut at the output limit", style="yellow")
        yield Line(3, head)
        lines = self.seen(outline(result.content)).split("\n")
        kept = lines if self._full else _folded(lines)
        for line in kept:
            yield Line(5, Text(line, style="dim"))
        if kept != lines:
            left = counted(sum(map(len, lines)) - sum(map(len, kept)), "more sign")
            yield Line(5, Text(f"… {left} (--full)", style="dim italic"))


def _folded(lines: list[str]) -> list[str]:
    kept: list[str] = []
    room = _FOLD_SIGNS
    for line in lines[:_FOLD_LINES]:
        kept.append(line[:room])
        room -= len(kept[-1])
        if room <= 0:
            break
    return kept
