"""`vepa parse`: traces become typed events."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.findings import counted
from vepa.cli.inputs import SchemaOption, not_over_itself, schema_of

if TYPE_CHECKING:
    from vepa.cli.parse_models import Wanted
    from vepa.cli.parse_work import Outcome, Source
    from vepa.parsing.llm.estimating import Estimate
    from vepa.policy.event import Unit

__all__ = ["parse"]

#: So many failures are told one by one; `--json` with `--out` has all.
_TOLD = 20


class UnitChoice(StrEnum):
    """What an event describes."""

    trajectory = "trajectory"
    call = "call"
    step = "step"


def parse(
    traces: Annotated[
        list[str],
        typer.Argument(metavar="TRACES…", help="Files, folders, archives of traces; - is stdin."),
    ],
    parser: Annotated[
        str,
        typer.Option("--parser", metavar="NAME", help="instrumented, llm:MODEL, or lora:PATH."),
    ] = "instrumented",
    unit: Annotated[
        UnitChoice | None,
        typer.Option("--unit", help="What events describe; step, of models trajectory."),
    ] = None,
    out_file: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write here, when all is parsed."),
    ] = None,
    order_of: Annotated[
        Path | None,
        typer.Option("--order-of", metavar="EVENTS", help="Known ids first, in that file's order."),
    ] = None,
    format: Annotated[
        str, typer.Option("--format", metavar="NAME", help="As `vepa import` takes it.")
    ] = "auto",
    dataset: Annotated[
        str | None, typer.Option("--dataset", metavar="NAME", help="First part of the ids.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first bad record, with exit code 2.")
    ] = False,
    schema: SchemaOption = None,
    settings: Annotated[
        Path | None,
        typer.Option("--settings", metavar="FILE", help="Settings of the model (YAML)."),
    ] = None,
    otherwise: Annotated[
        str | None,
        typer.Option("--otherwise", metavar="MODEL", help="Answers what was not recorded."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option("--cache", metavar="FILE", help="Answers that are kept; artifacts/parse."),
    ] = None,
    least_confidence: Annotated[
        float,
        typer.Option(
            "--least-confidence", min=0, max=1, help="Of lora: less certain fields are unknown."
        ),
    ] = 0.0,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Requests at once.")] = 8,
    trace_tokens: Annotated[
        int, typer.Option("--trace-tokens", help="Longer traces are shortened.")
    ] = 24_000,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", min=0, help="Budget of tokens.")
    ] = None,
    max_dollars: Annotated[
        float | None, typer.Option("--max-dollars", min=0, help="Budget of US dollars.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be asked and what it costs.")
    ] = False,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Parse traces into events, one JSON object a line.

    TRACES are trajectories, or traces in any format that `vepa import` reads. No parser sees a
    label or an annotation; both are put beside the events afterwards. What a model was asked is
    kept, so the same command goes on where it stopped and pays for nothing twice. Exit 1 when
    something could not be parsed; --json with --out puts a report on stdout.
    """
    from vepa.cli.parse_models import Wanted
    from vepa.cli.parse_work import Source, estimated, parsed
    from vepa.files import check_writable

    out = Output(json)
    if out_file is not None:
        check_writable(out_file)
        not_over_itself(traces, str(out_file))
    wanted = Wanted(
        parser=parser,
        unit=None if unit is None else _unit(unit),
        schema=schema_of(schema),
        settings=settings,
        otherwise=otherwise,
        cache=cache,
        workers=workers,
        trace_tokens=trace_tokens,
        max_tokens=max_tokens,
        max_dollars=max_dollars,
        least_confidence=least_confidence,
        project=project,
    )
    source = Source(traces, format, strict=strict, dataset=dataset)
    if dry_run:
        _tell_estimate(out, estimated(wanted, source), wanted)
        _tell_skipped(out, source)
        raise typer.Exit(1 if source.skipped else 0)
    outcome = parsed(wanted, source, out_file, order_of, out.note)
    _tell(out, outcome, source, out_file)
    raise typer.Exit(0 if outcome.whole and not source.skipped else 1)


def _unit(choice: UnitChoice) -> Unit:
    from vepa.policy.event import check_unit

    return check_unit(choice.value)


def _tell_estimate(out: Output, found: Estimate, wanted: Wanted) -> None:
    from dataclasses import asdict

    out.document({"parser": wanted.parser, **asdict(found)})
    price = "price not known" if found.dollars is None else f"about {found.dollars:.2f} USD"
    out.text(
        f"{counted(found.traces, 'trace')}, {counted(found.requests, 'request')}, {found.kept} "
        f"answered already, {found.shortened} of a shortened trace; about {found.prompt:,} tokens "
        f"to read, {found.completion:,} to write, {price}"
    )


def _tell(out: Output, outcome: Outcome, source: Source, file: Path | None) -> None:
    if file is not None:
        out.document(_report(outcome, source, file))
    for failure in outcome.failures[:_TOLD]:
        out.note(f"{failure.id}: {failure.unit}: {failure.kind}: {failure.reason}")
    if len(outcome.failures) > _TOLD:
        out.note(f"… and {len(outcome.failures) - _TOLD} more")
    _tell_skipped(out, source)
    if outcome.stopped:
        out.note(f"stopped: {outcome.stopped}; the same command goes on from here")
    cost = "" if not outcome.tokens else f"; {outcome.tokens:,} tokens, {outcome.dollars:.4f} USD"
    out.note(
        f"{counted(source.traces, 'trace')}, {counted(outcome.events, 'event')}, "
        f"{len(outcome.failures)} failed{cost}" + (f"; {_place(outcome, file)}" if file else "")
    )


def _place(outcome: Outcome, file: Path) -> str:
    return f"{file} was not written" if outcome.stopped and not outcome.events else str(file)


def _tell_skipped(out: Output, source: Source) -> None:
    for told in source.told[:_TOLD]:
        out.note(f"skipped: {told}")
    if source.skipped > _TOLD:
        out.note(f"… {source.skipped} records were skipped; `vepa import` tells of all")


def _report(outcome: Outcome, source: Source, file: Path) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "out": str(file),
        "traces": source.traces,
        "events": outcome.events,
        "failed": [asdict(failure) for failure in outcome.failures],
        "skipped": source.skipped,
        "stopped": outcome.stopped,
        "tokens": outcome.tokens,
        "dollars": outcome.dollars,
    }
