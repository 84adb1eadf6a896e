"""All that is written of a report: the page, Markdown, CSV, SVG and the report itself as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from vepa.bench.experiments.document import Experiment, Report
from vepa.files import sha256_of, write_changed

if TYPE_CHECKING:
    from vepa.bench.experiments.writing.styles import Style

__all__ = ["PAGE", "RECORD", "write_report"]

#: Over all experiments, in the folder of a report.
PAGE = "index.html"
#: The report itself.
RECORD = "report.json"
#: Names become names of files.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


def write_report(report: Report, folder: Path) -> dict[str, str]:
    """Write a report; each file is seen whole or not at all, and the page comes last.

    Parameters
    ----------
    report
        All experiments.
    folder
        Where the files go, made where it is missing. Other files in it are left alone.

    Returns
    -------
    dict
        Path of each file, relative to `folder`, and its SHA-256.

    Raises
    ------
    ValueError
        When a name cannot be one of a file, or two parts have the same.
    MissingExtraError
        When jinja2 is not installed.
    """
    texts: dict[str, str] = {}
    for path, text in _files(report):
        if path.casefold() in {known.casefold() for known in texts}:
            raise ValueError(f"two parts of the report are called {path}")
        texts[path] = text
    for path, text in texts.items():
        write_changed(folder / path, text)
    return {path: sha256_of(text) for path, text in texts.items()}


def _files(report: Report) -> Iterator[tuple[str, str]]:
    from vepa.bench.experiments.writing.page import report_page
    from vepa.bench.experiments.writing.styles import styles_of

    styles = styles_of(report)
    for experiment in report.experiments:
        for path, text in _of_experiment(experiment, report, styles):
            yield f"{_name(experiment.name)}/{path}", text
    yield RECORD, report.model_dump_json(indent=1) + "\n"
    yield PAGE, report_page(report, styles)


def _of_experiment(
    experiment: Experiment, report: Report, styles: Mapping[str, Style]
) -> Iterator[tuple[str, str]]:
    from vepa.bench.experiments.telling import seeds_of
    from vepa.bench.experiments.writing.csv import figure_csv, table_csv
    from vepa.bench.experiments.writing.markdown import experiment_markdown
    from vepa.bench.experiments.writing.pictures import stand_alone

    for table in experiment.tables:
        yield f"{_name(table.name)}.csv", table_csv(table, seeds_of(report.config))
    for figure in experiment.figures:
        yield f"{_name(figure.name)}.csv", figure_csv(figure)
        yield f"{figure.name}.svg", stand_alone(figure, styles)
    yield f"{experiment.name}.md", experiment_markdown(experiment, report)


def _name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot be the name of a file")
    return name
