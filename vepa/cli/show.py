"""`vepa show`: episodes for people, in the terminal or as one page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.findings import counted

if TYPE_CHECKING:
    from vepa.collect.page.view import Shown

__all__ = ["in_colour", "show"]


def show(
    episode: Annotated[
        str | None,
        typer.Argument(
            metavar="[EPISODE]",
            help="TASK/MODEL/SEED or a part of it, a file, or FILE.jsonl#ID; all are listed "
            "without one.",
        ),
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
    full: Annotated[bool, typer.Option("--full", help="Show results to their end.")] = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="No colour: sources stand in brackets.")
    ] = False,
    task: Annotated[
        str | None, typer.Option("--task", metavar="GLOB", help="List only these tasks.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="GLOB", help="List only these models.")
    ] = None,
    tripped: Annotated[
        str | None, typer.Option("--tripped", metavar="KEY", help="List only with this trigger.")
    ] = None,
    ending: Annotated[
        str | None,
        typer.Option("--ending", metavar="REASON", help="answer, refusal, budget or error."),
    ] = None,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Look at an episode: its steps, its results, and where the words of each call came from.

    Without EPISODE: a list of what there is. Exit 1 when a file in the folder is no episode.
    """
    from vepa.collect.page.shelf import folders_of, open_episode
    from vepa.errors import SettingError
    from vepa.project import Project

    out, folders = Output(json), folders_of(Project(project), folder)
    filters = {"task": task, "model": model, "tripped": tripped, "ending": ending}
    if episode is None:
        if html is not None:
            raise SettingError("--html needs an episode", remedy="name one; `vepa show` lists them")
        _list(out, folders, filters)
        return
    used = [f"--{name}" for name, value in filters.items() if value is not None]
    if used:
        raise SettingError(
            f"{', '.join(used)} and an episode do not go together",
            remedy="leave EPISODE out to list what there is",
        )
    shown = open_episode(episode, folders)
    if html is not None:
        _write(out, shown, html)
    elif json:
        from vepa.collect.page.record import record_of

        out.document(record_of(shown))
    else:
        _print(out, shown, full, plain)


def _write(out: Output, shown: Shown, html: Path) -> None:
    from vepa.collect.page.page import render
    from vepa.files import check_writable, write_output

    check_writable(html)
    write_output(html, render(shown))
    out.document({"id": shown.trajectory.id, "html": str(html)})
    out.note(f"{shown.trajectory.id}: {html}")


def _print(out: Output, shown: Shown, full: bool, plain: bool) -> None:
    import sys

    from rich.console import Console

    from vepa.cli.show_views import lines_of, print_lines

    colour = in_colour(plain, sys.stdout.isatty())
    console = out.console if colour else Console(file=sys.stdout, color_system=None)
    print_lines(console, lines_of(shown, full=full, plain=not colour))


def in_colour(plain: bool, terminal: bool) -> bool:
    """Whether sources are told by colour: on a terminal that can, where nobody objects."""
    wanted = terminal and not plain and not os.environ.get("NO_COLOR")
    return wanted and os.environ.get("TERM") not in ("dumb", "unknown")


def _list(out: Output, folders: list[Path], filters: dict[str, str | None]) -> None:
    from vepa.collect.page.listing import Filters, listed

    rows, broken = listed(folders, Filters.of(**filters))
    out.document({"episodes": rows, "unreadable": [str(error) for error in broken]})
    _table(out, rows)
    for error in broken:
        out.note(f"not shown: {error}")
    out.note(
        counted(len(rows), "episode") + ("" if rows else f" in {', '.join(map(str, folders))}")
    )
    raise typer.Exit(1 if broken else 0)


def _table(out: Output, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    out.table(
        ("episode", "ending", "success", "tripped", "steps"),
        (
            (
                row["id"],
                row["ending"],
                "yes" if row["succeeded"] else "no",
                "\n".join(row["tripped"]),
                row["steps"],
            )
            for row in rows
        ),
        right=("steps",),
    )
