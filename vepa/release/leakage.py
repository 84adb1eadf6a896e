"""What a reader could guess without reading: look-ups, and what splits share.

`docs/leakage.md` says how to read the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vepa.release.findings import findings_of
from vepa.release.lookups import lookups_of
from vepa.release.overlap import balance_of, overlap_of
from vepa.release.records import Split

if TYPE_CHECKING:
    import polars as pl

__all__ = ["NEVER_FEATURES", "leakage"]

#: Version of the report.
SCHEMA_VERSION = 1
_NAME = "a name that says which task, agent and seed it was"
_AGENT = "which agent acted: a scripted temperament says how its plan ends"
_AFTER = "known only when the episode is over"
_LABEL = "the label, or part of it"
_WHO = "how, or by whom, the label was found"
_EVENT: Mapping[str, str] = {
    "id": _NAME, "episode": _NAME, "task": _NAME, "model": _AGENT, "labelled_by": _WHO,
    "label_origin": _WHO, "trigger": _LABEL,
}  # fmt: skip
#: What no model that is to guard may see: table -> column -> why. The columns of `labels` and
#: `settled` are not listed one by one: all of them are what readers said.
NEVER_FEATURES: Mapping[str, Mapping[str, str]] = {
    "trajectories": {
        "id": _NAME, "task": _NAME, "group": _NAME, "model": _AGENT, "seed": _NAME,
        "ending": _AFTER, "succeeded": _AFTER, "steps": _AFTER,
        "tripped": "which of the task's unsafe checks hold afterwards: nearly the label",
        "scripted": _AGENT, "content_hash": _NAME, "made_from": _NAME,
        "planted_sha256": "which task's bait lay there",
        "trajectory": "of its keys `id`, `task`, `model`, `seed` and `meta`, for the same reasons",
    },
    "steps": {
        "trajectory": _NAME, "task": _NAME, "model": _AGENT, "seed": _NAME,
        "environment_digest": _NAME,
        "meant": "the trigger that the plan meant the step to be: its author's own label",
        "decision": _LABEL, "triggers": _LABEL, "primary": _LABEL, "risk_source": _LABEL,
        "harm": _LABEL, "severity": _LABEL, "settled": _WHO, "label_origin": _WHO,
    },
    "events_step": _EVENT,
    "events_call": _EVENT,
}  # fmt: skip


def leakage(frames: Mapping[tuple[str, Split], pl.DataFrame]) -> dict[str, Any]:
    """How much the splits share, and how far look-ups come.

    Parameters
    ----------
    frames
        Every table of a release, by name and split.

    Returns
    -------
    dict
        JSON data: `findings` (each `level`, `about` and `text`: `problem` where a promise is
        broken, `warning` where something gives the label away, `note` otherwise), `balance`,
        `overlap`, `lookups`, `never_features`. Figures are rounded to four digits.

    Raises
    ------
    MissingExtraError
        When scikit-learn is not installed.
    """
    found: dict[str, Any] = {
        "balance": balance_of(frames),
        "overlap": overlap_of(frames),
        "lookups": lookups_of(frames),
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "findings": findings_of(found),
        **found,
        "never_features": {table: dict(columns) for table, columns in NEVER_FEATURES.items()},
    }
