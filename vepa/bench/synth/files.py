"""A synthetic stream as files: the events, the true policy, what they were made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vepa.bench.synth.making import Synthetic
from vepa.corpus.columns import SUFFIX, write_events
from vepa.errors import SettingError, Where
from vepa.files import check_writable, write_output

__all__ = ["check_places", "write_synthetic"]

_LINES = ".jsonl"


def check_places(out: str | Path) -> tuple[Path, Path, Path]:
    """Where events, policy and figures go; before anything is drawn.

    Raises
    ------
    SettingError
        When the name says no format, or a file cannot be written.
    """
    events = Path(out)
    if events.suffix not in (SUFFIX, _LINES):
        raise SettingError(
            f"{events.name!r} says no format of events",
            where=Where(field="out"),
            remedy=f"end the name with .events{SUFFIX} or .events{_LINES}",
        )
    name = events.with_suffix("").name.removesuffix(".events")
    places = events, events.with_name(f"{name}.policy.yaml"), events.with_name(f"{name}.synth.json")
    for place in places:
        check_writable(place)
    return places


def write_synthetic(made: Synthetic, out: str | Path) -> tuple[tuple[Path, ...], dict[str, Any]]:
    """Write a stream; the files, and the figures that stand in the last of them.

    The events come last: where they are, the truth about them is, too.

    Raises
    ------
    SettingError
        As `check_places`.
    """
    events, policy, notes = check_places(out)
    figures = made.figures()
    write_output(policy, made.policy.to_yaml())
    write_output(notes, json.dumps(figures, indent=1) + "\n")
    write_events(made.table, events, {"synthetic": figures})
    return (events, policy, notes), figures
