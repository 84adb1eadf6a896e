"""What changed between two releases, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vepa.cli.console import one_line
from vepa.cli.findings import counted

if TYPE_CHECKING:
    from vepa.cli.console import Output
    from vepa.release.comparing import Difference

__all__ = ["tell_difference"]

#: Rows of a table; the rest is in the JSON document.
_ROWS = 25
#: Signs of a value.
_SIGNS = 60


def tell_difference(output: Output, found: Difference) -> None:
    """Print a difference as tables; what did not change is left out."""
    if found.empty:
        output.text(f"{found.before} and {found.after}: nothing differs")
        return
    output.text(f"{found.before} → {found.after}")
    if found.same_content:
        output.text("the content is the same, byte for byte")
    numbers = ("before", "after", "added", "removed", "changed", "moved")
    rows = [
        (table, each.before, each.after, len(each.added), len(each.removed), len(each.changed),
         len(each.moved))
        for table, each in found.tables.items()
    ]  # fmt: skip
    output.table(("table", *numbers), rows, right=numbers)
    _fields(output, found)
    _flips(output, found)
    _values(output, "Figures", found.figures)
    _values(output, "Provenance", found.provenance)


def _fields(output: Output, found: Difference) -> None:
    rows = [
        (table, name, count)
        for table, each in found.tables.items()
        for name, count in each.fields.items()
    ]
    if rows:
        _table(output, "Changed fields", ("table", "field", "records"), rows, ("records",))


def _flips(output: Output, found: Difference) -> None:
    flips = found.flips
    if not flips.steps:
        return
    output.text(f"\nthe settled labels of {counted(len(flips.steps), 'step')} say something else")
    if flips.decisions:
        decisions = list(flips.decisions.items())
        _table(output, "Decisions", ("decision", "steps"), decisions, ("steps",))
    triggers = sorted(flips.gained.keys() | flips.lost.keys())
    if triggers:
        rows = [
            (key.replace("_", " "), flips.gained.get(key, 0), flips.lost.get(key, 0))
            for key in triggers
        ]
        _table(output, "Triggers", ("trigger", "gained", "lost"), rows, ("gained", "lost"))


def _values(output: Output, title: str, changed: Mapping[str, tuple[Any, Any]]) -> None:
    if changed:
        rows = [(path, _short(then), _short(now)) for path, (then, now) in changed.items()]
        _table(output, title, ("what", "then", "now"), rows, ())


def _table(
    output: Output,
    title: str,
    columns: tuple[str, ...],
    rows: list[Any],
    right: tuple[str, ...],
) -> None:
    output.text("")
    output.table(columns, rows[:_ROWS], title=title, right=right)
    if len(rows) > _ROWS:
        output.text(f"{len(rows) - _ROWS:,} more: --json tells them all")


def _short(value: Any) -> str:
    if value is None:
        return "-"
    text = one_line(f"{value:.4g}" if isinstance(value, float) else str(value))
    return text if len(text) <= _SIGNS else f"{text[: _SIGNS - 1]}…"
