"""`vepa tools …`: the tools that agents get, and calling one by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vepa.cli.console import AsJson, Output, ProjectDir, one_line
from vepa.cli.findings import counted
from vepa.cli.offices import OfficeOption, environments_of

if TYPE_CHECKING:
    from vepa.services import Outcome

__all__ = ["app"]

app = typer.Typer(
    help="List the tools that agents get, and call one.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
def list_tools(
    env: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="NAME", help="Tools of this environment; may be repeated."),
    ] = None,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """List the tools of the project's environments.

    With --json `tools` is what chat-completion APIs take, and `metadata` has, in the same order,
    what each tool does: its effect and what a call means as a typed event.
    """
    out = Output(json)
    found = [(each, tool) for each in environments_of(env, project, "--env") for tool in each.tools]
    out.document(
        {
            "tools": [tool.openai() for _, tool in found],
            "metadata": [tool.metadata(each.name).model_dump(mode="json") for each, tool in found],
        }
    )
    rows = [
        (tool.name, tool.effect, _first_sentence(tool.description), tool.account)
        for _, tool in found
    ]
    out.table(("tool", "effect", "what it does", "account"), rows)
    out.note(counted(len(found), "tool"))


def _first_sentence(text: str) -> str:
    line = one_line(" ".join(text.split()))
    end = line.find(". ")
    return line if end < 0 else line[: end + 1]


@app.command()
def call(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tool.")],
    arguments: Annotated[
        str,
        typer.Option(
            "--args", metavar="JSON", help="Its arguments, an object; - is stdin, @FILE a file."
        ),
    ] = "{}",
    role: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="ROLE",
            help="Account: a persona role, or person:ID; the tool's own when left out.",
        ),
    ] = None,
    office: OfficeOption = None,
    json: AsJson = False,
    _project: ProjectDir = None,
) -> None:
    """Call a tool on a running office, as the first call of an episode.

    The answer is what a model sees: volatile values of the service stand as aliases. Exit 1 when
    the service refuses.
    """
    from vepa.services import Office

    given, out = _arguments(arguments), Output(json)
    with Office.attach(office).session(role) as session:
        outcome = session.call(name, given)
    out.document(_document(name, outcome))
    if not json:
        out.text(outcome.content)
        if outcome.fault:
            out.note(f"the tool broke: {outcome.fault}")
        out.note(f"{'ok' if outcome.ok else 'refused'} in {outcome.seconds:.2f} s")
    raise typer.Exit(0 if outcome.ok else 1)


def _arguments(given: str) -> dict[str, Any]:
    """The arguments as data.

    Raises
    ------
    SettingError
        When they are no JSON object.
    """
    import json

    from vepa.errors import SettingError, Where
    from vepa.files import name_of, read_text

    file = given[1:] if given.startswith("@") else "-" if given == "-" else None
    text = given if file is None else read_text(Path(file) if file != "-" else "-")
    shown = None if file is None else name_of(file)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise SettingError(
            f"no JSON: {error}",
            where=Where(shown, line if shown else None, "--args"),
            remedy="""a JSON object, in a shell between single quotes: --args '{"limit": 5}'""",
        ) from None
    if not isinstance(data, dict):
        raise SettingError(
            "the arguments of a tool are a JSON object",
            where=Where(shown, None, "--args"),
            remedy='for example {"limit": 5}',
        )
    return data


def _document(name: str, outcome: Outcome) -> dict[str, Any]:
    import json

    return {
        "tool": name,
        "ok": outcome.ok,
        "content": outcome.content,
        "truncated": outcome.truncated,
        "fault": outcome.fault or None,
        "seconds": round(outcome.seconds, 3),
        # What a driver gives back may be more than JSON knows: dates of a database, say.
        "raw": json.loads(json.dumps(outcome.raw, default=str)),
    }
