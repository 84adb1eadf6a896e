"""An experiment as Markdown: what the page tells, for those who read files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from vepa.bench.experiments.document import (
    Beside,
    Experiment,
    Figure,
    Report,
    Row,
    Table,
)
from vepa.bench.experiments.telling import (
    NOT_RUN,
    NOTHING,
    interval,
    mean_and_deviation,
    over_seeds,
    value,
)

__all__ = ["experiment_markdown"]

#: Signs that would be taken for Markdown; `_` within a word is not.
_SIGNS = re.compile(r"([\\`*\[\]<>|~#])|(?<!\w)_|_(?!\w)")


def experiment_markdown(experiment: Experiment, report: Report) -> str:
    """One experiment, whole; links are relative to its folder."""
    parts = [
        f"# {_text(experiment.title)}",
        _text(experiment.question),
        f"Source: {_text(experiment.place)}." if experiment.place else "",
        _text(over_seeds(report.config)),
        *(part for table in experiment.tables for part in _table(table)),
        *(part for figure in experiment.figures for part in _figure(figure)),
        *_beside(experiment.beside),
        *_missing(experiment),
        *_listed("Findings", experiment.findings),
        *_listed("Notes", experiment.notes),
        "## Made by",
        _fenced(experiment.command),
        *_hashes(experiment, report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(table: Table) -> list[str]:
    head = ["Condition", "Method", *(_text(column.label) for column in table.columns)]
    rows = [_row(row, table) for row in table.rows]
    explained = [f"{_text(each.label)}: {_text(each.help)}" for each in table.columns if each.help]
    return [
        f"## {_text(table.title)}",
        _grid(head, rows, numbers=2),
        _text(table.note),
        "\n".join(f"- {line}" for line in explained),
        f"Every number, each seed's too: [{table.name}.csv]({table.name}.csv).",
    ]


def _row(row: Row, table: Table) -> list[str]:
    method = f"{_text(row.method)} ({_text(row.note)})" if row.note else _text(row.method)
    start = [_text(row.condition), method]
    if row.needs:
        told = f"**{NOT_RUN}**: needs {_text(row.needs)}"
        return [*start, told, *[""] * (len(table.columns) - 1)]
    cells = []
    for column in table.columns:
        cell = row.cells.get(column.key)
        if cell is None:
            cells.append(NOTHING)
            continue
        told = mean_and_deviation(cell, column.unit, signed=table.signed)
        ends = interval(cell.low, cell.high, column.unit, signed=table.signed)
        cells.append(f"{told} {ends}".rstrip())
    return [*start, *cells]


def _figure(figure: Figure) -> list[str]:
    band = f" Bands: {_text(figure.band)}." if figure.band else ""
    marks = "; ".join(
        f"{_text(label)} {value(number, figure.unit)}" for label, number in figure.marks.items()
    )
    return [
        f"## {_text(figure.title)}",
        f"![{_text(figure.title)}]({figure.name}.svg)",
        f"{_text(figure.y_label)} by {_text(figure.x_label)}.{band}"
        + (f" Of the source: {marks}." if marks else ""),
        f"Numbers: [{figure.name}.csv]({figure.name}.csv).",
    ]


def _beside(found: Sequence[Beside]) -> list[str]:
    if not found:
        return []
    head = ["What", "Source", "Ours", "Verdict"]
    rows = []
    for each in found:
        source = value(each.source, each.unit, signed=each.signed)
        whose = "; ".join(part for part in (each.source_method, each.place) if part)
        verdict = " ".join(part for part in (each.verdict, each.why) if part)
        rows.append(
            [_text(each.what), _text(f"{source} ({whose})"), _ours(each), _text(verdict) or NOTHING]
        )
    return ["## The source beside ours", _grid(head, rows, numbers=len(head))]


def _ours(each: Beside) -> str:
    if each.ours is None:
        return f"**{NOT_RUN}**: needs {_text(each.needs)}" if each.needs else NOTHING
    told = mean_and_deviation(each.ours, each.unit, signed=each.signed)
    ends = interval(each.ours.low, each.ours.high, each.unit, signed=each.signed)
    method = f" ({_text(each.ours_method)})" if each.ours_method else ""
    return f"{told} {ends}".rstrip() + method


def _missing(experiment: Experiment) -> list[str]:
    told = [f"- {_text(each.what)}: needs {_text(each.needs)}" for each in experiment.missing]
    return [f"## {NOT_RUN}", "\n".join(told)] if told else []


def _listed(title: str, sentences: Sequence[str]) -> list[str]:
    told = "\n".join(f"- {_text(sentence)}" for sentence in sentences)
    return [f"## {title}", told] if told else []


def _hashes(experiment: Experiment, report: Report) -> list[str]:
    parts = []
    if experiment.hashes:
        rows = [[_text(name), f"`{digest}`"] for name, digest in experiment.hashes.items()]
        parts.append(_grid(["Of", "SHA-256"], rows, numbers=2))
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    return [*parts, f"Versions: {_text(versions)}." if versions else ""]


def _grid(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int) -> str:
    """A table; columns from `numbers` on are set to the right."""
    rule = ["---:" if at >= numbers else "---" for at in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def _fenced(command: str) -> str:
    longest = max((len(run) for run in re.findall("`+", command)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}console\n{command}\n{fence}"


def _text(words: str) -> str:
    """Words on one line that Markdown leaves as they are; what lies between backticks is code."""
    parts = " ".join(words.split()).split("`")
    if len(parts) % 2 == 0:  # one of them has no fellow
        return _escaped("`".join(parts))
    return "".join(
        f"`{part.replace('|', chr(92) + '|')}`" if at % 2 and part else _escaped(part)
        for at, part in enumerate(parts)
    )


def _escaped(words: str) -> str:
    return _SIGNS.sub(lambda found: f"\\{found.group()}", words)
