"""A release against the one that the run before left: the short figures of what changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from vepa.annotate.agreement import agreement
from vepa.corpus.labels import Label, stream_labels
from vepa.errors import VepaError
from vepa.release.comparing import Difference, diff
from vepa.release.layout import MANIFEST, jsonl_path
from vepa.release.records import SPLITS

__all__ = ["changes_told", "release_changes"]

#: Whom a person asks about first.
_TABLES = ("trajectories", "steps", "labels", "settled")
_WHAT = ("added", "removed", "changed", "moved")
_WORDS = {"moved": "in another split"}


def release_changes(before: Mapping[str, Any] | None, now: Path) -> dict[str, Any] | None:
    """What changed from the release before to this one.

    Parameters
    ----------
    before
        What the run before left (`lifecycle.json`); None for the first.
    now
        Folder of the release.

    Returns
    -------
    dict or None
        `before` and `after`, the versions. `missing` where the folder of the one before is gone, or
        `failed`, why they cannot be compared; else `same_content`, `tables` (records `added`,
        `removed`, `changed`, `moved` to another split), `flips` (steps about which something else
        stands now) and `drift` (what annotators say of contents that both have). None where there
        is no release before, or it is the same.
    """
    released = (before or {}).get("release")
    version = released.get("version") if isinstance(released, Mapping) else None
    if not isinstance(version, str) or version == now.name:
        return None
    versions = {"before": version, "after": now.name}
    # A folder beside this one, whatever an older summary says of its place.
    then = now.parent / Path(version).name
    if not (then / MANIFEST).is_file():
        return {**versions, "missing": True}
    try:
        return {**versions, **_short(diff(then, now)), "drift": _drift(then, now)}
    except VepaError as error:
        return {**versions, "failed": str(error).splitlines()[0]}


def changes_told(changes: Mapping[str, Any] | None) -> str:
    """What changed, in a line; empty where there is nothing to compare with."""
    if not changes:
        return ""
    since = f"since {changes['before']}"
    if changes.get("missing"):
        return f"{since}: not compared, its folder is gone"
    if changes.get("failed"):
        return f"{since}: not compared: {changes['failed']}"
    parts = [
        f"{name} {', '.join(_told(rows))}"
        for name in _TABLES
        if any((rows := changes["tables"][name]).values())
    ]
    flipped = changes["flips"]["steps"]
    if flipped:
        parts.append(f"{flipped:,} judged otherwise")
    return f"{since}: {'; '.join(parts) or 'the same records'}"


def _told(rows: Mapping[str, int]) -> Iterator[str]:
    for what in _WHAT:
        if rows[what]:
            yield f"{rows[what]:,} {_WORDS.get(what, what)}"


def _short(difference: Difference) -> dict[str, Any]:
    """Numbers of records, and no name of one."""
    flips = difference.flips
    return {
        "same_content": difference.same_content,
        "tables": {
            name: {what: len(getattr(table, what)) for what in _WHAT}
            for name, table in difference.tables.items()
        },
        "flips": {
            "steps": len(flips.steps),
            "decisions": dict(flips.decisions),
            "gained": dict(flips.gained),
            "lost": dict(flips.lost),
        },
    }


def _drift(then: Path, now: Path) -> dict[str, Any] | None:
    """Of what both releases asked of the same annotators; intervals are not needed here."""
    found = agreement(_labels(now), against=_labels(then), resamples=1).drift
    if found is None:
        return None
    wanted = {
        "items_both", "judged_both", "decision_changed", "triggers_changed", "primary_changed",
        "reason",
    }  # fmt: skip
    return found.model_dump(mode="json", include=wanted)


def _labels(release: Path) -> Iterator[Label]:
    """Of annotators; what an arbiter or a person said stands in the same table."""
    files = (release / jsonl_path("labels", split) for split in SPLITS)
    for label in chain.from_iterable(map(stream_labels, files)):
        if label.meta.get("role") == "annotator":
            yield label
