"""`vepa arbitrate export`, `import` and `gold`: cases to other tools, and verdicts back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.findings import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vepa.annotate.arbitration.exchange import ImportReport
    from vepa.errors import InputError

__all__ = ["export", "gold", "import_"]

#: So many faults are told; `--json` has all.
_TOLD = 20

_Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder that `vepa annotate --out` wrote.")
]
_File = Annotated[str, typer.Argument(metavar="FILE", help="The file; - is standard input.")]
_PanelName = Annotated[str, typer.Option("--panel", metavar="NAME", help="A file in annotation/.")]


def export(
    folder: _Folder,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where the cases are written.")
    ],
    to: Annotated[
        str, typer.Option("--to", metavar="FORMAT", help="jsonl, label-studio or argilla.")
    ] = "jsonl",
    everything: Annotated[bool, typer.Option("--all", help="Settled cases too.")] = False,
    with_opinions: Annotated[
        bool,
        typer.Option(
            "--with-opinions", help="With what the annotators said: people are not blind then."
        ),
    ] = False,
    panel: _PanelName = "panel.yaml",
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Write open cases as tasks of another tool: blind, nobody's opinion goes with them.

    Label Studio's labelling configuration or the settings of an Argilla dataset stand beside FILE.
    """
    from vepa.annotate.arbitration.desk import open_queue
    from vepa.annotate.arbitration.exchange import FORMATS, export_cases
    from vepa.annotate.panel import load_panel
    from vepa.errors import SettingError, Where
    from vepa.policy.schema import nearest
    from vepa.project import Project

    if to not in FORMATS:
        raise SettingError(
            f"{to!r} is no format",
            where=Where(field="--to"),
            remedy=nearest(to, FORMATS, "formats"),
        )
    output = Output(json)
    _, rules = load_panel(Project(project), panel)
    with open_queue(folder, rules.taxonomy) as queue:
        exported = export_cases(
            queue,
            to,
            out,
            everything=everything,
            opinions=with_opinions,
            guidelines=rules.codebook,
        )
    output.document(exported.document())
    files = ", ".join(map(str, exported.files))
    output.note(f"{counted(exported.cases, 'case')} as {exported.format}: {files}")


def import_(
    folder: _Folder,
    file: _File,
    format: Annotated[
        str,
        typer.Option("--from", metavar="FORMAT", help="auto, jsonl, label-studio or argilla."),
    ] = "auto",
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--as",
            metavar="NAME",
            help="Who answered; ID=NAME for each where a file has several people.",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Take nothing when a record is malformed; exit 2.")
    ] = False,
    panel: _PanelName = "panel.yaml",
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Take verdicts that were given in another tool; the same file again adds nothing.

    Tells what became of every answer. Exit 1 when one was left out: malformed, of an unknown case,
    or of one that somebody works on just now.
    """
    from vepa.annotate.arbitration.desk import open_queue, write_settled
    from vepa.annotate.arbitration.exchange import import_verdicts
    from vepa.annotate.panel import load_panel
    from vepa.project import Project

    output = Output(json)
    _, rules = load_panel(Project(project), panel)
    with open_queue(folder, rules.taxonomy) as queue:
        report = import_verdicts(queue, file, format=format, names=names or (), strict=strict)
        if report.by:
            write_settled(folder, queue)
    output.document(report.document())
    _tell(output, report)
    raise typer.Exit(0 if report.clean else 1)


def gold(
    folder: _Folder,
    file: _File,
    panel: _PanelName = "panel.yaml",
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Add cases whose answer is known: people meet them among the others, and `status` tells how
    they did. FILE is as `export --to jsonl` writes it, with a `judgement` in each line.
    """
    from vepa.annotate.arbitration.desk import open_queue
    from vepa.annotate.arbitration.exchange import add_gold
    from vepa.annotate.panel import load_panel
    from vepa.project import Project

    output = Output(json)
    _, rules = load_panel(Project(project), panel)
    with open_queue(folder, rules.taxonomy) as queue:
        report = add_gold(queue, file)
    output.document(report.document())
    output.note(
        f"{counted(report.records, 'record')}: {report.added:,} added, {report.known:,} known, "
        f"{report.unanswered:,} without a judgement, {len(report.malformed):,} malformed"
    )
    _faults(output, report.malformed)
    raise typer.Exit(1 if report.malformed else 0)


def _tell(output: Output, report: ImportReport) -> None:
    fates = report.fates
    output.note(
        f"{report.file} ({report.format}): {counted(report.records, 'record')}, "
        f"{report.unanswered:,} of them without an answer; {counted(report.answers, 'answer')}"
    )
    output.note(
        f"  {fates['taken']:,} taken, {fates['known']:,} known, {fates['settled']:,} of cases that "
        f"were settled otherwise, {fates['unknown']:,} of unknown cases, {fates['lent']:,} of "
        f"cases that are lent, {report.skipped:,} skipped, {len(report.malformed):,} malformed"
    )
    for who, count in sorted(report.by.items()):
        output.note(f"  {who}: {count:,} taken")
    _faults(output, report.malformed)


def _faults(output: Output, faults: Sequence[InputError]) -> None:
    for fault in faults[:_TOLD]:
        output.note(f"  malformed: {fault}")
    if len(faults) > _TOLD:
        output.note(f"  … and {len(faults) - _TOLD:,} more")
