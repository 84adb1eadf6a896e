"""`vepa arbitrate serve`: the page where people settle what annotators see differently."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.findings import counted

if TYPE_CHECKING:
    from vepa.annotate.arbitration.page.server import PageServer
    from vepa.annotate.arbitration.queue import ArbitrationQueue
    from vepa.annotate.panel import Rules

__all__ = ["fill", "serve"]

#: What the page needs beside the core.
_NEEDS = ("fastapi", "jinja2", "uvicorn")


def serve(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder that `vepa annotate --out` wrote.")
    ],
    panel: Annotated[
        str, typer.Option("--panel", metavar="NAME", help="A file in annotation/.")
    ] = "panel.yaml",
    host: Annotated[
        str, typer.Option("--host", help="Where to listen; this machine alone when left out.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 is a free one.")] = 0,
    traces: Annotated[
        str | None,
        typer.Option(
            "--traces", metavar="TRACES", help="What was annotated: fills the queue with disputes."
        ),
    ] = None,
    people: Annotated[
        Path | None,
        typer.Option(
            "--people",
            metavar="FILE",
            help="Names, one a line: each gets a link, and nobody else can log in.",
        ),
    ] = None,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Let people settle disputes in a browser, several at once.

    Prints a link to log in with; its token lives as long as the server. Ctrl-C ends it, and all
    that was settled is in DIR/settled.jsonl.
    """
    _check_packages()
    from vepa.annotate.arbitration.desk import open_queue
    from vepa.annotate.arbitration.page.server import PageServer, Settings
    from vepa.annotate.panel import load_panel
    from vepa.project import Project

    output = Output(json)
    found, rules = load_panel(Project(project), panel)
    taken = [seat.name for seat in found.seats]
    settings = Settings(host, port, _names(people) if people else (), taken)
    if traces is not None:
        fill(output, folder, rules, traces)
    with open_queue(folder, rules.taxonomy) as queue:
        before = queue.state()
        server = PageServer(folder, queue, rules, settings, output.note)
        _welcome(output, server, before.open, before.total)
        server.run()
        _farewell(output, queue, before.settled)


def _check_packages() -> None:
    from importlib.util import find_spec

    from vepa.errors import MissingExtraError

    for name in _NEEDS:
        if find_spec(name) is None:
            raise MissingExtraError(name, "pipeline")


def fill(output: Output, folder: Path, rules: Rules, traces: str) -> None:
    """Put what the annotators see differently into the queue, which is made where there is none."""
    from vepa.annotate.arbitration.desk import fill_queue, read_judged
    from vepa.annotate.arbitration.queue import QUEUE_FILE, ArbitrationQueue
    from vepa.corpus.importing import read_traces

    judged = read_judged(folder)
    with ArbitrationQueue(folder / QUEUE_FILE, rules.taxonomy) as queue:
        new = fill_queue(queue, judged, read_traces(traces))
    output.note(f"{counted(new, 'new dispute')}")


def _names(path: Path) -> list[str]:
    from vepa.annotate.arbitration.lending import check_name
    from vepa.errors import InputError, Where
    from vepa.files import name_of, read_text

    found: list[str] = []
    for line, text in enumerate(read_text(path).splitlines(), 1):
        name = text.strip()
        if not name or name.startswith("#"):
            continue
        try:
            check_name(name)
        except InputError as error:
            raise error.at(file=name_of(path), line=line) from None
        if name in found:
            raise InputError(
                f"{name!r} stands there twice",
                where=Where(name_of(path), line),
                remedy="one line a person",
            )
        found.append(name)
    if not found:
        raise InputError(
            "there is no name in it", where=Where(name_of(path)), remedy="one line a person"
        )
    return found


def _welcome(output: Output, server: PageServer, open_: int, total: int) -> None:
    if not server.local:
        output.note(
            "warning: other machines can reach this page, and what they send is not encrypted. "
            "Prefer 127.0.0.1 and a tunnel: ssh -L PORT:127.0.0.1:PORT THIS-MACHINE"
        )
    links = server.links
    output.document(
        {
            "port": server.port,
            "links": {name or "everybody": link for name, link in links.items()},
            "open": open_,
            "total": total,
        }
    )
    output.note(f"{counted(open_, 'dispute')} of {total:,} open; Ctrl-C ends")
    if not output.json:
        for name, link in links.items():
            output.text(f"{name}: {link}" if name else link)
    sys.stdout.flush()


def _farewell(output: Output, queue: ArbitrationQueue, before: int) -> None:
    after = queue.state()
    output.note(
        f"ended: {counted(after.settled - before, 'dispute')} settled meanwhile, "
        f"{after.settled:,} of {after.total:,} in all; settled.jsonl is written"
    )
