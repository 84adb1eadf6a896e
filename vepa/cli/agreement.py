"""`vepa agreement`: how far labels can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vepa.cli.console import AsJson, Output, ProjectDir, one_line

if TYPE_CHECKING:
    from vepa.annotate.agreement import Agreement

__all__ = ["agreement"]


def agreement(
    labels: Annotated[
        str, typer.Argument(metavar="LABELS", help="labels.jsonl of `vepa annotate`.")
    ],
    traces: Annotated[
        str | None,
        typer.Option(
            "--traces", metavar="TRACES", help="What was annotated: for services and --marked."
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="OLD", help="Labels of an earlier release, for drift."),
    ] = None,
    marked: Annotated[
        bool,
        typer.Option("--marked", help="Score triggers against steps that people marked in TRACES."),
    ] = False,
    settled: Annotated[
        str | None,
        typer.Option(
            "--settled", metavar="FILE", help="Settled labels, scored with --marked as well."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Gets agreement.json, agreement.md, agreement.html."
        ),
    ] = None,
    resamples: Annotated[
        int, typer.Option("--resamples", min=1, max=100_000, help="Of whole episodes.")
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the resamples.")] = 0,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Tell how far two annotators or more agree, with intervals.

    Contents that a script judged enter no figure. docs/agreement.md says what each figure means.
    """
    from vepa.annotate.agreement import agreement as measure
    from vepa.corpus.importing import read_traces
    from vepa.corpus.labels import stream_labels
    from vepa.corpus.settled import stream_settled
    from vepa.corpus.taxonomy import load_taxonomy
    from vepa.errors import InputError, SettingError, Where
    from vepa.files import check_writable, name_of
    from vepa.project import Project

    if settled is not None and not marked:
        raise SettingError(
            "settled labels are scored against marked steps only",
            where=Where(field="settled"),
            remedy="add --marked, or leave --settled out",
        )
    if out is not None:
        check_writable(out / "agreement.json")
    output = Output(json)
    try:
        found = measure(
            stream_labels(labels),
            None if traces is None else read_traces(traces),
            taxonomy=load_taxonomy(Project(project)),
            against=None if against is None else stream_labels(against),
            marked=marked,
            settled=() if settled is None else stream_settled(settled),
            resamples=resamples,
            seed=seed,
        )
    except InputError as error:
        raise error.at(file=name_of(labels)) from None
    if not found.labels:
        raise InputError(
            "no labels",
            where=Where(name_of(labels)),
            remedy="name labels.jsonl, which `vepa annotate` writes",
        )
    output.document(found.model_dump(mode="json"))
    _tell(output, found)
    if out is not None:
        _write(out, found)
        output.note(f"written: {out}/agreement.json, agreement.md and agreement.html")


def _tell(output: Output, found: Agreement) -> None:
    from vepa.annotate.agreement.sections import sections

    output.text(one_line(found.heading))
    for note in found.notes:
        output.text(f"- {one_line(note)}")
    for section in sections(found):
        output.text(f"\n{one_line(section.title)}\n{one_line(section.about)}")
        for table in section.tables:
            output.table(table.columns, table.rows, title=table.title, right=table.right)


def _write(out: Path, found: Agreement) -> None:
    from vepa.annotate.agreement import agreement_markdown, agreement_page
    from vepa.files import write_output

    page = agreement_page(found)
    write_output(out / "agreement.json", found.model_dump_json(indent=1) + "\n")
    write_output(out / "agreement.md", agreement_markdown(found))
    write_output(out / "agreement.html", page)
