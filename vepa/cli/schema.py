"""`vepa schema …`: work with event schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.findings import counted
from vepa.cli.inputs import PolicyArgument, SchemaOption, one_stdin, schema_of

__all__ = ["app"]

app = typer.Typer(help="Work with event schemas.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Work with event schemas."""


@app.command()
def show(
    field: Annotated[
        str | None, typer.Argument(metavar="FIELD", help="One field; all when left out.")
    ] = None,
    schema: SchemaOption = None,
    json: AsJson = False,
    _project: ProjectDir = None,
) -> None:
    """Show the fields of an event schema: values with what they mean, version and hash."""
    from vepa.errors import SchemaError
    from vepa.policy.schema import UNKNOWN, nearest

    found = schema_of(schema)
    if field is not None and field not in found:
        raise SchemaError(
            f"the schema has no field {field!r}", remedy=nearest(field, found.names, "fields")
        )
    fields = found.fields if field is None else (found[field],)
    out = Output(json)
    out.document(
        {
            "version": found.version,
            "sha256": found.sha256,
            "fields": [
                {
                    "name": known.name,
                    "values": [
                        {"value": value, "description": known.descriptions.get(value, "")}
                        for value in known.values
                    ],
                }
                for known in fields
            ],
        }
    )
    # A schema spells out `unknown` nowhere, and every field has it.
    meaning = {UNKNOWN: "the event does not say"}
    out.table(
        ("field", "value", "meaning"),
        (
            (
                known.name if at == 0 else "",
                value,
                known.descriptions.get(value) or meaning.get(value, ""),
            )
            for known in fields
            for at, value in enumerate(known.values)
        ),
    )
    out.text(f"version {found.version}, {counted(len(found), 'field')}, sha256 {found.sha256}")


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
    from vepa.files import check_writable, name_of, read_text, write_output
    from vepa.policy.formatting import is_json, policy_text
    from vepa.policy.migrate import migrate as migrated
    from vepa.policy.reading import load_policy
    from vepa.policy.translation import MappingFile, load_mapping

    one_stdin(old, new, policy, mapping)
    if output is not None:
        check_writable(output)
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
        write_output(output, written)
    elif not json:
        out.text(written.rstrip("\n"))
    out.document({**result.to_dict(), "output": str(output) if output else None})
    for loss in result.losses:
        done = "dropped" if loss.dropped else "narrowed"
        out.note(f"{done}: {loss}")
    out.note(
        f"{counted(len(result.policy), 'rule')}, {len(result.rewritten)} spelled anew, verified: "
        + ("decisions on old events changed (see above)" if result.losses else "decisions kept")
    )
