"""`vepa policy explain`, `diff` and `test`: what a policy answers, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.inputs import EventsArgument, PolicyArgument, SchemaOption, one_stdin, policy_of

if TYPE_CHECKING:
    from vepa.policy.policy import Policy

__all__ = ["diff", "explain", "test"]


def explain(
    policy: PolicyArgument,
    events: EventsArgument,
    id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Explain this event only.")
    ] = None,
    nearest: Annotated[
        int, typer.Option("--nearest", min=0, help="Near misses to tell for each event.")
    ] = 5,
    schema: SchemaOption = None,
    json: AsJson = False,
    _project: ProjectDir = None,
) -> None:
    """Say why events are decided as they are: fired rules, nearest misses, failed predicates."""
    from vepa.cli.views import show_explanation
    from vepa.corpus.events import stream_events
    from vepa.errors import EventError, Where
    from vepa.files import name_of
    from vepa.policy.explain import explain as explained
    from vepa.policy.matching import CompiledPolicy

    one_stdin(policy, events, schema)
    out = Output(json)
    compiled = CompiledPolicy(policy_of(policy, schema))
    told: list[dict[str, Any]] = []
    found = False
    for record in stream_events(events, compiled.schema, unit=compiled.unit):
        if id is not None and record.id != id:
            continue
        found = True
        why = explained(compiled, record.encode(compiled.schema), nearest=nearest)
        if json:
            told.append({"id": record.id, "label": record.label, **why.to_dict()})
        else:
            show_explanation(out, record.id, record.label, why)
    if not found:
        raise EventError(
            "no events in this file" if id is None else f"no event has the id {id!r}",
            where=Where(name_of(events)),
            remedy="one JSON record a line; an event without an id is called `line-N`",
        )
    out.document({"policy_hash": compiled.policy_hash, "events": told})


def diff(
    before: Annotated[Path, typer.Argument(metavar="A", help="The policy before.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="The policy after.")],
    events: Annotated[
        Path | None,
        typer.Option("--events", metavar="FILE", help="Also count changed decisions on these."),
    ] = None,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit 1 when rules or decisions differ.")
    ] = False,
    schema: SchemaOption = None,
    json: AsJson = False,
    _project: ProjectDir = None,
) -> None:
    """Compare two policies: rules, and decisions over the whole event space, with witnesses."""
    from vepa.cli.views import show_difference
    from vepa.corpus.comparison import compare
    from vepa.corpus.events import read_events
    from vepa.policy.diff import diff as difference

    one_stdin(before, after, events, schema)
    out = Output(json)
    old, new = _both(before, after, schema)
    found = difference(old, new)
    report = found.to_dict()
    counted = None
    if events is not None:
        counted = compare(old, new, read_events(events, old.schema))
        report["events"] = counted.to_dict()
    out.document(report)
    show_difference(out, found, counted)
    empty = not found.rules and found.equivalent is True
    raise typer.Exit(1 if exit_code and not empty else 0)


def _both(before: Path, after: Path, schema: Path | None) -> tuple[Policy, Policy]:
    """Two policies of one schema; says so when only one of them is of the schema at hand."""
    from vepa.errors import PolicyError, VerificationError, Where
    from vepa.files import name_of

    found: dict[int, Policy] = {}
    foreign: dict[int, VerificationError] = {}
    for at, path in enumerate((before, after)):
        try:
            found[at] = policy_of(path, schema)
        except VerificationError as error:
            if error.feedback[0].code != "schema_mismatch":
                raise
            foreign[at] = error
    if not foreign:
        return found[0], found[1]
    if len(foreign) == 2:
        raise foreign[0]
    ((at, mismatch),) = foreign.items()
    raise PolicyError(
        f"the policies are over different schemas: {mismatch.message}",
        where=Where(name_of((before, after)[at]), mismatch.where.line, mismatch.where.field),
        remedy="bring one to the other's schema with `vepa schema migrate OLD_SCHEMA NEW_SCHEMA "
        "POLICY --output FILE`, then compare with --schema NEW_SCHEMA",
    )


def test(
    policy: PolicyArgument,
    tests: Annotated[
        Path | None,
        typer.Option(
            "--tests", metavar="FILE", help="Tests file; POLICY with .tests.yaml when left out."
        ),
    ] = None,
    schema: SchemaOption = None,
    json: AsJson = False,
    _project: ProjectDir = None,
) -> None:
    """Run policy tests: events with the decision and the rules that are expected.

    A tests file is a list of `{name?, event: {field: value}, unit?, expect: allow | refuse |
    abstain, rules?: [ids]}`. Exit 1 when a test fails.
    """
    from vepa.cli.views import show_tests
    from vepa.errors import InputError, PolicyError, SettingError, Where
    from vepa.files import name_of, read_text
    from vepa.policy.matching import CompiledPolicy
    from vepa.policy.testing import TESTS_FORM, load_tests, run_tests

    if tests is None and str(policy) == "-":
        raise SettingError("no tests for a policy on standard input", remedy="name --tests FILE")
    path = tests if tests is not None else policy.with_suffix(".tests.yaml")
    one_stdin(policy, path, schema)
    out, file = Output(json), name_of(path)
    compiled = CompiledPolicy(policy_of(policy, schema))
    if str(path) != "-" and not path.exists():
        other = "write it there, or name another with --tests FILE; " if tests is None else ""
        raise PolicyError("no such file", where=Where(file), remedy=other + TESTS_FORM)
    try:
        report = run_tests(compiled, load_tests(read_text(path), file, compiled.schema))
    except InputError as error:
        raise error.at(file=file) from None
    out.document(report.to_dict())
    show_tests(out, report, file)
    raise typer.Exit(0 if report.ok else 1)
