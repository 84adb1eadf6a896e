"""`vepa annotate`: two readers judge every step of a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.findings import counted

if TYPE_CHECKING:
    from vepa.annotate.dual import Outcome

__all__ = ["annotate"]

#: A word on the way, each so many judgements.
_TOLD = 100


def annotate(
    traces: Annotated[
        str,
        typer.Argument(metavar="TRACES", help="Trajectories, or anything `vepa import` reads."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where labels are kept.")],
    panel: Annotated[
        str,
        typer.Option(
            "--panel", metavar="NAME", help="A file in annotation/: panel.demo.yaml needs no key."
        ),
    ] = "panel.yaml",
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=64, help="Requests at once, a reader.")
    ] = 8,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Let the two annotators of a panel judge every step, blind to each other.

    DIR gets labels.jsonl and failures.jsonl. What was judged is kept at once, so the same command
    goes on where it stopped and pays for nothing twice. Exit 1 when a step got no usable judgement.
    """
    from vepa.annotate import dual
    from vepa.annotate.opening import budget_of, open_readers
    from vepa.annotate.panel import load_panel
    from vepa.cli.progress import Steps
    from vepa.corpus.importing import read_traces
    from vepa.llm import Ledger
    from vepa.project import Project

    output = Output(json)
    found, rules = load_panel(Project(project), panel)
    ledger = Ledger(out / "ledger.jsonl").tagged(purpose="annotate")
    readers = open_readers(found, rules, budget=budget_of(found), ledger=ledger)
    with Steps("judging", tuple(reader.seat.name for reader in readers)) as told:

        def progress(name: str, done: int, of: int) -> None:
            if done == of or not done % _TOLD:
                told(f"{name}: {done:,} of {of:,}")

        outcome = dual.annotate(
            readers, out, read_traces(traces), workers=workers, progress=progress
        )
    _tell(output, outcome, out)
    raise typer.Exit(1 if outcome.failures else 0)


def _tell(output: Output, outcome: Outcome, out: Path) -> None:
    figures = outcome.figures()
    output.document({"out": str(out), **figures})
    origins = ", ".join(f"{count:,} {name}" for name, count in figures["origins"].items())
    output.note(
        f"{counted(outcome.steps, 'step')}, {counted(outcome.items, 'distinct content')}, "
        f"{counted(len(outcome.labels), 'label')} ({origins or 'none'}); "
        f"{outcome.asked:,} asked now"
    )
    for failure in outcome.failures[:10]:
        output.note(f"  no judgement: {failure.trajectory}#{failure.step}: {failure.reason}")
    if len(outcome.failures) > 10:
        output.note(f"  … and {len(outcome.failures) - 10:,} more in failures.jsonl")
