"""`vepa services logs`, `test` and `compose`: looking into services and holding them to account."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.findings import counted
from vepa.cli.offices import (
    NamesArgument,
    OfficeOption,
    RuntimeChoice,
    RuntimeOption,
    environments_of,
    known_services,
    world_of,
)
from vepa.cli.progress import Steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vepa.services import Office

__all__ = ["compose", "logs", "new_lines", "test"]

_COMPOSE = "compose.services.yaml"
#: How many lines are compared to find the new ones, and how often.
_WINDOW, _PAUSE = 1000, 0.3


def logs(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A service; all when left out.")
    ] = None,
    lines: Annotated[int, typer.Option("--lines", min=1, help="How many, from the end.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until interrupted.")] = False,
    office: OfficeOption = None,
    json: AsJson = False,
    _project: ProjectDir = None,
) -> None:
    """Show what services wrote to their logs.

    With --json one document {office, logs: {NAME: [line]}}; with --follow a line {service, line}
    each, as they come.
    """
    from vepa.services.overview import open_office

    running = open_office(office)
    names = known_services(running, [name]) if name else sorted(running.environments)
    out = Output(json)
    if follow:
        _follow(out, running, names, lines)
        return
    found = {each: running.logs(each, lines).splitlines() for each in names}
    out.document({"office": running.id, "logs": found})
    if not json:
        for each, text in found.items():
            for line in text:
                out.text(line if name else f"{each} | {line}")


def _follow(out: Output, office: Office, names: Sequence[str], lines: int) -> None:
    seen: dict[str, list[str]] = {}
    while True:
        for name in names:
            now = office.logs(name, _WINDOW).splitlines()
            fresh = new_lines(seen[name], now) if name in seen else now[-lines:]
            seen[name] = now
            for line in fresh:
                out.line({"service": name, "line": line})
                if not out.json:
                    out.text(line if len(names) == 1 else f"{name} | {line}")
        time.sleep(_PAUSE)


def new_lines(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """The lines at the end of a log that an earlier look at its end did not show."""
    for start in range(len(before)):
        if list(before[start:]) == list(now[: len(before) - start]):
            return list(now[len(before) - start :])
    return list(now)


def test(
    names: NamesArgument = None,
    runtime: RuntimeOption = RuntimeChoice.process,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Hold environments to their contract, on an office of their own; exit 1 when it is broken.

    The state is the seed, every tool answers the same twice and writes exactly when it says so, a
    reset leads back to the seed, nothing is left running.
    """
    from vepa.services.contract import keep_contract

    environments, world = environments_of(names, project), world_of(project)
    out, began = Output(json), time.monotonic()
    with Steps("checking", tuple(each.name for each in environments)) as tell:
        found = keep_contract(environments, world, runtime.value, tell)
    out.document(
        {
            "held": found.held,
            "runtime": runtime.value,
            "clauses": [
                {
                    "environment": each.environment,
                    "clause": each.name,
                    "held": each.held,
                    "why": each.why or None,
                    "seconds": round(each.seconds, 3),
                }
                for each in found.clauses
            ],
            "seconds": round(time.monotonic() - began, 1),
        }
    )
    for environment in environments:
        rows = [
            ("✓" if each.held else "✗", each.name, f"{each.seconds:.2f}", each.why)
            for each in found.clauses
            if each.environment == environment.name
        ]
        out.table(("", "clause", "seconds", "why not"), rows, title=environment.name)
    kept = len(found.clauses) - len(found.broken)
    out.note(f"{kept} of {counted(len(found.clauses), 'clause')} held")
    raise typer.Exit(0 if found.held else 1)


def compose(
    names: NamesArgument = None,
    write: Annotated[
        bool, typer.Option("--write", help=f"Write {_COMPOSE} into the project's folder.")
    ] = False,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Print a compose file that runs the services as containers, without VEPA."""
    from vepa.files import write_output
    from vepa.services.compose import compose_document, compose_yaml

    environments, world = environments_of(names, project), world_of(project)
    folder, out = project or Path(), Output(json)
    document = compose_document(environments, world)
    out.document(document)
    if write:
        path = write_output(folder / _COMPOSE, compose_yaml(document))
        out.text(f"written: {path}")
    elif not json:
        out.text(compose_yaml(document).rstrip("\n"))
