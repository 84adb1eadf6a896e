"""`vepa policy …`: check, format, lint, show, explain, compare and test policies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from vepa.cli.console import AsJson, Output, ProjectDir

__all__ = ["app"]

app = typer.Typer(
    help="Check, format, lint, show, explain, compare and test policies.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

PolicyArgument = Annotated[
    Path, typer.Argument(metavar="POLICY", help="Policy file (YAML or JSON; - is stdin).")
]
SchemaOption = Annotated[
    Path | None,
    typer.Option("--schema", metavar="FILE", help="Event schema; the bundled one when left out."),
]


@app.command()
def check(
    policy: PolicyArgument,
    schema: SchemaOption = None,
    json: AsJson = False,
    _project: ProjectDir = None,
) -> None:
    """Verify a policy: well-formed, and free of conflicts over the whole event space."""
    from vepa.files import name_of, read_text
    from vepa.policy.reading import read_policy

    out = Output(json)
    found = read_policy(read_text(policy), name_of(policy), load_schema(schema))
    report: dict[str, Any] = {
        "ok": found.ok,
        "policy_hash": found.policy.policy_hash if found.policy else None,
        "feedback": [item.to_dict() for item in found.feedback],
    }
    out.document(report)
    for item in found.feedback:
        out.text(f"{name_of(policy)}:{item.line or 1}: {item.message}")
    raise typer.Exit(0 if found.ok else 2)


def load_schema(path: Path | None) -> Any:
    """The schema of `--schema`, or the bundled one."""
    from vepa.files import name_of, read_text
    from vepa.policy.schema import Schema, bundled_schema

    return bundled_schema() if path is None else Schema.parse(read_text(path), name_of(path))
