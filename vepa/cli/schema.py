"""`vepa schema …`: work with event schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.inputs import PolicyArgument, one_stdin, schema_of

__all__ = ["app"]

app = typer.Typer(help="Work with event schemas.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Work with event schemas."""


@app.command()
def migrate(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="Schema of the policy.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Schema that it should have.")],
    policy: PolicyArgument,
    mapping: Annotated[
        Path | None,
        typer.Option(
            "--mapping",
            metavar="FILE",
            help="What became of fields and values that NEW lacks: "
            "`fields: {old: new or null}`, `values: {field: {old: new or null}}`.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write here; stdout when left out."),
    ] = None,
    lossy: Annotated[
        bool,
        typer.Option(
            "--lossy",
            help="Narrow or drop rules that NEW cannot express, instead of refusing. "
            "They then decide less, never otherwise. The mapping is needed all the same.",
        ),
    ] = False,
    json: AsJson = False,
    _project: ProjectDir = None,
) -> None:
    """Bring a policy to another schema; decisions on old events do not change without --lossy.

    A new field needs nothing. A new value is not admitted by any predicate of an old rule. A field
    or a value that NEW lacks needs a line in the mapping; a value that is mapped to null becomes
    `unknown`.
    """
    from vepa.errors import InputError
    from vepa.files import name_of, read_text, write_atomic
    from vepa.policy.formatting import is_json, policy_text
    from vepa.policy.migrate import migrate as migrated
    from vepa.policy.reading import load_policy
    from vepa.policy.translation import MappingFile, load_mapping

    one_stdin(old, new, policy, mapping)
    out = Output(json)
    target = schema_of(new)
    text = read_text(policy)
    parent = load_policy(text, name_of(policy), schema_of(old))
    told = MappingFile() if mapping is None else load_mapping(read_text(mapping), name_of(mapping))
    try:
        result = migrated(parent, target, told, lossy=lossy)
    except InputError as error:
        raise error.at(file=name_of(mapping or policy)) from None
    written = policy_text(result.policy, as_json=is_json(text))
    if output is not None:
        write_atomic(output, written)
    elif not json:
        out.text(written.rstrip("\n"))
    out.document({**result.to_dict(), "output": str(output) if output else None})
    for loss in result.losses:
        done = "dropped" if loss.dropped else "narrowed"
        out.note(f"{done}: {loss}")
    out.note(
        f"{len(result.policy)} rules, {len(result.rewritten)} spelled anew, verified: "
        + ("decisions on old events changed (see above)" if result.losses else "decisions kept")
    )
