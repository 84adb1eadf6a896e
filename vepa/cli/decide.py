"""`vepa decide`: a policy's decisions on events, as a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vepa.cli.console import AsJson, Output, ProjectDir

__all__ = ["decide"]


def decide(
    events: Annotated[Path, typer.Argument(metavar="EVENTS", help="Events file (JSON Lines).")],
    policy: Annotated[Path, typer.Option("--policy", metavar="POLICY", help="Policy file.")],
    all_rules: Annotated[
        bool, typer.Option("--all-rules", help="Let inactive rules decide too.")
    ] = False,
    schema: Annotated[Path | None, typer.Option("--schema", metavar="FILE")] = None,
    json: AsJson = False,
    _project: ProjectDir = None,
) -> None:
    """Decide events: one line an event, as they come."""
    from vepa.cli.policy import load_schema
    from vepa.corpus.events import stream_events
    from vepa.files import name_of, read_text
    from vepa.policy.matching import CompiledPolicy
    from vepa.policy.reading import load_policy

    out = Output(json)
    space = load_schema(schema)
    compiled = CompiledPolicy(
        load_policy(read_text(policy), name_of(policy), space), all_rules=all_rules
    )
    for record in stream_events(events, space):
        found = compiled.decide(record.encode(space))
        answer = {"id": record.id, **found._asdict(), "rules": list(found.rules)}
        out.line(answer)
        if not json:
            out.text(f"{record.id}\t{found.verdict}\t{', '.join(found.rules)}")
