"""`vepa show`: trajectories for people, in the terminal or on one page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.inputs import SchemaOption

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vepa.cli.progress import Steps
    from vepa.cli.show_source import Source
    from vepa.viewer.view import Shown, Subject

__all__ = ["in_colour", "show"]

#: After so many trajectories a page tells how far it is.
_TOLD = 500


def show(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[WHAT]",
            help="A file of trajectories or traces, a folder of episodes, FILE#ID, or an episode: "
            "TASK/MODEL/SEED or a part of it. All episodes are listed without one.",
        ),
    ] = None,
    id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="One trajectory of the file WHAT.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", metavar="DIR", help="Folder of episodes; those of the project's artifacts."
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page instead.")
    ] = None,
    events: Annotated[
        list[Path] | None,
        typer.Option("--events", metavar="FILE", help="Show these events; may be repeated."),
    ] = None,
    labels: Annotated[
        list[Path] | None,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="Show what annotators said: labels.jsonl or settled.jsonl; may be repeated.",
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", metavar="FILE", help="Show what this policy answers, and why."),
    ] = None,
    schema: SchemaOption = None,
    full: Annotated[
        bool, typer.Option("--full", help="Show results to their end and events field by field.")
    ] = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="No colour: sources stand in brackets.")
    ] = False,
    task: Annotated[
        str | None, typer.Option("--task", metavar="GLOB", help="List only these tasks.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="GLOB", help="List only these models.")
    ] = None,
    format: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="As `vepa import` takes it, for a file."),
    ] = None,
    imported: Annotated[
        str | None,
        typer.Option(
            "--imported", metavar="GLOB", help="List only what was imported from this format."
        ),
    ] = None,
    tool: Annotated[
        str | None, typer.Option("--tool", metavar="GLOB", help="List only where it was called.")
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", metavar="LABEL", help="allow, refuse or none.")
    ] = None,
    tripped: Annotated[
        str | None, typer.Option("--tripped", metavar="KEY", help="List only with this trigger.")
    ] = None,
    ending: Annotated[
        str | None,
        typer.Option("--ending", metavar="REASON", help="answer, refusal, budget or error."),
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            "--field",
            metavar="UNIT.FIELD=VALUE",
            help="List only with such an event; may be repeated.",
        ),
    ] = None,
    verdict: Annotated[
        str | None,
        typer.Option(
            "--verdict", metavar="VERDICT", help="allow, refuse or abstain (of --policy)."
        ),
    ] = None,
    differs: Annotated[
        str | None,
        typer.Option(
            "--differs",
            metavar="HOW",
            help="any, missed or false-alarm: the label and the policy disagree.",
        ),
    ] = None,
    grep: Annotated[
        str | None, typer.Option("--grep", metavar="TEXT", help="List only where it stands.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", metavar="N", min=0, help="Rows of the list (50; 0 and --json: all)."
        ),
    ] = None,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Look at trajectories: their steps, results, events, rules, labels, and whose words they hold.

    A list of what a file or folder holds, one trajectory of it, or with --html a page of all of
    them. Exit 1 when something in it could not be read.
    """
    from vepa.cli.inputs import not_over_itself
    from vepa.cli.show_source import source_of
    from vepa.collect.episodes.listing import check_words
    from vepa.project import Project
    from vepa.viewer.wanted import Wanted

    out = Output(json)
    wanted = Wanted(
        task, model, imported, tool, label, tripped, ending, grep, verdict, differs, field or ()
    )
    check_words(tripped, ending)
    if html is not None and what is not None:
        read = [*map(str, events or []), *map(str, labels or [])]
        not_over_itself([what.partition("#")[0], *read], str(html))
    books = (events or [], labels or [])
    source = source_of(
        Project(project), what, id, folder, wanted, books, policy, schema, limit, format
    )
    if html is not None:
        _write(out, source, html)
    elif source.one is None:
        from vepa.cli.show_list import show_list

        show_list(out, source)
    elif json:
        from vepa.viewer.record import record_of

        out.document(record_of(source.shown()))
    else:
        _print(out, source.shown(), full, plain)
    source.tell(out)


def _write(out: Output, source: Source, html: Path) -> None:
    from vepa.cli.progress import Steps
    from vepa.files import check_writable, write_output
    from vepa.viewer.page.page import page_of

    check_writable(html)
    with Steps("reading") as told:
        page = page_of(_counted(source, told), source.judge, source.title)
    write_output(html, page.data)
    about: dict[str, Any] = {"html": str(html)}
    if source.one is not None:
        about = {"id": source.one.trajectory.id, **about}
    else:
        about |= {"trajectories": page.count, "bytes": len(page.data)}
    out.document(about | ({"unreadable": source.broken} if source.broken else {}))
    number = f"{page.count:,} {'trajectory' if page.count == 1 else 'trajectories'}"
    out.note(f"{html}: {number}, {len(page.data) / 1024**2:.1f} MiB")


def _counted(source: Source, told: Steps) -> Iterator[Subject]:
    """The trajectories, with a word now and then about how many there were: it may take minutes."""
    for number, subject in enumerate(source.wanted_subjects()):
        if number and not number % _TOLD:
            told(f"{number:,} trajectories")
        yield subject


def _print(out: Output, shown: Shown, full: bool, plain: bool) -> None:
    import sys

    from rich.console import Console

    from vepa.viewer.terminal import lines_of, print_lines

    colour = in_colour(plain, sys.stdout.isatty())
    console = out.console if colour else Console(file=sys.stdout, color_system=None)
    print_lines(console, lines_of(shown, full=full, plain=not colour))


def in_colour(plain: bool, terminal: bool) -> bool:
    """Whether sources are told by colour: on a terminal that can, where nobody objects."""
    wanted = terminal and not plain and not os.environ.get("NO_COLOR")
    return wanted and os.environ.get("TERM") not in ("dumb", "unknown")
