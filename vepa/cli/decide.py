"""`vepa decide`: a policy's decisions on events, as a stream."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from vepa.cli.console import AsJson, Output, ProjectDir, one_line
from vepa.cli.inputs import EventsArgument, SchemaOption, one_stdin, policy_of

__all__ = ["decide"]


def decide(
    events: EventsArgument,
    policy: Annotated[
        Path, typer.Option("--policy", metavar="POLICY", help="Policy file (- is stdin).")
    ],
    all_rules: Annotated[
        bool, typer.Option("--all-rules", help="Let inactive rules decide too.")
    ] = False,
    schema: SchemaOption = None,
    json: AsJson = False,
    _project: ProjectDir = None,
) -> None:
    """Decide events: one line an event, as they come.

    With --json each line is {id, verdict, rules, policy_hash}; without it, id, verdict and rules
    stand in columns divided by tabs. The stream ends at the first bad line (exit 2), and what was
    decided before it stays.
    """
    from vepa.corpus.events import stream_events
    from vepa.policy.matching import CompiledPolicy

    one_stdin(events, policy, schema)
    out = Output(json)
    compiled = CompiledPolicy(policy_of(policy, schema), all_rules=all_rules)
    live = str(events) == "-"
    for record in stream_events(events, compiled.schema, unit=compiled.unit):
        found = compiled.decide(record.encode(compiled.schema))
        rules = list(found.rules)
        if json:
            out.line(
                {
                    "id": record.id,
                    "verdict": found.verdict,
                    "rules": rules,
                    "policy_hash": found.policy_hash,
                }
            )
        else:
            shown = one_line(", ".join(rules)) or "-"
            out.text(f"{one_line(record.id)}\t{found.verdict}\t{shown}")
        if live:  # whoever writes to us may wait for the answer
            sys.stdout.flush()
