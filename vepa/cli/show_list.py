"""The list of `vepa show`: a row a trajectory, as many as fit, and how many more there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from vepa.cli.console import Output
from vepa.cli.show_source import Source
from vepa.collect.episodes.listing import Episodes, episode_row_of
from vepa.viewer.rows import row_of, shorten
from vepa.viewer.signs import visible

__all__ = ["show_list"]

#: Rows that people are shown without `--limit`.
_ROWS = 50
_BEGINS = 44
_SEVERAL = {"episode": "episodes", "trajectory": "trajectories"}


def show_list(out: Output, source: Source) -> None:
    """Print the list; a file of any size passes by, only the rows that are shown are kept."""
    most = source.limit if source.limit is not None else (0 if out.json else _ROWS)
    rows: list[dict[str, Any]] = []
    count = 0
    for row in _rows(source):
        count += 1
        if not most or len(rows) < most:
            rows.append(row)
    what = "episode" if isinstance(source.many, Episodes) else "trajectory"
    out.document({_SEVERAL[what]: rows, "count": count, "unreadable": source.broken})
    _table(out, rows)
    out.note(_total(count, len(rows), what, source))


def _rows(source: Source) -> Iterator[dict[str, Any]]:
    row = episode_row_of if isinstance(source.many, Episodes) else row_of
    for subject in source.wanted_subjects():
        yield row(subject, source.judge)


def _total(count: int, shown: int, what: str, source: Source) -> str:
    told = f"{count:,} {what if count == 1 else _SEVERAL[what]}"
    if not count:
        where = source.many.folders if isinstance(source.many, Episodes) else [source.title]
        return f"{told} in {', '.join(map(str, where))}"
    return told + (f"; {count - shown:,} more (--limit 0 lists all)" if count > shown else "")


#: Heading -> the cell of a row; a column that holds nothing is left out.
_COLUMNS: dict[str, Callable[[dict[str, Any]], str]] = {
    "id": lambda row: row["id"],
    "format": lambda row: row["format"] or "",
    "label": lambda row: row["label"] or "",
    "verdict": lambda row: row["verdict"] or "",
    "differs": lambda row: row["disagreement"] or "",
    "ending": lambda row: row["ending"] or "",
    "success": lambda row: {True: "yes", False: "no"}.get(row["succeeded"], ""),
    "tripped": lambda row: "\n".join(row["tripped"]),
    "mistake": lambda row: "" if row["marked"] is None else str(row["marked"]),
    "steps": lambda row: str(row["steps"]),
    "begins": lambda row: shorten(row["begins"], _BEGINS),
}


def _table(out: Output, rows: list[dict[str, Any]]) -> None:
    if not rows or out.json:
        return
    cells = {name: [visible(cell(row)) for row in rows] for name, cell in _COLUMNS.items()}
    told = {name: column for name, column in cells.items() if any(column)}
    out.table(tuple(told), zip(*told.values(), strict=True), right=("steps", "mistake"))
