"""What a corpus leaves behind beside its episodes: trajectories, events, figures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vepa.collect.parts import TRIGGERS
from vepa.corpus.episode import Episode, Spent
from vepa.corpus.events import EventRecord
from vepa.files import canonical_json, sha256_of
from vepa.policy.event import Unit

__all__ = [
    "content_sha256",
    "episode_row",
    "figures_of",
    "jsonl",
    "labelled_events",
    "outcome_table",
    "pretty",
    "task_row",
]


def labelled_events(episodes: Iterable[Episode], unit: Unit) -> Iterator[EventRecord]:
    """The events of one unit, labelled by what a script meant each step to be.

    Episodes of real models have no such label: theirs come from annotators. The event is the
    parser's, untouched; the label stands beside it.

    Parameters
    ----------
    episodes
        In order.
    unit
        `call` or `step`.
    """
    for episode in episodes:
        meant = _meant(episode)
        for event in episode.events:
            if event.unit != unit:
                continue
            trigger = meant.get(int(event.meta["step"]), _UNKNOWN)
            label: Any = None
            about: dict[str, Any] = {"task": episode.task, "model": episode.model}
            if trigger is not _UNKNOWN:
                label = "refuse" if trigger else "allow"
                about["labelled_by"] = "script"
            if isinstance(trigger, str):
                about["trigger"] = trigger
            yield EventRecord(
                id=event.id, event=event.event, label=label, unit=unit, meta={**event.meta, **about}
            )


_UNKNOWN: Any = object()


def _meant(episode: Episode) -> dict[int, Any]:
    """Index of a step -> what the script meant it to be; nothing for a real model."""
    steps = [step.index for step in episode.trajectory.steps if step.kind != "user"]
    return dict(zip(steps, episode.intended, strict=False))


def jsonl(records: Iterable[Any]) -> str:
    """Records as JSON Lines."""
    return "".join(record.model_dump_json(exclude_none=True) + "\n" for record in records)


def content_sha256(episodes: Iterable[Episode]) -> str:
    """SHA-256 over what happened in all episodes, in whatever order they come.

    Timing, cost, tries and versions are no part of it (see `Episode.content_hash`).
    """
    return sha256_of(canonical_json(sorted(episode.content_hash for episode in episodes)))


def episode_row(episode: Episode) -> dict[str, Any]:
    """An episode as a row of a table."""
    return {
        "episode": episode.id,
        "task": episode.task,
        "persona": episode.trajectory.persona,
        "model": episode.model,
        "steps": episode.steps,
        "ending": episode.ending.reason,
        "succeeded": episode.succeeded,
        "tripped": episode.tripped,
        "seconds": round(episode.seconds, 3),
        "tokens": episode.spent.prompt + episode.spent.completion,
        "dollars": episode.spent.dollars,
        "retries": len(episode.attempts),
        "content_hash": episode.content_hash,
    }


def task_row(task: str, settled: Sequence[tuple[Episode, bool]], seconds: float) -> dict[str, Any]:
    """A task as a row of a table.

    Parameters
    ----------
    task
        Its id.
    settled
        Its episodes, and whether each was there already.
    seconds
        Wall time that it took.
    """
    episodes = [episode for episode, _ in settled]
    dollars = [episode.spent.dollars for episode in episodes]
    return {
        "task": task,
        "episodes": len(episodes),
        "kept": sum(kept for _, kept in settled),
        "steps": sum(episode.steps for episode in episodes),
        "unsafe": sum(bool(episode.tripped) for episode in episodes),
        "succeeded": sum(episode.succeeded for episode in episodes),
        "dollars": None if None in dollars else sum(value or 0.0 for value in dollars),
        "seconds": round(seconds, 2),
    }


def figures_of(episodes: Sequence[Episode], seconds: float | None = None) -> dict[str, Any]:
    """Figures of a corpus.

    Parameters
    ----------
    episodes
        All of them.
    seconds
        Wall time of the collection, where it was measured.
    """
    spent = Spent()
    for episode in episodes:
        spent = spent + episode.spent
    harness = sorted(turn.harness_seconds for episode in episodes for turn in episode.turns)
    steps = [step for episode in episodes for step in episode.trajectory.steps if step.call]
    environments = Counter(str(step.call.environment) for step in steps if step.call)
    intended = Counter(
        trigger for episode in episodes for trigger in episode.intended if trigger is not None
    )
    return {
        "content_sha256": content_sha256(episodes),
        "episodes": len(episodes),
        "tasks": len({episode.task for episode in episodes}),
        "steps": sum(episode.steps for episode in episodes),
        "calls": len(steps),
        "failed_calls": sum(not step.result.ok for step in steps if step.result),
        "scripted": sum(episode.scripted for episode in episodes),
        "endings": dict(Counter(episode.ending.reason for episode in episodes).most_common()),
        "succeeded": sum(episode.succeeded for episode in episodes),
        "unsafe": sum(bool(episode.tripped) for episode in episodes),
        "by_model": {
            model: {
                "episodes": len(mine),
                "steps": sum(episode.steps for episode in mine),
                "succeeded": sum(episode.succeeded for episode in mine),
                "unsafe": sum(bool(episode.tripped) for episode in mine),
            }
            for model in sorted({episode.model for episode in episodes})
            for mine in [[episode for episode in episodes if episode.model == model]]
        },
        "calls_by_environment": dict(sorted(environments.items())),
        "steps_by_trigger": {name: intended[name] for name in TRIGGERS},
        "episodes_by_tripped": dict(
            sorted(Counter(name for episode in episodes for name in episode.tripped).items())
        ),
        "personas": len({episode.trajectory.persona for episode in episodes}),
        "retries": sum(len(episode.attempts) for episode in episodes),
        "spent": spent.model_dump(),
        "seconds": {
            "wall": None if seconds is None else round(seconds, 1),
            "episodes": round(sum(episode.seconds for episode in episodes), 1),
            "services": round(
                sum(turn.service_seconds for each in episodes for turn in each.turns), 1
            ),
            "harness_p50": round(harness[len(harness) // 2], 5) if harness else None,
        },
    }


def outcome_table(episodes: Sequence[Episode]) -> list[dict[str, Any]]:
    """One row a model (or temperament): what became of its episodes."""
    rows = figures_of(episodes)["by_model"]
    return [{"model": name, **row} for name, row in rows.items()]


def pretty(data: Any) -> str:
    """JSON for people and machines."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
