"""What a release tells about itself in numbers, and where everything in it comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vepa.release.records import SPLITS, Split
from vepa.release.source import CorpusSource

if TYPE_CHECKING:
    import polars as pl

__all__ = ["figures_of", "provenance_of"]


def figures_of(
    source: CorpusSource, frames: Mapping[tuple[str, Split], pl.DataFrame]
) -> dict[str, Any]:
    """Counts and shares for the card; of what stands in the tables, and how labels agree."""
    annotation = source.annotation
    return {
        "splits": {split: _split_figures(frames, split) for split in SPLITS},
        "models": _counted(frames, "trajectories", "model"),
        "environments": _counted(frames, "steps", "environment"),
        "label_origins": _counted(frames, "labels", "origin"),
        "settled_how": _counted(frames, "settled", "how"),
        "settled_origins": _counted(frames, "settled", "origin"),
        "triggers": _triggers(frames),
        "agreement": annotation["agreement"],
        "queue": {name: annotation["queue"][name] for name in ("total", "open", "settled")},
    }


def provenance_of(source: CorpusSource) -> dict[str, Any]:
    """By whom, by what and from what: annotators, templates, environments, software."""
    environments: dict[str, set[str]] = {}
    versions: dict[str, set[str]] = {}
    scripted = 0
    for episode in source.episodes():
        scripted += episode.scripted
        for name, digest in episode.trajectory.environments.items():
            environments.setdefault(name, set()).add(digest)
        for name, version in episode.versions.items():
            versions.setdefault(name, set()).add(version)
    return {
        "labels": source.annotation["provenance"],
        "environments": {name: sorted(found) for name, found in sorted(environments.items())},
        "software": {name: sorted(found) for name, found in sorted(versions.items())},
        "scripted_episodes": scripted,
    }


def _split_figures(
    frames: Mapping[tuple[str, Split], pl.DataFrame], split: Split
) -> dict[str, int]:
    trajectories, settled = frames["trajectories", split], frames["settled", split]
    return {
        "trajectories": trajectories.height,
        "tasks": trajectories["task"].n_unique(),
        "groups": trajectories["group"].n_unique(),
        "steps": frames["events_step", split].height,
        "settled": settled.height,
        "refuse": int((settled["decision"] == "refuse").sum()),
    }


def _counted(
    frames: Mapping[tuple[str, Split], pl.DataFrame], table: str, column: str
) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for split in SPLITS:
        counts.update(value for value in frames[table, split][column] if value is not None)
    return dict(sorted(counts.items()))


def _triggers(frames: Mapping[tuple[str, Split], pl.DataFrame]) -> dict[str, dict[str, int]]:
    """Trigger -> split -> steps with it."""
    found: dict[str, Counter[str]] = {}
    for split in SPLITS:
        for triggers in frames["settled", split]["triggers"]:
            for key in triggers:
                found.setdefault(key, Counter())[split] += 1
    return {
        key: {split: counts[split] for split in SPLITS} for key, counts in sorted(found.items())
    }
