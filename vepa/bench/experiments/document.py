"""What an experiment has to tell: tables, figures, the source beside us, and what was not run.

Everything that is written (CSV, Markdown, SVG, the page, `--json`) is made of this and of nothing
else, so they cannot tell different stories.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

__all__ = [
    "Beside",
    "Cell",
    "Column",
    "Experiment",
    "Figure",
    "Missing",
    "Point",
    "Report",
    "Row",
    "Series",
    "Table",
]

Unit = Literal["score", "percent", "count"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Cell(_Part):
    """A measured figure.

    Attributes
    ----------
    mean, sd
        Over the seeds (population deviation).
    low, high
        95 % interval of the mean, where one was worked out.
    by_seed
        The figure of each seed, in their order.
    """

    mean: float
    sd: float
    low: float | None = None
    high: float | None = None
    by_seed: tuple[float, ...] = ()


class Column(_Part):
    """A column of a table.

    Attributes
    ----------
    key
        Of the cells in it; also the column's name in CSV.
    label
        For people.
    unit
        How its figures are told.
    help
        A sentence on what is measured.
    """

    key: str
    label: str
    unit: Unit = "score"
    help: str = ""


class Row(_Part):
    """A row: one method under one condition.

    Attributes
    ----------
    condition, method
        For people; keys `condition_key` and `method_key` are stable.
    cells
        Column -> figure; a column may be missing.
    needs
        Set instead of cells where the row was NOT RUN: what it needs.
    note
        A remark, for people.
    """

    condition: str
    condition_key: str
    method: str
    method_key: str
    cells: Mapping[str, Cell] = {}
    needs: str = ""
    note: str = ""


class Table(_Part):
    """Rows under the same columns.

    Attributes
    ----------
    name
        Stem of its file, unique among tables and figures of the experiment.
    title, note
        For people.
    columns, rows
        What it holds.
    signed
        Whether its figures are differences.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""
    signed: bool = False


class Point(_Part):
    """A point of a curve: the mean over seeds, and the band of one deviation or the interval."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


class Series(_Part):
    """A curve, or the dots of a method.

    Attributes
    ----------
    name
        For people.
    style
        Key of the method: colour, dash and mark follow from it.
    points
        In order of x; in a `dots` figure x counts the groups from 0.
    """

    name: str
    style: str
    points: tuple[Point, ...]


class Figure(_Part):
    """A picture.

    Attributes
    ----------
    name
        Stem of its files, unique within the experiment.
    kind
        `lines` over a numeric axis; `dots`: for each of `groups` one dot and bar a series.
    groups
        Names along the axis of a `dots` figure.
    band
        What the bands and bars stand for.
    marks
        Figures of the source as horizontal marks: label -> value.
    """

    name: str
    title: str
    kind: Literal["lines", "dots"]
    x_label: str
    y_label: str
    unit: Unit
    series: tuple[Series, ...]
    groups: tuple[str, ...] = ()
    band: str = ""
    marks: Mapping[str, float] = {}


class Beside(_Part):
    """A figure of the source, and ours beside it.

    Attributes
    ----------
    what
        What is compared, in words.
    source, source_method
        The source's figure, and whose it is.
    place
        Where the source has it.
    ours
        Ours; None where it was NOT RUN or nothing here answers to it.
    needs
        What ours needs, where it was not run.
    verdict
        A sentence worked out from the numbers: whether ours moves as the source's does.
    why
        Why not, where it does not.
    unit
        How both are told.
    signed
        Whether both are differences.
    """

    what: str
    source: float
    source_method: str = "VEPA"
    place: str = ""
    ours: Cell | None = None
    ours_method: str = ""
    needs: str = ""
    verdict: str = ""
    why: str = ""
    unit: Unit = "score"
    signed: bool = False


class Missing(_Part):
    """Something that was NOT RUN.

    Attributes
    ----------
    what
        The row or experiment.
    needs
        What it needs, with the option that gives it.
    """

    what: str
    needs: str


class Experiment(_Part):
    """One experiment, worked out.

    Attributes
    ----------
    name, title
        Its name on the command line, and for people.
    question
        What it asks, in a sentence or two.
    place
        Where the source has it.
    command
        What makes exactly this again.
    tables, figures
        In the order of reading.
    beside
        The source's figures.
    missing
        What was NOT RUN.
    findings
        Sentences worked out from the numbers.
    notes
        Remarks that always hold: how our experiment differs from the source's.
    hashes
        Name -> SHA-256: of the events, of the plays behind the figures, of the code.
    """

    name: str
    title: str
    question: str
    place: str
    command: str
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    beside: tuple[Beside, ...] = ()
    missing: tuple[Missing, ...] = ()
    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    hashes: Mapping[str, str] = {}


class Report(_Part):
    """All experiments.

    Attributes
    ----------
    title
        For people.
    notes
        What holds of all experiments.
    experiments
        In the order of the catalogue.
    command
        What makes it again.
    versions
        Of Python, VEPA and the packages behind the figures.
    config
        Seeds and options.
    """

    title: str
    notes: tuple[str, ...] = ()
    experiments: tuple[Experiment, ...]
    command: str
    versions: Mapping[str, str]
    config: Mapping[str, Any]
