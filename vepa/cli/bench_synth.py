"""`vepa bench synth`: a synthetic stream and the truth behind it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vepa.cli.console import AsJson, Output
from vepa.cli.inputs import SchemaOption, schema_of

if TYPE_CHECKING:
    from vepa.bench.synth import SyntheticSettings

__all__ = ["synth"]


def synth(
    events: Annotated[int, typer.Option(min=1, metavar="N", help="Events of the stream.")],
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="NAME.events.parquet (columns) or NAME.events.jsonl."),
    ],
    rules: Annotated[
        int, typer.Option(min=2, max=256, metavar="K", help="Rules of the hidden policy.")
    ] = 24,
    noise: Annotated[
        float,
        typer.Option(min=0.0, max=0.5, metavar="P", help="Share of true labels against the rules."),
    ] = 0.02,
    hard: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, metavar="P", help="Share of events outside all rules."),
    ] = 0.05,
    drift: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.0, metavar="X", help="How far frequencies move from begin to end."
        ),
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of all draws.")] = 0,
    schema: SchemaOption = None,
    json: AsJson = False,
) -> None:
    """Make labelled events whose true policy is known, the same on every machine.

    Events come from scenarios, few of them frequent and many rare, so fields hang together and
    events repeat. A hidden policy of K verified rules labels them; beside the events it is written
    as NAME.policy.yaml, and what they were made of as NAME.synth.json. Wrong feedback is apart from
    --noise: `vepa bench run --flip` takes care of it.
    """
    from vepa.bench.synth import SyntheticSettings

    settings = SyntheticSettings(
        events=events, rules=rules, noise=noise, hard=hard, drift=drift, seed=seed
    )
    _make(settings, out, schema, Output(json))


def _make(settings: SyntheticSettings, out: Path, schema: Path | None, output: Output) -> None:
    from vepa.bench.synth import make_synthetic
    from vepa.bench.synth.files import check_places, write_synthetic

    check_places(out)
    made = make_synthetic(settings, schema_of(schema))
    written, figures = write_synthetic(made, out)
    for path in written:
        output.note(f"written: {path}")
    output.document({**figures, "files": [str(path) for path in written]})
    if not output.json:
        output.table(("synthetic stream", ""), _rows(figures))


def _rows(figures: dict[str, Any]) -> list[tuple[str, str]]:
    size = figures["events"]

    def share(name: str) -> str:
        return f"{figures[name]:,} ({figures[name] / size:.1%})"

    sides = figures["rules"]
    return [
        ("events", f"{size:,}"),
        ("distinct", share("distinct")),
        ("to be refused", share("refuse")),
        ("outside all rules", share("hard")),
        ("against the rules", share("noisy")),
        ("rules", f"{sides['allow']} allow, {sides['refuse']} refuse"),
        ("events' hash", figures["sha256"]),
        ("policy's hash", figures["policy_hash"]),
    ]
