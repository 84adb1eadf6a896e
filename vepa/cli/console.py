"""The one place where the command line speaks: results, notes, errors, exit codes.

With `--json` exactly one JSON document stands on stdout (JSON Lines for streaming verbs) and
everything else goes to stderr. An error that VEPA raises on purpose becomes one message and its
exit code; `Output` and `guarded` are all that a verb needs.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vepa.errors import InputError, MissingExtraError, VepaError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["INTERRUPTED", "AsJson", "Output", "ProjectDir", "guarded", "one_line", "settle_streams"]

INTERRUPTED = 130
#: Width of tables where no terminal says how wide it is.
_PIPED_WIDTH = 160


def _inherited(name: str) -> Callable[[typer.Context, Any], Any]:
    """An option that may stand before or after the verb: the inner one wins, then the outer."""

    def settle(ctx: typer.Context, value: Any) -> Any:
        key = f"vepa.{name}"
        if value:
            ctx.meta[key] = value
        return ctx.meta.get(key, value)

    return settle


#: `--json` of every verb: `def verb(..., json: AsJson = False)`.
AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        help="One JSON document on stdout; everything else on stderr.",
        callback=_inherited("json"),
    ),
]
#: `--project DIR` of every verb: `def verb(..., project: ProjectDir = None)`.
ProjectDir = Annotated[
    Path | None,
    typer.Option(
        "--project",
        metavar="DIR",
        help="Folder of the project; the working directory when left out.",
        callback=_inherited("project"),
    ),
]


#: Control characters but tab and line feed: a file must not steer somebody's terminal.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), 127, *range(128, 160))}
_IN_TEXT = {code: sign for code, sign in _CONTROLS.items() if code not in (9, 10)}


def one_line(text: str) -> str:
    """Text from a file as one cell of one line: control characters are spelled out."""
    return text.translate(_CONTROLS)


class Output:
    """Where a verb writes.

    Parameters
    ----------
    json
        The verb's `--json`.
    """

    def __init__(self, json: bool = False):
        self.json = json

    def document(self, data: Any) -> None:
        """The result for machines: one JSON document on stdout; nothing without `--json`."""
        if self.json:
            sys.stdout.write(json.dumps(data, indent=1, allow_nan=False) + "\n")

    def line(self, data: Any) -> None:
        """One line of JSON Lines on stdout; nothing without `--json`."""
        if self.json:
            sys.stdout.write(json.dumps(data, allow_nan=False) + "\n")

    def text(self, text: str) -> None:
        """The result for people: on stdout, with `--json` on stderr."""
        (sys.stderr if self.json else sys.stdout).write(text.translate(_IN_TEXT) + "\n")

    def note(self, text: str) -> None:
        """Something beside the result, always on stderr."""
        sys.stderr.write(text.translate(_IN_TEXT) + "\n")

    def table(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[object]],
        *,
        title: str | None = None,
        right: Iterable[str] = (),
    ) -> None:
        """A table for people, where `text` would go.

        Parameters
        ----------
        columns
            Headings.
        rows
            Cells, shown with `str`; no cell is read as markup.
        title
            Stands above the table.
        right
            Headings of the columns that are aligned to the right.
        """
        from rich.table import Table
        from rich.text import Text

        table = Table(title=title, title_justify="left", pad_edge=False)
        flush = set(right)
        for name in columns:
            table.add_column(name, justify="right" if name in flush else "left", overflow="fold")
        for row in rows:
            table.add_row(
                *(
                    cell if isinstance(cell, Text) else Text(str(cell).translate(_IN_TEXT))
                    for cell in row
                )
            )
        self.console.print(table)

    @property
    def console(self) -> Console:
        """A rich console that writes where `text` does."""
        from rich.console import Console

        target = sys.stderr if self.json else sys.stdout
        return Console(file=target, width=None if target.isatty() else _PIPED_WIDTH)


def error_document(error: VepaError) -> dict[str, Any]:
    """An error as JSON data."""
    if isinstance(error, InputError):
        place, message, remedy = error.where, error.message, error.remedy
        told = {"file": place.file, "line": place.line, "field": place.field, "remedy": remedy}
    else:
        remedy = error.remedy if isinstance(error, MissingExtraError) else None
        message = error.message if isinstance(error, MissingExtraError) else str(error)
        told = {"file": None, "line": None, "field": None, "remedy": remedy}
    return {"error": {"message": message, **told}}


def guarded(call: Callable[[], Any], *, json: bool = False) -> int:
    """Run a command; its exit code.

    Parameters
    ----------
    call
        The command; what it returns is an exit code when it is a number.
    json
        Whether an error is also told as a JSON document on stdout.
    """
    usage = typer.BadParameter.__bases__[0]  # UsageError, wherever this typer keeps its click
    try:
        result = call()
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except VepaError as error:
        return _tell(str(error), error_document(error), error.exit_code, json)
    except KeyboardInterrupt:
        return INTERRUPTED
    except typer.Abort:
        return INTERRUPTED
    except typer.Exit as stop:
        return int(stop.exit_code)
    except BrokenPipeError:
        _drop_stdout()
        return 1
    except OSError as error:  # a full disk, a device that fails, rights that were taken away
        named = f"{error.filename}: " if error.filename else ""
        failed = VepaError(f"{named}{error.strerror or error}")
        return _tell(str(failed), error_document(failed), 2, json)
    except SystemExit as stop:  # how click leaves when a pipe breaks
        _drop_stdout()
        return stop.code if isinstance(stop.code, int) else 1
    except Exception as error:
        if not isinstance(error, usage):
            raise
        return _tell_usage(error, json)


def settle_streams() -> None:
    """Make stdout and stderr take whatever a verb writes.

    Text is UTF-8 like every file of a project, whatever the locale says: a canonical policy that
    is piped into a file must be that policy. What UTF-8 has no bytes for (a file name that is not
    text) is spelled out. A stream that was closed by the caller swallows what it is given.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            null = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, os.fdopen(null, "w", encoding="utf-8"))
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _tell(text: str, document: dict[str, Any], code: int, as_json: bool) -> int:
    try:
        sys.stdout.flush()
        Output().note(f"error: {text}")
        Output(as_json).line(document)  # in one line, so that JSON Lines stay JSON Lines
        sys.stdout.flush()
    except OSError:  # nobody reads it, or there is no room for it
        _drop_stdout()
    return code


def _tell_usage(error: Any, as_json: bool) -> int:
    context: Any = error.ctx
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stderr.write(context.get_help() + "\n")
        return 2
    path = context.command_path if context is not None else "vepa"
    wrong = VepaError(error.format_message())
    document = error_document(wrong)
    document["error"]["remedy"] = f"{path} --help"
    return _tell(f"{wrong}\n  remedy: see `{path} --help`", document, 2, as_json)


def _drop_stdout() -> None:
    """Nobody reads stdout any more: what is left in its buffer must not complain at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, sys.stdout.fileno())
    except (OSError, ValueError):  # a captured stdout has no descriptor
        pass
    finally:
        os.close(null)
