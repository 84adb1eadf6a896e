"""What is written of a report says the same as the report, and never more."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import polars
import pytest
from told_reports import NEEDS, told_report

from vepa.bench.experiments.document import Cell, Experiment, Report, Row, Table
from vepa.bench.experiments.telling import mean_and_deviation, over_seeds, value
from vepa.bench.experiments.writing import write_report
from vepa.bench.experiments.writing.csv import figure_csv, table_csv
from vepa.bench.experiments.writing.markdown import experiment_markdown
from vepa.files import sha256_of

HOSTILE = "a|b *bold* [x](javascript:y) `<img src=x onerror=y>` \\| _z_ \n# head, \"q\" 'r'"


@pytest.fixture(scope="module")
def report() -> Report:
    return told_report()


@pytest.fixture(scope="module")
def folder(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("report")
    write_report(report, place)
    return place


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def with_table(report: Report, table: Table) -> Experiment:
    return report.experiments[0].model_copy(update={"tables": (table,), "figures": ()})


def test_every_part_has_its_files_and_their_hashes(report: Report, folder: Path) -> None:
    written = write_report(report, folder)
    expected = {"index.html", "report.json"}
    for each in report.experiments:
        expected.add(f"{each.name}/{each.name}.md")
        expected |= {f"{each.name}/{table.name}.csv" for table in each.tables}
        expected |= {f"{each.name}/{f.name}{end}" for f in each.figures for end in (".svg", ".csv")}
    assert set(written) == expected
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert found == expected, "nothing half written is left"
    assert all(sha256_of((folder / path).read_bytes()) == each for path, each in written.items())


def test_the_same_report_is_written_alike_and_not_again(report: Report, folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    again = Report.model_validate_json((folder / "report.json").read_text(encoding="utf-8"))
    assert again == report
    write_report(again, folder)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_table_reads_back_from_csv_as_it_was(report: Report, folder: Path) -> None:
    for each in report.experiments:
        for table in each.tables:
            found = lines(folder / each.name / f"{table.name}.csv")
            assert len(found) == len(table.rows)
            for line, row in zip(found, table.rows, strict=True):
                assert (line["condition_key"], line["method"]) == (row.condition_key, row.method)
                for column in table.columns:
                    assert read_cell(line, column.key) == row.cells.get(column.key)


def read_cell(line: dict[str, str], key: str) -> Cell | None:
    if not line[f"{key}.mean"]:
        return None
    parts = {part: line[f"{key}.{part}"] for part in ("mean", "sd", "low", "high")}
    own = tuple(float(line[f"{key}.seed_{seed}"]) for seed in range(5))
    return Cell(**{name: float(text) for name, text in parts.items() if text}, by_seed=own)


def test_numbers_in_csv_are_numbers_to_others(report: Report, folder: Path) -> None:
    frame = polars.read_csv(folder / "covered" / "figures.csv")
    assert frame["covered_f1.mean"].dtype == polars.Float64
    assert frame["covered_f1.mean"].null_count() == 6, "the rows that were not run"
    figure = report.experiments[0].figures[1]
    points = polars.read_csv(folder / "covered" / "coverage.csv")
    assert points.columns == ["series", "x", "y", "low", "high"]
    assert points["y"].to_list() == [p.y for one in figure.series for p in one.points]


def test_a_row_that_was_not_run_has_needs_and_no_number(report: Report, folder: Path) -> None:
    seen = 0
    for path in folder.rglob("figures.csv"):
        for line in lines(path):
            if line["needs"]:
                seen += 1
                figures = {name: text for name, text in line.items() if "." in name}
                assert figures
                assert not any(figures.values())
    assert seen == 21
    told = (folder / "covered/covered.md").read_text(encoding="utf-8").splitlines()
    for text in (line for line in told if line.startswith("| ") and "NOT RUN" in line):
        assert not re.search(r"\d\.\d{3} ±", text)
        assert "needs" in text


def test_figures_of_a_row_that_was_not_run_are_not_told(report: Report) -> None:
    """Even where the document has some, by mistake."""
    whole = report.experiments[0].tables[0]
    faulty = whole.rows[0].model_copy(update={"needs": NEEDS})
    table = whole.model_copy(update={"rows": (faulty,)})
    mean = mean_and_deviation(faulty.cells["covered_f1"], "score")
    text = experiment_markdown(with_table(report, table), report)
    assert mean not in text
    assert repr(faulty.cells["covered_f1"].mean) not in table_csv(table)
    assert "NOT RUN" in text


def test_labels_cannot_break_a_table_in_markdown(report: Report) -> None:
    whole = report.experiments[0].tables[0]
    hostile = [
        row.model_copy(update={"method": HOSTILE, "condition": HOSTILE, "note": "x | y"})
        for row in whole.rows
    ]
    columns = tuple(each.model_copy(update={"label": HOSTILE}) for each in whole.columns)
    table = Table(name="t", title=HOSTILE, columns=columns, rows=tuple(hostile), note=HOSTILE)
    text = experiment_markdown(with_table(report, table), report)
    grid = [line for line in text.splitlines() if line.startswith("|")]
    bars = [len(re.findall(r"(?<!\\)\|", line)) for line in grid[: len(hostile) + 2]]
    assert bars == [len(columns) + 3] * (len(hostile) + 2)
    assert "\n# head" not in text
    code = re.compile(r"`[^`]*`")  # what is code is shown as it is
    assert not re.search(r"(?<!\\)<img", code.sub("", text))
    assert not re.search(r"(?<!\\)\[x", code.sub("", text))


def test_labels_come_back_from_csv_as_they_were() -> None:
    row = Row(condition="", condition_key="k", method=HOSTILE, method_key="m", needs='=1+1, "x"')
    found = list(
        csv.DictReader(
            table_csv(Table(name="t", title="", columns=(), rows=(row,))).splitlines(True)
        )
    )
    assert found[0]["method"] == HOSTILE
    assert found[0]["needs"] == row.needs


def test_groups_are_named_in_the_csv_of_dots(report: Report) -> None:
    figure = report.experiments[0].figures[0]
    found = list(csv.DictReader(figure_csv(figure).splitlines()))
    assert {line["x"] for line in found} == set(figure.groups)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (value(-0.0001, "score", signed=True), "0.000"),
        (value(-0.13, "score", signed=True), "−0.130"),
        (value(0.05, "percent", signed=True), "+5.0 %"),
        (value(12345.0, "count"), "12,345"),
        (mean_and_deviation(Cell(mean=19.0, sd=1.58), "count"), "19.0 ± 1.6"),
        (mean_and_deviation(Cell(mean=0.815, sd=0.0131), "percent"), "81.5 ± 1.3 %"),
    ],
)
def test_figures_are_told_plainly(told: str, expected: str) -> None:
    assert told == expected


def test_one_seed_is_told_as_one() -> None:
    assert over_seeds({"seeds": [3]}).startswith("Every figure is that of one seed (3)")
    assert "mean over 2 seeds (0, 1)" in over_seeds({"seeds": [0, 1]})


@pytest.mark.parametrize("name", ["../outside", "a/b", "", ".hidden", "-rf"])
def test_a_name_cannot_lead_out_of_the_folder(report: Report, name: str, tmp_path: Path) -> None:
    faulty = report.experiments[0].model_copy(update={"name": name})
    with pytest.raises(ValueError, match="name of a file"):
        write_report(report.model_copy(update={"experiments": (faulty,)}), tmp_path / "in")
    assert list(tmp_path.iterdir()) == [], "nothing is written of a report that is faulty"


def test_two_parts_cannot_share_a_file(report: Report, tmp_path: Path) -> None:
    first = report.experiments[0]
    figure = first.figures[0].model_copy(update={"name": first.tables[0].name})
    faulty = first.model_copy(update={"figures": (figure,)})
    with pytest.raises(ValueError, match=r"covered/figures\.csv"):
        write_report(report.model_copy(update={"experiments": (faulty,)}), tmp_path / "in")


def test_a_report_of_nothing_is_written_too(tmp_path: Path) -> None:
    empty = Report(title="nothing", experiments=(), command="true", versions={}, config={})
    assert set(write_report(empty, tmp_path)) == {"index.html", "report.json"}
    assert json.loads((tmp_path / "report.json").read_text())["experiments"] == []
