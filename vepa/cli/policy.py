"""`vepa policy …`: check, format, lint, show, explain, compare, test and edit policies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vepa.cli import policy_edits, policy_questions
from vepa.cli.console import AsJson, Output, ProjectDir, error_document
from vepa.cli.findings import as_feedback, counted, finding, rejected, tell_rejection
from vepa.cli.inputs import PolicyArgument, SchemaOption, one_stdin, policy_of, schema_of

if TYPE_CHECKING:
    from vepa.policy.feedback import Feedback
    from vepa.policy.policy import Policy

__all__ = ["app"]

app = typer.Typer(
    help="Check, format, lint, show, explain, compare and test policies; edit those of runs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def check(
    policy: PolicyArgument,
    schema: SchemaOption = None,
    json: AsJson = False,
    _project: ProjectDir = None,
) -> None:
    """Verify a policy: well-formed, and free of conflicts over the whole event space.

    Subsumed and equivalent rules are reported beside; they reject nothing. Exit 2 when rejected.
    """
    from vepa.errors import InputError
    from vepa.files import name_of, read_text
    from vepa.policy.reading import read_policy
    from vepa.policy.subsumption import subsumption

    one_stdin(policy, schema)
    out, file, space = Output(json), name_of(policy), schema_of(schema)
    try:
        text = read_text(policy)
        found = read_policy(text, file, space)
    except InputError as error:
        out.note(f"error: {error.at(file=file)}")
        out.document({**rejected([as_feedback(error)]), **error_document(error)})
        raise typer.Exit(2) from None
    if found.policy is None:
        tell_rejection(out, found.feedback, file)
        out.document(rejected(found.feedback))
        raise typer.Exit(2)
    reports = _with_lines(subsumption(found.policy), found.policy, text)
    for item in reports:
        out.text(f"{item.code}: {finding(item, file)}")
    out.text(f"ok: {counted(len(found.policy), 'rule')}, policy_hash {found.policy.policy_hash}")
    out.document(
        {
            "ok": True,
            "policy_hash": found.policy.policy_hash,
            "feedback": [item.to_dict() for item in reports],
        }
    )


def _with_lines(reports: Iterable[Feedback], policy: Policy, text: str) -> list[Feedback]:
    from vepa.policy.document import parse_document

    found = list(reports)
    if not found:
        return []
    document = parse_document(text)
    lines = {rule.id: document.line(("rules", at)) for at, rule in enumerate(policy.rules)}
    return [replace(item, line=lines[item.rules[0]]) for item in found]


@app.command()
def fmt(
    policy: PolicyArgument,
    check_only: Annotated[
        bool, typer.Option("--check", help="Only say whether it is canonical (exit 1 if not).")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Rewrite the file in place.")] = False,
    drop_comments: Annotated[
        bool, typer.Option("--drop-comments", help="With --write: comments may be lost.")
    ] = False,
    schema: SchemaOption = None,
    json: AsJson = False,
    _project: ProjectDir = None,
) -> None:
    """Bring a policy into canonical form; prints it, unless --check or --write is given."""
    from vepa.errors import PolicyError, SettingError, Where
    from vepa.files import name_of, read_text, write_output
    from vepa.policy.formatting import canonical_text, comment_line

    one_stdin(policy, schema)
    if check_only and write:
        raise SettingError("--check and --write exclude each other", remedy="drop one of them")
    if write and str(policy) == "-":
        raise SettingError("standard input cannot be rewritten", remedy="leave out --write")
    out, file = Output(json), name_of(policy)
    text = read_text(policy)
    canonical = canonical_text(text, file, schema_of(schema))
    changed = canonical != text
    if write and changed:
        comment = comment_line(text)
        if comment is not None and not drop_comments:
            raise PolicyError(
                "the file has comments, which canonical form cannot keep",
                where=Where(file, comment),
                remedy="move them into `rationale`, or pass --drop-comments",
            )
        write_output(policy, canonical)
    report: dict[str, Any] = {"file": file, "canonical": not changed, "written": write and changed}
    if not check_only and not write:
        report["text"] = canonical
    out.document(report)
    if check_only or write:
        state = "is canonical" if not changed else "rewritten" if write else "is not canonical"
        out.note(f"{file}: {state}")
    elif not json:
        out.text(canonical.rstrip("\n"))
    raise typer.Exit(1 if check_only and changed else 0)


@app.command()
def lint(
    policy: PolicyArgument,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 1 when there is a warning.")
    ] = False,
    schema: SchemaOption = None,
    json: AsJson = False,
    _project: ProjectDir = None,
) -> None:
    """Warn about rules that may not say what is meant."""
    from vepa.errors import Where
    from vepa.files import name_of, read_text
    from vepa.policy.lint import lint_text

    one_stdin(policy, schema)
    out, file = Output(json), name_of(policy)
    found = lint_text(read_text(policy), file, schema_of(schema))
    out.document({"ok": not found, "warnings": [warning.to_dict() for warning in found]})
    for warning in found:
        place = Where(file, warning.line, warning.field)
        out.text(f"{place}: {warning.message} [{warning.code}]\n  remedy: {warning.remedy}")
    if not found:
        out.text(f"{file}: no warnings")
    raise typer.Exit(1 if strict and found else 0)


@app.command()
def show(
    policy: PolicyArgument,
    schema: SchemaOption = None,
    json: AsJson = False,
    _project: ProjectDir = None,
) -> None:
    """Show the rules of a policy with their evidence."""
    from vepa.cli.views import show_policy

    one_stdin(policy, schema)
    show_policy(Output(json), policy_of(policy, schema))


app.command("explain")(policy_questions.explain)
app.command("diff")(policy_questions.diff)
app.command("test")(policy_questions.test)
app.command("current")(policy_edits.current)
app.command("adopt")(policy_edits.adopt)
app.command("withdraw")(policy_edits.withdraw)
