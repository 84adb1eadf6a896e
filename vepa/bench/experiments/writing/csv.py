"""Tables and figures as CSV: every number as it was worked out, for machines."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO

from vepa.bench.experiments.document import Cell, Column, Figure, Table

__all__ = ["figure_csv", "table_csv"]

_ROW = ("condition", "condition_key", "method", "method_key")
_PARTS = ("mean", "sd", "low", "high")


def table_csv(table: Table, seeds: Sequence[object] = ()) -> str:
    """A table, a line a row.

    Of each column the mean, deviation and interval, and each seed's own figure as `KEY.seed_SEED`.
    A row that was NOT RUN has no figures, and what it needs in `needs`.

    Parameters
    ----------
    table
        What is written.
    seeds
        The seeds; where they do not answer to the figures, these are counted from 1.
    """
    most = {
        column.key: max((len(cell.by_seed) for cell in _cells(table, column)), default=0)
        for column in table.columns
    }
    head = [*_ROW, "needs", "note"]
    for column in table.columns:
        names = _seed_names(seeds, most[column.key])
        head += [f"{column.key}.{part}" for part in (*_PARTS, *names)]
    lines: list[list[object]] = []
    for row in table.rows:
        line: list[object] = [getattr(row, name) for name in _ROW]
        line += [row.needs, row.note]
        for column in table.columns:
            cell = None if row.needs else row.cells.get(column.key)
            line += _spelled(cell, most[column.key])
        lines.append(line)
    return _written(head, lines)


def figure_csv(figure: Figure) -> str:
    """A figure, a line a point; in a `dots` figure `x` is the group's name."""
    lines: list[list[object]] = []
    for one in figure.series:
        for point in one.points:
            x = _group(figure, point.x) if figure.kind == "dots" else point.x
            lines.append([one.name, x, point.y, point.low, point.high])
    return _written(["series", "x", "y", "low", "high"], lines)


def _cells(table: Table, column: Column) -> list[Cell]:
    return [row.cells[column.key] for row in table.rows if column.key in row.cells]


def _seed_names(seeds: Sequence[object], number: int) -> list[str]:
    known = seeds if len(seeds) == number else range(1, number + 1)
    return [f"seed_{seed}" for seed in known]


def _spelled(cell: Cell | None, seeds: int) -> list[object]:
    if cell is None:
        return [None] * (len(_PARTS) + seeds)
    own = [*cell.by_seed, *[None] * (seeds - len(cell.by_seed))]
    return [*(getattr(cell, part) for part in _PARTS), *own]


def _group(figure: Figure, x: float) -> str:
    place = int(x)
    return figure.groups[place] if 0 <= place < len(figure.groups) else str(place)


def _written(head: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(lines)
    return stream.getvalue()
