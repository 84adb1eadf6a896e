"""Tables of figures, the same for the terminal, for Markdown and for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vepa.annotate.agreement.figures import Estimate, Pair

__all__ = ["NOTHING", "Section", "Table", "digits", "ends", "percent", "table_of", "told", "value"]

NOTHING = "–"


@dataclass(frozen=True)
class Table:
    """One table.

    Attributes
    ----------
    key
        `annotators`, `overview`, `triggers`, `services`, `sources`, `overall`, `prevalence`,
        `kappa`, `marked`.
    title
        Above it.
    columns, rows
        Headings and cells.
    right
        Headings of columns of numbers.
    """

    key: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: frozenset[str]


@dataclass(frozen=True)
class Section:
    """Tables that belong together.

    Attributes
    ----------
    title, about
        What they are about, and a sentence or two.
    tables
        In order.
    pair
        Whose agreement they are.
    """

    title: str
    about: str
    tables: Sequence[Table]
    pair: Pair | None = None


def value(figure: Estimate) -> str:
    """The figure with three digits."""
    return NOTHING if figure.value is None else digits(figure.value)


def ends(figure: Estimate) -> str:
    """Its interval."""
    if figure.low is None or figure.high is None:
        return NOTHING
    return f"{digits(figure.low)} to {digits(figure.high)}"


def percent(share: float | None) -> str:
    """A share as a percentage."""
    return NOTHING if share is None else f"{100 * share:.1f} %"


def digits(number: float) -> str:
    """With three digits."""
    text = f"{number:.3f}"
    return "0.000" if text == "-0.000" else text


def told(figure: Estimate) -> str:
    """What has to be said beside a figure."""
    parts = [figure.reason] if figure.reason else []
    if figure.undefined and figure.low is not None:
        parts.append(f"resamples without it: {figure.undefined}")
    return "; ".join(parts)


def table_of(
    key: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], words: str
) -> Table:
    """Rows as a table; `words` names the columns that are no numbers."""
    texts = set(words.split("|"))
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    if not any(row[-1] for row in cells):  # a column of remarks, and there are none
        columns, cells = columns[:-1], [row[:-1] for row in cells]
    return Table(key, title, columns, cells, frozenset(set(columns) - texts))
