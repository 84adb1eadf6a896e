"""What several verbs read: their common arguments, and the files behind them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from vepa.policy.policy import Policy
    from vepa.policy.schema import Schema

__all__ = [
    "EventsArgument",
    "PolicyArgument",
    "SchemaOption",
    "not_over_itself",
    "one_stdin",
    "policy_of",
    "schema_of",
]

PolicyArgument = Annotated[
    Path, typer.Argument(metavar="POLICY", help="Policy file (YAML or JSON; - is stdin).")
]
EventsArgument = Annotated[
    Path, typer.Argument(metavar="EVENTS", help="Events file (JSON Lines or .parquet; - is stdin).")
]
SchemaOption = Annotated[
    Path | None,
    typer.Option("--schema", metavar="FILE", help="Event schema; the bundled one when left out."),
]


def schema_of(path: Path | None) -> Schema:
    """The schema of `--schema`, or the bundled one."""
    from vepa.errors import SchemaError
    from vepa.files import name_of, read_text
    from vepa.policy.schema import Schema, bundled_schema

    if path is None:
        return bundled_schema()
    try:
        return Schema.parse(read_text(path), name_of(path))
    except SchemaError as error:
        raise error.at(file=name_of(path)) from None


def policy_of(path: Path, schema: Path | None) -> Policy:
    """A verified policy."""
    from vepa.files import name_of, read_text
    from vepa.policy.reading import load_policy

    return load_policy(read_text(path), name_of(path), schema_of(schema))


def one_stdin(*paths: Path | None) -> None:
    """Refuse `-` for more than one file."""
    from vepa.errors import SettingError

    if sum(str(path) == "-" for path in paths) > 1:
        raise SettingError(
            "standard input cannot be two files at once", remedy="name a file for one of them"
        )


def not_over_itself(files: Sequence[str], out: str) -> None:
    """Refuse to write over a file that is read: what could not be understood would be lost."""
    from vepa.errors import SettingError

    for each in files:
        if each != "-" and Path(each).is_file() and Path(each).resolve() == Path(out).resolve():
            raise SettingError(
                f"{out} would be written over itself",
                remedy="name another file for the result",
            )
