"""`vepa arbitrate`: what annotators see differently is settled."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vepa.cli.arbitrate_exchange import export, gold, import_
from vepa.cli.arbitrate_serve import fill, serve
from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.findings import counted

if TYPE_CHECKING:
    from vepa.annotate.panel import Panel

__all__ = ["app", "next_", "run", "status"]

app = typer.Typer(help="Settle what annotators see differently.", no_args_is_help=True)

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder that `vepa annotate --out` wrote.")
]
PanelName = Annotated[str, typer.Option("--panel", metavar="NAME", help="A file in annotation/.")]


@app.command("run")
def run(
    folder: Folder,
    panel: PanelName = "panel.yaml",
    traces: Annotated[
        str | None,
        typer.Option(
            "--traces", metavar="TRACES", help="What was annotated: fills the queue with disputes."
        ),
    ] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Cases at once.")] = 8,
    again: Annotated[
        bool, typer.Option("--again", help="Ask about cases that the arbiter failed on, too.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell tokens and cost; nothing is written or sent.")
    ] = False,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Let the panel's arbiter settle what is open, and write what stands: DIR/settled.jsonl.

    People settle the rest at any time; another run takes it up. Exit 1 when the arbiter gave no
    usable judgement of a case, or could not go on; what it settled is kept.
    """
    from vepa.annotate.panel import load_panel
    from vepa.cli.arbitrate_work import Work
    from vepa.project import Project

    output = Output(json)
    place = Project(project)
    found, rules = load_panel(place, panel)
    work = Work(output, folder, found, rules, place)
    if dry_run:
        work.foretell(traces, again)
        return
    raise typer.Exit(work.done(traces, again, workers))


@app.command("status")
def status(
    folder: Folder, panel: PanelName = "panel.yaml", json: AsJson = False,
    project: ProjectDir = None,
) -> None:  # fmt: skip
    """Tell how far the queue is, who settled what, and how they did on gold."""
    from vepa.annotate.arbitration.desk import open_queue
    from vepa.annotate.panel import load_panel
    from vepa.project import Project

    output = Output(json)
    _, rules = load_panel(Project(project), panel)
    with open_queue(folder, rules.taxonomy) as queue:
        state = queue.state()
    output.document(state.document())
    output.text(
        f"{counted(state.total, 'dispute')}: {state.settled:,} settled, {state.open:,} open "
        f"({state.leased:,} lent just now); {counted(state.gold, 'gold case')}"
    )
    for reason, count in state.reasons.items():
        output.text(f"  open for {reason}: {count:,}")
    rows = []
    for who in sorted({*state.by, *state.quality}):
        seen = state.quality.get(who)
        held = ("", "") if seen is None else (
            f"{seen.decisions} of {seen.seen}", f"{seen.triggers:.2f}"
        )  # fmt: skip
        rows.append((who, f"{state.by.get(who, 0):,}", *held))
    if rows:
        columns = ("who", "verdicts", "right decisions on gold", "overlap of triggers")
        output.table(columns, rows, right=columns[1:])


@app.command("next")
def next_(
    folder: Folder,
    who: Annotated[str, typer.Option("--as", metavar="NAME", help="Who you are.")],
    panel: PanelName = "panel.yaml",
    traces: Annotated[
        str | None,
        typer.Option(
            "--traces", metavar="TRACES", help="What was annotated: fills the queue with disputes."
        ),
    ] = None,
    one: Annotated[bool, typer.Option("--one", help="Leave after one case.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Show results to their end.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="No colour.")] = False,
    project: ProjectDir = None,
) -> None:
    """Settle cases in the terminal, or by lines from standard input; `?` tells how.

    What the annotators said is shown after your own verdict. A case that you leave is given back.
    """
    from rich.console import Console

    from vepa.annotate.arbitration.desk import open_queue, write_settled
    from vepa.annotate.arbitration.terminal import TerminalDesk
    from vepa.annotate.panel import load_panel
    from vepa.cli.show import in_colour
    from vepa.project import Project

    output = Output()
    found, rules = load_panel(Project(project), panel)
    _check_free(who, found)
    if traces is not None:
        fill(output, folder, rules, traces)
    colour = in_colour(plain, sys.stdout.isatty())
    console = output.console if colour else Console(file=sys.stdout, color_system=None)
    with open_queue(folder, rules.taxonomy) as queue:
        desk = TerminalDesk(queue, who, _lines(), console, full=full)
        try:
            given = desk.run(one=one)
        finally:
            settled = len(write_settled(folder, queue).settled)
        left = queue.state().open
    output.note(
        f"{counted(given, 'verdict')} given, {left:,} still open; "
        f"{counted(settled, 'step')} settled"
    )


def _check_free(who: str, panel: Panel) -> None:
    from vepa.errors import SettingError, Where

    if who in [seat.name for seat in panel.seats]:
        raise SettingError(
            f"{who!r} is a reader of the panel",
            where=Where(field="--as"),
            remedy="take a name that no reader has",
        )


def _lines() -> Any:
    """The next line that somebody types or pipes in; None at the end."""
    typed = sys.stdin is not None and sys.stdin.isatty()
    if typed:
        import contextlib

        with contextlib.suppress(ImportError):
            import readline  # noqa: F401 - lines can be edited then
    elif hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(encoding="utf-8", errors="backslashreplace")

    def read() -> str | None:
        if sys.stdin is None:
            return None
        if not typed:
            return sys.stdin.readline() or None
        try:
            return input("> ")
        except EOFError:
            return None

    return read


app.command("export")(export)
app.command("import")(import_)
app.command("gold")(gold)
app.command("serve")(serve)
