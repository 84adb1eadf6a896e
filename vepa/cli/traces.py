"""`vepa import`: other people's traces become trajectories."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vepa.cli.console import AsJson, Output
from vepa.cli.findings import counted
from vepa.cli.inputs import not_over_itself

if TYPE_CHECKING:
    from vepa.corpus.importing import Import, ImportReport

__all__ = ["import_traces"]

#: So many skipped records are told on a terminal; `--json` has more.
_TOLD = 20


def _list(wanted: bool) -> None:
    if not wanted:
        return
    from vepa.corpus.importing import AUTO, FORMATS, format_of

    rows = [(AUTO, "finds out"), *((name, format_of(name).title) for name in FORMATS)]
    sys.stdout.write("".join(f"{name:18} {title}\n" for name, title in rows))
    raise typer.Exit


def import_traces(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE…", help="File, folder or archive of traces; `-` is stdin."),
    ],
    _formats: Annotated[
        bool,
        typer.Option("--formats", is_eager=True, callback=_list, help="List the known formats."),
    ] = False,
    format: Annotated[
        str, typer.Option("--format", metavar="NAME", help="auto, or one that --formats lists.")
    ] = "auto",
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write here, when all is read; stdout without it."
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", metavar="NAME", help="First part of the ids."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first bad record, with exit code 2.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Turn traces of other programs into trajectories, one JSON object a line.

    Bad records are skipped and told: exit code 1. With --json the report is on stdout and the
    trajectories go to --out.
    """
    from vepa.corpus.importing import Import
    from vepa.errors import SettingError

    output = Output(json)
    if json and out is None:
        raise SettingError(
            "--json puts the report on stdout, so the trajectories need a file",
            remedy="add --out FILE",
        )
    if out is not None:
        not_over_itself(files, out)
    ids: set[bytes] = set()
    imports = [Import(each, format, strict=strict, dataset=dataset, ids=ids) for each in files]
    _write(imports, out)
    reports = [each.report for each in imports]
    output.document({"out": out, "files": [each.as_json() for each in reports], **_sums(reports)})
    for report in reports:
        _tell(output, report)
    raise typer.Exit(1 if any(each.skipped for each in reports) else 0)


def _write(imports: list[Import], out: str | None) -> None:
    from pydantic import TypeAdapter

    from vepa.corpus.trajectory import Trajectory
    from vepa.files import writing_output

    written = TypeAdapter(Trajectory)

    def lines(stream: Any) -> None:
        for each in imports:
            for trajectory in each:
                stream.write(written.dump_json(trajectory, exclude_none=True) + b"\n")

    if out is None or out == "-":
        lines(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with writing_output(out) as stream:
        lines(stream)


def _sums(reports: list[ImportReport]) -> dict[str, int]:
    return {
        name: sum(getattr(each, name) for each in reports)
        for name in ("records", "trajectories", "skipped")
    }


def _tell(output: Output, report: ImportReport) -> None:
    output.note(
        f"{report.file} ({report.format}): {counted(report.records, 'record')}, "
        f"{counted(report.trajectories, 'trajectory', 'trajectories')}"
        + (f", {report.skipped} skipped" if report.skipped else "")
    )
    for each in report.told[:_TOLD]:
        output.note(f"  skipped: {each}")
    if report.skipped > _TOLD:
        output.note(f"  … and {report.skipped - _TOLD} more")
    for what, told in (("not understood", report.notes.unknown), ("note", report.notes.remarks)):
        for name, count in sorted(told.items())[:_TOLD]:
            output.note(f"  {what}: {name} ({count} ×)")
