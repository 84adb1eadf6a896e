"""A trajectory in a terminal: who, what, how it ended, then step by step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from vepa.viewer.facts import facts_of
from vepa.viewer.outline import outline
from vepa.viewer.pieces import legend, mark_of, name_of_path, pieces
from vepa.viewer.reasons import Reason, reasons_of
from vepa.viewer.signs import CLOSE, OPEN, visible
from vepa.viewer.texts import meta_text
from vepa.viewer.view import conversation_of

if TYPE_CHECKING:
    from rich.console import Console

    from vepa.corpus.trajectory import Result
    from vepa.parsing.sources import Leaf, Source
    from vepa.viewer.view import Label, Shown, ShownEvent, ShownStep

__all__ = ["Line", "folded_lines", "lines_of", "plain_text", "print_lines", "step_lines"]

_COLOURS = {"user": "green", "message": "magenta", "document": "blue", "tool": "cyan"}
_HIGH = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
#: Of a result, so much is shown without `--full`.
_FOLD_LINES, _FOLD_SIGNS = 4, 400
_VERDICTS = {"allow": "green", "refuse": "red", "abstain": "yellow"}


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


def plain_text(shown: Shown) -> str:
    """A whole trajectory as text without colour, sources in brackets."""
    lines = lines_of(shown, full=True, plain=True)
    return "".join(f"{' ' * line.indent}{line.text.plain}\n" for line in lines)


def lines_of(shown: Shown, *, full: bool = False, plain: bool = False) -> Iterator[Line]:
    """All lines of a trajectory.

    Parameters
    ----------
    shown
        The trajectory.
    full
        Whether results are shown to their end, and events field by field.
    plain
        Whether sources are told by marks in brackets, not by colour.
    """
    view = _View(full, plain)
    yield Line(0, Text(view.seen(shown.trajectory.id), style="bold"))
    for name, value, bad in facts_of(shown):
        told = (view.seen(value), "red" if bad else "")
        yield Line(2, Text.assemble((f"{name:<9} ", "dim"), told))
    yield from view.head(shown)
    yield Line(0, Text())
    yield view.legend()
    for step in shown.steps:
        yield Line(0, Text())
        yield from view.step(step)


def step_lines(step: ShownStep, *, full: bool = False, plain: bool = False) -> Iterator[Line]:
    """The lines of one step; `full` and `plain` as for `lines_of`."""
    return _View(full, plain).step(step)


def folded_lines(text: str, indent: int, *, full: bool = False) -> Iterator[Line]:
    """A text that stands beside the steps, as a result looks: to its end only with `full`."""
    return _View(full, plain=False).folded(text, indent)


class _View:
    """How steps look under the options."""

    def __init__(self, full: bool, plain: bool):
        self._full = full
        self._plain = plain

    def seen(self, text: str) -> str:
        """A text from the trace, made visible."""
        return visible(text, marks=self._plain)

    def head(self, shown: Shown) -> Iterator[Line]:
        """What stands above the steps beside the facts."""
        for label in shown.labels:
            yield self._label(2, label)
        for event in shown.events:
            yield from self._event(2, event)
        of = shown.trajectory
        for name, text in (("system", of.system), ("meta", meta_text(of.meta) if of.meta else "")):
            if text:
                yield Line(2, Text(name, style="dim"))
                yield from self.folded(text, 4)

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
        if shown.opens:
            yield Line(0, Text(f"── {conversation_of(step)} ──", style="bold"))
        yield Line(0, self._head(shown))
        if step.thought:
            yield from self._texts(f"thinks: {step.thought}", "italic dim")
        if step.text is not None:
            yield from self._texts(step.text, "")
        for leaf in shown.leaves:
            yield from self._leaf(leaf)
        if step.call is not None:
            yield from self._result(step.result)
        if shown.quiet and not self._full:
            words = " · ".join(f"{name} {self.seen(value)}" for name, value in shown.quiet)
            yield Line(3, Text(words, style="dim"))
        for event in shown.events:
            yield from self._event(3, event)
        for label in shown.labels:
            yield self._label(3, label)

    def _head(self, shown: ShownStep) -> Text:
        step = shown.step
        head = Text(f"{step.index:>2} ", style="bold")
        if step.call is None:
            head.append(step.kind, style="bold green" if step.kind == "user" else "bold")
        else:
            head.append(self.seen(step.call.tool), style="bold")
            if shown.where:
                head.append(f"  {self.seen(shown.where)}", style="dim")
        if step.speaker:
            head.append(f"  by {self.seen(step.speaker)}", style="dim")
        if shown.marked:
            head.append("  marked as the decisive mistake", style="bold red")
        return head

    def _label(self, indent: int, label: Label) -> Line:
        note = f" ({label.note})" if label.note else ""
        unit = f" ({label.unit})" if label.unit and label.step is not None else ""
        text = f"{label.by}{unit}: {label.value}{note}"
        return Line(indent, Text(self.seen(text), style="dim yellow"))

    def _event(self, indent: int, event: ShownEvent) -> Iterator[Line]:
        """Field by field with `--full`, and what the policy says to it."""
        if self._full:
            yield Line(indent, Text(f"event ({event.record.unit})", style="dim"))
            yield from self._fields(indent + 2, event.record.event)
        for reason in reasons_of(event.why):
            yield from self._reason(indent, reason)

    def _fields(self, indent: int, event: Mapping[str, str]) -> Iterator[Line]:
        for name, value in event.items():
            yield Line(indent, Text(f"{self.seen(name)}: {self.seen(value)}", style="dim"))

    def _reason(self, indent: int, reason: Reason) -> Iterator[Line]:
        style = _VERDICTS.get(reason.decision, "") if reason.decides else "dim"
        yield Line(indent, Text(self.seen(reason.told), style=style))
        for part in reason.parts:
            told = f"{part.field} {part.wanted}" + ("" if part.holds else f": it is {part.value!r}")
            yield Line(indent + 2, Text(self.seen(told), style="dim"))

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
        yield from self.folded(outline(result.content), 5)

    def folded(self, text: str, indent: int) -> Iterator[Line]:
        """A text, or its beginning and how much is left."""
        lines = self.seen(text).split("\n")
        kept = lines if self._full else _beginning(lines)
        for line in kept:
            yield Line(indent, Text(line, style="dim"))
        if kept != lines:
            left = sum(map(len, lines)) - sum(map(len, kept))
            more = f"… {left:,} more sign{'' if left == 1 else 's'} (--full)"
            yield Line(indent, Text(more, style="dim italic"))


def _beginning(lines: Sequence[str]) -> list[str]:
    kept: list[str] = []
    room = _FOLD_SIGNS
    for line in lines[:_FOLD_LINES]:
        kept.append(line[:room])
        room -= len(kept[-1])
        if room <= 0:
            break
    return kept
