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
    """Counts for the card: of what stands in the tables, who judged it, and how far they agree.

    Parameters
    ----------
    source
        What the release is made of.
    frames
        Its tables by split.
    """
    annotation = source.annotation
    days = sorted({episode.started[:10] for episode in source.episodes()})
    return {
        "collected": {"first": days[0], "last": days[-1]},
        "scripted": sum(int(frames["trajectories", split]["scripted"].sum()) for split in SPLITS),
        "splits": {split: _split_figures(frames, split) for split in SPLITS},
        "models": _counted(frames, "trajectories", "model"),
        "endings": _counted(frames, "trajectories", "ending"),
        "environments": _counted(frames, "steps", "environment"),
        "personas": sum(1 for _ in _counted(frames, "trajectories", "persona")),
        "succeeded": sum(int(frames["trajectories", split]["succeeded"].sum()) for split in SPLITS),
        "readers": _readers(annotation["provenance"]),
        "label_models": _counted(frames, "labels", "model"),
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


def _readers(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Who was asked by which rules; what they are in full stands in `provenance.json`."""
    template, taxonomy = provenance["template"], provenance["taxonomy"]
    return {
        "models": {name: reader["model"] for name, reader in provenance["readers"].items()},
        "template": f"{template['id']}/{template['version']}",
        "taxonomy": f"{taxonomy['id']}/{taxonomy['version']}",
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
