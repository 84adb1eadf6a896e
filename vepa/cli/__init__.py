"""The `vepa` command: thin, every verb calls the library.

One module a group of verbs. A verb imports what it needs inside its function, so that `vepa --help`
loads neither numpy nor pydantic nor anything heavier.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any

import typer

from vepa import __version__
from vepa.cli import (
    agreement,
    annotate,
    arbitrate,
    bench,
    collect,
    corpus,
    decide,
    fetch,
    parse,
    personas,
    policy,
    reproduce,
    run,
    schema,
    services,
    show,
    tasks,
    tools,
    traces,
    train,
    validate,
)
from vepa.cli.console import AsJson, ProjectDir, guarded, settle_streams

__all__ = ["app", "main"]

app = typer.Typer(
    name="vepa",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"vepa {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    json: AsJson = False,
    project: ProjectDir = None,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    """Verified evolution of policies for agents.

    Exit codes: 0 fine, 1 a negative finding, 2 bad input, 130 interrupted. `-` is standard input.
    """


app.command("run")(run.run)
app.command("validate")(validate.validate)
app.add_typer(policy.app, name="policy")
app.add_typer(schema.app, name="schema")
app.command("decide")(decide.decide)
app.add_typer(bench.app, name="bench")
app.add_typer(services.app, name="services")
app.add_typer(tools.app, name="tools")
app.add_typer(personas.app, name="personas")
app.add_typer(tasks.app, name="tasks")
app.command("collect")(collect.collect)
app.command("parse")(parse.parse)
app.command("show")(show.show)
app.command("annotate")(annotate.annotate)
app.add_typer(arbitrate.app, name="arbitrate")
app.command("agreement")(agreement.agreement)
app.add_typer(corpus.app, name="corpus")
app.command("reproduce")(reproduce.reproduce)
app.add_typer(train.app, name="train")
app.command("import")(traces.import_traces)
app.command("fetch")(fetch.fetch)


@cache
def _command() -> Callable[..., Any]:
    """What `app` makes of all verbs; 0.15 s, so a process that calls `main` again keeps it."""
    return typer.main.get_command(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code.

    Parameters
    ----------
    arguments
        What stands after `vepa`; those of this process when left out.
    """
    # Matrices are small here and work is spread over processes: BLAS threads would only contend.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    settle_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in given
    return guarded(lambda: _command()(given, prog_name="vepa", standalone_mode=False), json=as_json)
