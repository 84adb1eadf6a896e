"""One page over all experiments: it needs no network, no script and no other file."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from vepa.bench.experiments import telling
from vepa.bench.experiments.document import Beside, Cell, Experiment, Report, Row, Table, Unit
from vepa.bench.experiments.writing.numbers import numbers
from vepa.bench.experiments.writing.pictures import drawn, is_tall, picture_css
from vepa.bench.experiments.writing.styles import Style
from vepa.errors import MissingExtraError

__all__ = ["report_page"]

_TEMPLATES = Path(__file__).parent / "templates"


def report_page(report: Report, styles: Mapping[str, Style]) -> str:
    """The page; every text in it is escaped.

    Raises
    ------
    MissingExtraError
        When jinja2 is not installed.
    """
    script = (_TEMPLATES / "page.js").read_text(encoding="utf-8").strip()
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return _render(
        {
            "report": report,
            "over_seeds": telling.over_seeds(report.config),
            "settings": _settings(report),
            "summary": [_summary(each) for each in report.experiments],
            "experiments": [_section(each, styles) for each in report.experiments],
            "picture_css": picture_css(),
            "script": script,
            "script_hash": f"sha256-{digest}",
            "NOT_RUN": telling.NOT_RUN,
            "NOTHING": telling.NOTHING,
        }
    )


def _render(context: Mapping[str, Any]) -> str:
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("jinja2", "pipeline") from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["words"] = _words
    return environment.get_template("index.html.j2").render(context)


def _words(text: str) -> Markup:
    """A sentence whose parts between backticks are code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one of them has no fellow
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 else escape(part)
        for at, part in enumerate(parts)
    )


def _settings(report: Report) -> list[tuple[str, str]]:
    """What the report was made with, but for the seeds, which the page names by themselves."""
    told = []
    for name, given in report.config.items():
        if name == "seeds" or given in (None, "", {}, []):
            continue
        if isinstance(given, Mapping):
            given = ", ".join(f"{key} {each}" for key, each in given.items())
        told.append((name, str(given)))
    return told


def _summary(experiment: Experiment) -> dict[str, Any]:
    """The first figure of the source that ours stands beside, and what there is to see."""
    shown = next((each for each in experiment.beside if each.ours is not None), None)
    shown = shown or next(iter(experiment.beside), None)
    rows = [row for table in experiment.tables[:1] for row in table.rows]
    return {
        "name": experiment.name,
        "title": experiment.title,
        "beside": None if shown is None else _beside(shown),
        "figures": len(experiment.figures),
        "rows": len(rows),
        "missing": sum(bool(row.needs) for row in rows) or len(experiment.missing),
        "all_missing": bool(rows) and all(row.needs for row in rows),
    }


def _section(experiment: Experiment, styles: Mapping[str, Style]) -> dict[str, Any]:
    return {
        "it": experiment,
        "figures": [
            {
                "it": figure,
                "svg": drawn(figure, styles),
                "tall": len(experiment.figures) > 2 and is_tall(figure),
                "numbers": numbers(figure),
                "marks": [
                    (label, telling.value(at, figure.unit)) for label, at in figure.marks.items()
                ],
            }
            for figure in experiment.figures
        ],
        "tables": [_table(table) for table in experiment.tables],
        "beside": [_beside(each) for each in experiment.beside],
    }


def _table(table: Table) -> dict[str, Any]:
    groups = [
        (condition, list(_rows(list(rows), table)))
        for condition, rows in groupby(table.rows, key=lambda row: row.condition)
    ]
    return {"it": table, "groups": groups, "wide": len(table.columns) + 1}


def _rows(rows: list[Row], table: Table) -> Iterator[dict[str, Any]]:
    """Rows of one condition; neighbours that need the same are told so once."""
    for needs, alike in groupby(rows, key=lambda row: row.needs):
        found = list(alike)
        for at, row in enumerate(found):
            span = 1 if not needs else len(found) if at == 0 else 0
            yield {**_row(row, table), "span": span}


def _row(row: Row, table: Table) -> dict[str, Any]:
    cells = [] if row.needs else [row.cells.get(column.key) for column in table.columns]
    return {
        "it": row,
        "cells": [
            _cell(cell, column.unit, signed=table.signed)
            for cell, column in zip(cells, table.columns, strict=False)
        ],
    }


def _cell(cell: Cell | None, unit: Unit, *, signed: bool = False) -> dict[str, str] | None:
    if cell is None:
        return None
    return {
        "told": telling.mean_and_deviation(cell, unit, signed=signed),
        "interval": telling.interval(cell.low, cell.high, unit, signed=signed),
    }


def _beside(each: Beside) -> dict[str, Any]:
    return {
        "it": each,
        "source": telling.value(each.source, each.unit, signed=each.signed),
        "ours": _cell(each.ours, each.unit, signed=each.signed),
    }
